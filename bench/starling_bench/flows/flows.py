"""Flows: what of a publisher's updates came to a subscriber, in a sample of a test whose fields
are entities, rate, payload, transport, seconds, updates, conflate, lag_s, topology.
"""

from pathlib import Path

from rich.console import Console

from ..captured import leaving
from ..errors import BenchError
from ..kept import damage
from ..kept.store import Store
from ..reports import terminal
from ..reports.cells import ms
from ..study import COUNT_MAX, Columns
from ..times import clocks
from . import updates

_TEXTS = ("sequence", "execution", "topology", "transport", "sender", "receiver", "scheduling",
          "clock", "why")  # fmt: skip
_FIGURES = (
    "rate", "theory_mbps", "mbps", "reliability", "took_s", "send_s", "mean_ms", "sd_ms", "min_ms",
    *updates.SHARES, "max_ms", "together", "cpu_busy", "sender_cpu", "receiver_cpu", "wake_p50_us",
    "wake_sd_us", "wake_max_us", "others_cpu", "lag_s", "bound_ms",
)  # fmt: skip
_NAMES = (
    "sequence", "execution", "test", "topology", "configuration", "entities", "rate", "payload",
    "transport", "conflate", "lag_s", "pair", "publisher", "sender", "receiver", "sample", "sent",
    "received", "lost", "conflated", "miscounted", "duplicates", "reordered", "late", "wrong",
    "unsent", "late_sends", "unrecorded", "fragments", "tired", "theory_mbps", "mbps",
    "reliability", "took_s", "send_s", "mean_ms", "sd_ms", "min_ms", *updates.SHARES, "max_ms",
    "together", "cpu_busy", "sender_cpu", "receiver_cpu", "wake_p50_us", "wake_sd_us",
    "wake_max_us", "scheduling", "others_cpu", "clock", "bound_ms", "why",
)  # fmt: skip
_TIMES = ("mean_ms", "sd_ms", "min_ms", *updates.SHARES, "max_ms")
COLUMNS = Columns(_NAMES, frozenset(_TEXTS), frozenset(_FIGURES))

# Of a test's fields those that a sample could tell otherwise.
ASKED = ("topology", "configuration", "entities", "rate", "payload", "transport", "seconds",
         "updates", "conflate", "lag_s")  # fmt: skip
POSSIBLE = dict.fromkeys(
    ("sent", "received", "duplicates", "reordered", "late", "wrong", "unsent", "late_sends",
     "unrecorded", "fragments", "tired"), (1, COUNT_MAX),
) | {"send_s": (1e-9, 1e8)}  # fmt: skip


def row(store: Store, sequence: str, execution: str, setting: dict, event: dict) -> dict:
    """A flow as the master told it, with its percentiles; `setting`: the test's fields."""
    found = {**setting, **event, "sequence": sequence, "execution": execution}
    if found["configuration"] is None:
        found["configuration"] = -1
    found["conflate"] = int(setting["conflate"])
    try:
        missing = found["sent"] - found["received"]
        told = _overwritten(found, missing) if found["conflate"] else (0, 0)
        found["conflated"], found["miscounted"] = told
        found["lost"] = missing - found["conflated"]
        if min(missing, found["lost"]) < 0 or found["wrong"]:
            raise BenchError(
                "STL-RUN-007", f"sample {found['sample']} of test {found['test']}: "
                f"{found['sent']} sent, {found['received']} received, {found['wrong']} of them "
                "as nobody sent them", do="the middleware or the federate is wrong: read the logs",
            )  # fmt: skip
        found |= _logged(store, found, setting)
        found |= _of_counts(found, setting)
        found["why"] = "" if found["received"] else _why(found)
    except KeyError as e:
        raise BenchError("STL-RUN-007", f"the master sent a sample without {e}") from None
    if unknown := [c for c in COLUMNS.names if c not in found]:
        raise BenchError("STL-RUN-007", f"the master sent a sample without {unknown[0]}")
    return found


def _overwritten(found: dict, missing: int) -> tuple[int, int]:
    """Of a flow's updates that did not come those that newer ones replaced: as the RTI counted
    them, or all but those that the middleware calls lost. Where neither says anything all are lost.
    Both are counted for all flows of a subscriber together: each has its share of the whole. And
    how many more, or less than none, were counted than did not come: such a count is wrong."""
    every, before = found["missing_of_all"], found["missing_before"]
    if (replaced := found.get("replaced")) is None:
        if found["lost_on_the_way"] is None:
            return 0, 0
        replaced = every - found["lost_on_the_way"]
    fits = max(0, min(replaced, every))
    mine = fits * (before + missing) // every - fits * before // every if every > 0 else 0
    return mine, abs(replaced - fits)


def _why(found: dict) -> str:
    """Why nothing came of a flow, as far as its ends know."""
    if not found["sent"]:
        return "nothing was sent"
    of = f"{found['discovered']} of {found['instances']} instances were discovered"
    before = "updates before it came this way"
    if not found["heard"]:
        before = f"none before it came this way, either: {of}"
    reliable = found["transport"] == "reliable"
    how = "reliable" if reliable else "best effort, which nobody sends again"
    return f"not there {found['waited_s']:.2g} s later; {how}; {before}"


def figures(store: Store, found: dict) -> dict:
    """What of a row follows from what was logged of every update, and from its counts."""
    setting = store.record(found["sequence"], found["execution"])["tests"][str(found["test"])]
    made = _logged(store, found, setting)
    return made | _of_counts(found | made, setting)


