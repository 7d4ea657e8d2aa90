"""What a summary says beside its study's figures, and how summaries are written."""

from ..outside import write_json


def lines(summaries: list[dict]) -> str:
    """As JSON, one summary a line."""
    return "[\n" + ",\n".join(write_json(s, separators=(",", ":")) for s in summaries) + "\n]\n"


def way(records: list[dict], test: str, summary: dict) -> dict:
    """By what data of a test's pair went there and back in its executions, and whether all that
    goes so arrives; nothing if it is not known."""
    ends = summary.get("sender"), summary.get("receiver")
    ways = []
    for record in records:
        told = {(w["sender"], w["receiver"]): w for w in record.get("ways", {}).get(test, [])}
        used = [told[pair] for pair in (ends, ends[::-1]) if pair in told]
        ways.append(used or ([record["way"]] if "way" in record else []))
    by = [", back by ".join(dict.fromkeys(way["by"] for way in used)) for used in ways]
    reliable = all(used and all(way["reliable"] for way in used) for used in ways)
    return {"way": "; ".join(dict.fromkeys(filter(None, by))), "way_reliable": reliable}


def flat(value: dict, prefix: str = "") -> dict:
    """With a column for each figure, by the names that lead to it."""
    out = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            out |= flat(inner, f"{prefix}{key}.")
        else:
            out[f"{prefix}{key}"] = inner
    return out
