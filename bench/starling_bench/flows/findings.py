"""What sets of flows say, each of one topology, carrier and kind of sites: of themselves, and of
each other. Of every statement it is told how many configurations it is not computed from.
"""

from dataclasses import replace
from itertools import combinations
from operator import itemgetter

from ..reports.cells import ms
from ..statistics import findings
from ..statistics.findings import Finding
from .points import ASIDE, THEORY_MIN, identity, judged, plain

_MANY = 1000
Sets = dict[tuple[str, str, str], list[dict]]  # of all points, by topology, carrier, kind of sites


def sets(found: list[dict]) -> Sets:
    """Points by what has one."""
    of: Sets = {}
    for p in found:
        of.setdefault((p["topology"], p["carrier"], p["profile"]), []).append(p)
    return of


def name(p: dict) -> str:
    """Of a point, where its carrier and sites are known."""
    return f"{p['topology']} {p['configuration']}"


def meets(p: dict) -> bool:
    """Theory."""
    return p["of_theory"] >= THEORY_MIN


def hosts_meet(p: dict) -> bool:
    """Theory, also the one that received least."""
    return p["host_least_mbps"] >= THEORY_MIN * p["host_theory"]


def told(found: list[Finding], every: list[dict]) -> list[Finding]:
    """With what was left out: who reads "in all" must see of how many."""
    out, asked = (sum(map(bool, of)) for of in (
        (not judged(p) for p in every), (p["conflate"] or p["lag_s"] for p in every)))  # fmt: skip
    why = [f"{out} of {len(every)} not judged: {ASIDE}"] if out else []
    why += [f"{asked} of {len(every)} overwrite or look late, as asked: in no statement that would "
            "be of that"] if asked else []  # fmt: skip
    return [replace(f, numbers="; ".join(filter(None, (f.numbers, *why)))) for f in found]


def unless_run(found: list[Finding], every: list[dict], payload: int) -> list[Finding]:
    """What states something of this payload has no other reason where nothing of it was run."""
    if any(p["payload"] == payload for p in every):
        return found
    none = {"answer": f"can't be said: nothing of {payload} bytes was run", "numbers": ""}
    return [replace(f, **none) if str(payload) in f.statement else f for f in found]


def nearly_all(whole: list[dict]) -> Finding:
    """Of flows with so many updates that one lost of them is less than is asked; how many have
    fewer is said."""
    many = [p for p in whole if p["sent"] >= _MANY * p["flows"]]
    statement = f"reliability is at least 99.9 % of {_MANY:,} updates or more"
    found = findings.every(statement, many, lambda p: (p["reliability"] or 0) >= 0.999, name)
    few = f"{len(whole) - len(many)} more have fewer" if len(many) < len(whole) else ""
    return replace(found, numbers="; ".join(filter(None, (found.numbers, few))))


def at_most(prompt: list[dict], payload: int, most_ms: float) -> Finding:
    """Of the latest flow of each of the longest updates, with the latest of them all."""
    statement = f"median latency at {payload} bytes is at most {most_ms} ms, as there"
    known = [p for p in prompt if p["payload"] == payload and p["sure_p50_ms"] is not None]
    # Where the clocks leave it open nothing is said.
    known = [p for p in known if abs(p["most_p50_ms"] - most_ms) >= p["bound_ms"]]
    found = findings.every(statement, known, lambda p: p["most_p50_ms"] <= most_ms, name)
    if not known:
        return found
    longest = max(known, key=itemgetter("most_p50_ms"))
    here = f"at most {ms(longest['most_p50_ms'], longest['bound_ms'])} ms here ({name(longest)})"
    return replace(found, numbers=f"{here}; {found.numbers}")


def busy(every: list[dict]) -> list[Finding]:
    """Where a CPU is full and sockets meet theory all the same, the machine is no excuse."""
    statement = "throughput meets theory where a CPU is full and sockets meet it"
    excuses = ("missed", "alone", "over", "disturbed", "conflate")
    at = [p for p in every if p["busy"] and not (plain(p) or any(map(p.get, excuses)))]
    return [findings.every(statement, at, meets, name)] if at else []