def _logged(store: Store, found: dict, setting: dict) -> dict:
    directory = store.directory / found["sequence"] / found["execution"]
    path = updates.path_of(directory, found["test"], found["sample"], found["receiver"])
    of, clock = found["publisher"], setting.get("clock", "same")
    updates.pack(path, clock)
    _check_kept(found, updates.counted(path, of), path)
    gap_s = 1 / (found["rate"] * found["entities"])
    made = updates.figures(path, of) | {"together": updates.together(path, of, gap_s)}
    made |= updates.moments(path, of) | {"bound_ms": None}
    made |= updates.clock(path, of) if clock != "same" else {"clock": "same", "bound_ms": 0.0}
    least_ms, bound_ms = made["min_ms"] or 0.0, made["bound_ms"]
    if bound_ms is not None and least_ms < -bound_ms:
        if clock == "same":
            raise damage.damaged(f"an update came {-least_ms:.3g} ms before it was sent", path)
        made |= {"clock": f"not known: {clocks.early(-least_ms, bound_ms)}", "bound_ms": None}
    return made if made["clock"] in clocks.KNOWN else made | dict.fromkeys(_TIMES)


def _of_counts(found: dict, setting: dict) -> dict:
    """What follows from how many updates were sent and came, and how long that took."""
    received, sent, rate = (found[key] for key in ("received", "sent", "rate"))
    reliability = {"reliability": received / sent if sent else None}
    if setting["updates"]:
        return reliability | {"theory_mbps": None, "mbps": None}
    lasts = max(1, int(rate * setting["seconds"] + 0.5)) / rate
    # What the first was late does not count, nor that a subscriber looks only so often.
    late_s = max((found["min_ms"] or 0) * 1e-3, found["lag_s"])
    mbps = received * found["payload"] * 8e-6 / max(lasts, (found["took_s"] or 0.0) - late_s)
    theory = found["entities"] * rate * found["payload"] * 8e-6
    return reliability | {"theory_mbps": theory, "mbps": mbps}


def _check_kept(found: dict, kept: int, path: Path) -> None:
    """BenchError if not as many are kept as were counted."""
    received = found["received"]
    if not received - (found["unrecorded"] or 0) <= kept <= received:
        what = f"'{found['receiver']}' counted {received} updates of '{found['sender']}' in sample "
        what += f"{found['sample']} of test {found['test']}, and {kept} are in its log"
        raise BenchError("STL-RUN-009", what, str(path), "read the federates' logs there")


def summarize(of: list[dict]) -> dict:
    """One test and flow over its samples: means, and sums of counts."""
    out = dict(of[0])
    counts = ("sent", "received", "lost", "conflated", "miscounted", "duplicates", "reordered",
              "late", "wrong", "unsent", "late_sends", "unrecorded", "fragments",
              "tired")  # fmt: skip
    for name in counts:
        # Earlier versions kept fewer columns.
        out[name] = sum(r[name] or 0 for r in of)
    for name in (n for n in _FIGURES if n not in ("rate", "lag_s", "bound_ms")):
        values = [r[name] for r in of if r[name] is not None]
        out[name] = sum(values) / len(values) if values else None
    out["bound_ms"] = max((r["bound_ms"] or 0 for r in of), default=0)
    out["clock"] = next((r["clock"] for r in of if r["clock"] not in clocks.KNOWN), out["clock"])
    out["why"] = next((r["why"] for r in of if r["why"]), "")
    out["samples"] = len(of)
    return out


def left(store: Store, summary: dict) -> dict:
    """`left`: what left the hosts whose packets were captured while updates of a test were under
    way; None: that is not known. Nothing where none were captured."""
    record = store.record(summary["sequence"], summary["execution"]) or {}
    if not (hosts := record.get("captured")):
        return {}
    directory = store.directory / summary["sequence"] / summary["execution"]
    # No longer: what comes then is of the next test, whose updates may be longer.
    spans = updates.spans(directory, summary["test"])
    if summary["clock"] != "same" or len(spans) < summary["samples"]:
        return {"left": None}
    found = leaving.leaving(directory, hosts, spans)
    return {"left": found and found._asdict()}


def show(console: Console, summaries: list[dict]) -> None:
    """A table for the terminal: each sequence and delivery."""
    head = ("sequence", "delivery", "flows", "sent", "received", "reliability", "of theory",
            "median of means")  # fmt: skip
    lines = []
    groups: dict[tuple[str, str], list[dict]] = {}
    for s in summaries:
        groups.setdefault((s["sequence"], s["transport"]), []).append(s)
    for (sequence, transport), found in groups.items():
        sent, received = (sum(s[k] for s in found) for k in ("sent", "received"))
        theory = sum(s["theory_mbps"] or 0 for s in found)
        mbps = sum(s["mbps"] or 0 for s in found)
        means = sorted(s["mean_ms"] for s in found if s["mean_ms"] is not None)
        bound = max(s["bound_ms"] for s in found)
        lines.append((
            sequence, transport.replace("_", " "), str(len(found)), f"{sent:,}",
            f"{received:,}", f"{received / sent:.3%}" if sent else "-",
            f"{mbps / theory:.1%}" if theory else "-",
            f"{ms(means[len(means) // 2], bound)} ms" if means else "-",
        ))  # fmt: skip
    console.print(terminal.table("By topology and what carried it", head, 2, lines))
