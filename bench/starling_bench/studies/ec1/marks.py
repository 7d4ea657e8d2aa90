"""What makes a configuration another than its name says, or its counts wrong."""

from ...flows.points import UNEVEN, Mark

# What overwrites what is not read, where that is asked for.
CONFLATING = ("dds", "starling", "starling-multicast")


def _not_as_named(p: dict, flows: list[dict]) -> bool:
    kept = p["conflate"] and p["carrier"].split()[0] not in CONFLATING
    return bool(kept or (p["transport"] == "best_effort" and flows[0]["way_reliable"]))


MARKS = (
    Mark("not_as_named", "not what its name says", "Not what its name says (best effort on a "
         "reliable link, or nothing overwritten)", _not_as_named),
    UNEVEN,
)  # fmt: skip