def bundled(key: tuple[str, str, str], of: Sets) -> list[Finding]:
    """That bundling makes updates come at once, more by rate. Whoever takes several when it wakes
    up has them at once, too: so beside the same unbundled."""
    statement = "bundling: updates come at once, more by rate, beside unbundled"
    mine = [p for p in of[key] if p["bundling"] and p["together"] and judged(p)]
    if not any(p["bundling"] for p in of[key]):
        return []
    topology, carrier, profile = key
    without = of.get((topology, carrier.replace(" bundled", " unbundled"), profile), [])
    beside = {p["configuration"]: p["together"] for p in without
              if not p["bundling"] and p["together"] and judged(p)}  # fmt: skip
    if not beside:
        return [Finding(statement, "can't be said: none ran unbundled beside it")]
    both = [p for p in mine if p["configuration"] in beside]
    return [
        findings.grows(
            statement, both, lambda p: p["rate"] * p["entities"] / 100,
            lambda p: p["together"] / beside[p["configuration"]],
            itemgetter("payload", "transport"), "times as many per 100 Hz",
        )
    ]  # fmt: skip


def between(of: Sets, margin: float) -> list[tuple[str, Finding]]:
    """What two sets say of each other: subscribers, sites, adapters. Intervals are as wide as their
    number wants it, so that all of them hold together (Bonferroni)."""
    return _between(of, margin, max(1, len(_between(of, margin, 1))))


def _between(every: Sets, margin: float, of: int) -> list[tuple[str, Finding]]:
    said = []
    values = lambda points, key: {identity(p): p[key] or 0 for p in points}  # noqa: E731
    good = {key: list(filter(judged, points)) for key, points in every.items()}
    for (a, mine), (b, others) in combinations(good.items(), 2):
        differing = [n for n in range(3) if a[n] != b[n]]
        where = ", ".join(x for n, x in enumerate(a) if n not in differing)
        if differing == [1]:
            # Whose subscribers look less often has older data, whatever carries it.
            if len({p["lag_s"] for p in mine + others}) > 1:
                continue
            # What is overwritten as asked is no carrier's: its age says something, and how much of
            # it is read, beside the same that keeps all.
            unlike = len({bool(p["conflate"]) for p in mine + others}) > 1
            if unlike and len({x[1].replace(" latest", "") for x in (a, b)}) > 1:
                continue
            # What is reliable may go another way than what is not: neither says the other's.
            for delivery in ("reliable", "best_effort"):
                one, other = ([p for p in side if p["transport"] == delivery]
                              for side in (mine, others))  # fmt: skip
                if not (one and other):
                    continue
                here = f"{where}, {delivery.replace('_', ' ')}"
                # How much less is read by who has newer data instead.
                third = ("reliability",) * 2 if unlike else ("of_theory", "throughput")
                for key, what in (("sure_p50_ms", "median latency"), ("sure_sd_ms", "jitter"),
                                  third):  # fmt: skip
                    f = findings.compared(what, a[1], b[1], values(one, key), values(other, key),
                                          of)  # fmt: skip
                    said.append((here, f))
        elif differing == [2] and {a[2][:3], b[2][:3]} == {"lan", "wan"}:
            lan, wan = (b, a) if a[2].startswith("wan") else (a, b)
            # Who loses on the WAN what sockets lose there, too, does not behave as on the LAN.
            fair = lambda p: not (p["busy"] or p["over"] or p["disturbed"])  # noqa: E731
            carried = [[p for p in every[x] if fair(p)] for x in (wan, lan)]
            for key in ("of_theory", "reliability"):
                statement = f"WAN behaves as LAN ({wan[2]} beside {lan[2]}): {key}"
                one, other = (values(points, key) for points in carried)
                found = findings.alike(statement.replace("_", " "), one, other, margin, of)
                said.append((where, found))
        elif differing == [0] and {a[0], b[0]} == {"1-1", "1-N"}:
            one, many = (mine, others) if a[0] == "1-1" else (others, mine)
            for key, what in (("sure_p50_ms", "latency"), ("sender_cpu", "a publisher's CPU")):
                f = findings.compared(f"growth of {what} with subscribers", "four", "one",
                                      values(many, key), values(one, key), of)  # fmt: skip
                said.append((where, f))
    return said
