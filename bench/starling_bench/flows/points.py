"""Flows of a run as points, one for each configuration, topology, carrier and kind of sites; and as
tables. A sequence's name is TOPOLOGY.CARRIER.SITES, and what a run adds to that; one of a file of
somebody's own is its carrier, on sites of its own.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from ..kept.store import Store
from ..machines import sites
from ..machines.sites import OWN, PROFILES
from ..machines.topologies import TOPOLOGIES
from ..reports.cells import ms
from ..reports.parts import text_table
from ..statistics import rates
from ..times import clocks

# What plain sockets and a CPU must leave for a configuration to say anything of middleware.
THEORY_MIN, BUSY_MAX = 0.98, 0.95
SOCKETS = "sockets"  # the carrier that is the limit beside others
_MARKS = {
    "limited": "limited by the machine",
    "beyond": "beyond the link",
    "disturbed": "disturbed by other programs",
    "unheld": "its rate was not held",
}
# Why findings are not computed from some.
ASIDE = "limited by the machine, beyond the link, or disturbed by other programs"
_BETWEEN = "between adapters, through a gateway"
_SAME = ("configuration", "entities", "rate", "payload", "transport", "theory_mbps", "conflate",
         "lag_s", "scheduling")  # fmt: skip
# Who takes so much longer than planned is too slow, and who sends so many later than a period.
_LONGER, _LATE_MAX = 1.02, 0.001


@dataclass(frozen=True)
class Mark:
    """What a study says of its own of a configuration, in tables and, if of any, in a notice and by
    the command's exit code."""

    key: str  # of a point
    words: str
    notice: str
    holds: Callable[[dict, list[dict]], bool]  # of a point and its flows

    def of(self, found: list[dict]) -> str:
        """Of which; "": of none."""
        return "; ".join(
            sorted({f"{p['topology']} {p['carrier']}, {p['transport'].replace('_', ' ')}"
                    for p in found if p[self.key]})
        )  # fmt: skip


# Earlier versions did not look.
UNEVEN = Mark(
    "uneven", "counts do not add up", "Counts do not add up (more updates were counted as "
    "overwritten or lost than did not come)",
    lambda _, flows: any(f.get("miscounted") for f in flows),
)  # fmt: skip


def place(s: dict) -> tuple[str, str, str]:
    """Topology, what carried it, and the kind of sites."""
    topology, carrier, profile, *more = _named(s["sequence"], s["topology"])
    more = [m for m in more if m in ("bundled", "unbundled")]
    more += ["latest"] if s["conflate"] else []
    more += [s["scheduling"]] if s["scheduling"] != "normal" else []
    return topology, " ".join([carrier, *more]), profile


def _named(sequence: str, topology: str = "") -> list[str]:
    """The parts of a sequence's name."""
    parts = sequence.split(".")
    if len(parts) > 2 and parts[2] in PROFILES:
        return parts
    return [topology or OWN, sequence, OWN]


def points(summaries: list[dict], marks: Sequence[Mark] = ()) -> list[dict]:
    """One for each configuration, topology, carrier and kind of sites: its flows together."""
    groups: dict[tuple, list[dict]] = {}
    for s in summaries:
        if s["theory_mbps"] is not None:
            key = (*place(s), *map(s.get, (*_SAME, "execution", "test")))
            groups.setdefault(key, []).append(s)
    found = []
    for (topology, carrier, profile, *_), flows in groups.items():
        one = {key: flows[0][key] for key in _SAME}
        one |= {"topology": topology, "carrier": carrier, "profile": profile, "flows": len(flows)}
        for name in ("sent", "received", "lost", "conflated", "duplicates", "reordered", "unsent",
                     "late_sends"):  # fmt: skip
            one[name] = sum(f[name] for f in flows)
        for name in ("mbps", "mean_ms", "sd_ms", "p50_ms", "p90_ms", "p99_ms", "together",
                     "sender_cpu", "receiver_cpu", "cpu_busy", "wake_p50_us", "wake_sd_us",
                     "wake_max_us"):  # fmt: skip
            values = [f[name] for f in flows if f[name] is not None]
            one[name] = sum(values) / len(values) if values else None
        # The mean of flows hides the one whose updates come latest.
        one["most_p50_ms"] = max(
            (f["p50_ms"] for f in flows if f["p50_ms"] is not None), default=None
        )
        each_host = _by_host(flows)
        one["host_mbps"], one["host_least_mbps"] = max(each_host), min(each_host)
        one["host_theory"] = one["theory_mbps"] * len(flows) / len(each_host)
        by_link = [f for f in flows if not _on_one_host(f)]
        links = _by_host(by_link)
        one["link_mbps"] = max(links, default=0.0)
        one["link_theory"] = one["theory_mbps"] * len(by_link) / max(len(links), 1)
        one["rate_mbit"] = sites.rate_mbit(flows[0].get("hosts") or "", profile)
        published = {f["sender"]: f["sent"] for f in flows}
        one["senders"], one["published"] = len(published), sum(published.values())
        if "left" in flows[0]:
            one["left"] = flows[0]["left"]  # of the whole test
        at_once = bool(by_link) and all(map(_at_once, by_link))
        one["each_to"] = 1 if at_once else len(by_link) / one["senders"]
        one["of_theory"] = one["mbps"] / one["theory_mbps"]
        one["reliability"] = one["received"] / one["sent"] if one["sent"] else None
        one["unheld"] = any(map(_unheld, flows))
        one["disturbed"] = any(map(rates.disturbed, flows))
        each = [f["fragments"] / f["sent"] for f in flows if f["sent"]]
        one["fragments_each"] = sum(each) / len(each) if each else 0.0
        one["ways"] = Counter(f["way"] or "not told" for f in flows)
        one["relayed"] = sum(map(_relayed, flows))
        # Earlier versions knew one clock only.
        one["bound_ms"] = max(f.get("bound_ms") or 0 for f in flows)
        one["clocks"] = sorted({f.get("clock") or "same" for f in flows})
        # What clocks leave open is in no finding: it has the same sign in all configurations. They
        # may also drift by it within a sample, which is called jitter then.
        for name in ("p50_ms", "sd_ms"):
            open_ = any(clocks.doubt(c, one["bound_ms"], one[name]) for c in one["clocks"])
            one[f"sure_{name}"] = None if open_ else one[name]
        # Plain sockets have nothing to switch.
        rti = flows[0]["adapter"] in ("starling", "generic")
        one["bundling"] = rti and bool(flows[0]["setting"].get("bundling"))
        one |= {mark.key: mark.holds(one, flows) for mark in marks}
        found.append(one)
    _limit(found)
    return found


def _at_once(f: dict) -> bool:
    """Whether its sender's link carries an update once, however many it goes to."""
    way = f["way"] or ""
    return way == "DDS" or (f["transport"] == "best_effort" and "multicast" in way)


def _relayed(f: dict) -> bool:
    """Whether it goes by the RTI's server, which is on neither's host."""
    hosts = _hosts(f)
    return "via rtiexec" in (f["way"] or "") and None not in hosts and 1 not in hosts


def _unheld(f: dict) -> bool:
    """Whether a publisher was too slow: it left updates out, sent them late, or took longer."""
    planned = f["sent"] + f["unsent"]
    planned_s = planned / f["entities"] / f["rate"] / f.get("samples", 1)
    late = f["late_sends"] > _LATE_MAX * f["sent"] or (f["send_s"] or 0) > _LONGER * planned_s
    return late or f["sent"] < rates.HELD * planned


def _by_host(flows: list[dict]) -> list[float]:
    """What each receiving host got of them, Mbit/s."""
    hosts: dict[str, list[dict]] = {}
    for f in flows:
        hosts.setdefault(f["receiver"], []).append(f)
    return [_together(of) for of in hosts.values()]


def _on_one_host(f: dict) -> bool:
    """Whether it goes by no link between hosts, wherever these are."""
    one, other = _hosts(f)
    return one is not None and one == other and TOPOLOGIES[f["topology"]].shared


def _hosts(f: dict) -> tuple[int | None, int | None]:
    """The numbers of its ends' hosts; None: a file of one's own does not say."""
    topology = TOPOLOGIES.get(f["topology"])
    of = dict(topology.federates()) if topology else {}
    return of.get(f["sender"]), of.get(f["receiver"])


def _together(flows: list[dict]) -> float:
    """What a host received in a second, Mbit/s, until the last of its flows had come: one that got
    more of a link than another is over earlier."""
    came = [(f["received"] * f["payload"], f["mbps"]) for f in flows if f["mbps"]]
    longest = max((size / mbps for size, mbps in came), default=0)
    return sum(size for size, _ in came) / longest if came else 0.0


def shortfall(
    summaries: list[dict], label: Callable[[dict], str], marks: Sequence[Mark] = ()
) -> str:
    """What must not have happened; "": nothing."""
    found = points(summaries, marks)
    said = [f"{mark.words}: {where}" for mark in marks if (where := mark.of(found))]
    if bad := [s for s in summaries if s["transport"] == "reliable" and s["lost"]]:
        where = ", ".join(dict.fromkeys(f"{s['sequence']} {label(s)}" for s in bad[:5]))
        said.append(f"{sum(s['lost'] for s in bad)} reliable updates were lost: {where}")
    return "; ".join(said)


def _limit(found: list[dict]) -> None:
    """Marks configurations of which no finding is computed: plain sockets miss theory, as the
    machine is too slow, or the link; the link would need a higher rate than it has; a CPU is busy.
    """
    sockets: dict[tuple, dict[tuple, dict]] = {}
    for p in filter(plain, found):
        sockets.setdefault(_where(p), {})[p["scheduling"], bool(p["conflate"])] = p
    for p in found:
        rate, of = p["rate_mbit"], sockets.get(_where(p), {})
        # Those that are scheduled as this one, where they are; else the plain ones.
        beside = of.get((p["scheduling"], bool(p["conflate"])), of.get(("normal", False)))
        p["alone"] = beside is None
        p["missed"] = beside is not None and beside["of_theory"] < THEORY_MIN
        p["busy"] = (p["cpu_busy"] or 0) > BUSY_MAX
        p["over"] = rate is not None and wire_mbps(p) > THEORY_MIN * rate
        p["beyond"] = p["over"] or (rate is not None and p["missed"])
        p["limited"] = p["busy"] or (rate is None and p["missed"])


def plain(p: dict) -> bool:
    """Plain sockets carry it, whatever else was asked for."""
    return p["carrier"].split()[0] == SOCKETS


def _where(p: dict) -> tuple:
    return p["topology"], p["profile"], identity(p)


def identity(p: dict) -> tuple:
    """Of what was sent, whatever carried it: a file of one's own numbers no configurations."""
    return tuple(p[k] for k in ("configuration", "entities", "rate", "payload", "transport"))


def judged(p: dict) -> bool:
    """Whether findings are computed from it. Plain sockets are not judged by themselves: what they
    miss though CPU and link allow it is theirs."""
    keys = ("busy", "over") if plain(p) else ("limited", "beyond")
    return not (p["disturbed"] or any(map(p.get, keys)))


def wire_mbps(p: dict) -> float:
    """What the busiest link of a host would carry, with the headers of packets: that of a receiver,
    or of a sender that sends to each of several by itself; an RTI's server, at the first host, also
    has what it relays from one of others to the next."""
    most = max(p["link_theory"], p["theory_mbps"] * p["each_to"]) + p["theory_mbps"] * p["relayed"]
    return most * sites.wire_bytes(p["profile"], p["payload"]) / p["payload"] if most else 0.0


def connectivity(store: Store, summaries: list[dict]) -> list[str]:
    """One update each: a matrix of sites for each carrier, one of carriers through gateways, for
    each kind of sites, and what failed or did not come, with its reason."""
    lost: list[tuple[str, str]] = []
    came: dict[str, dict[tuple[str, str], str]] = {}
    cells_of = lambda what, profile: came.setdefault(f"{what}, {profile}", {})  # noqa: E731
    for s in summaries:
        if s["theory_mbps"] is not None:
            continue
        took = "came" if s["mean_ms"] is None else f"{ms(s['mean_ms'], s.get('bound_ms'))} ms"
        said = took if s["received"] else "NOT: see below"
        if not s["received"]:
            delivery = s["transport"].replace("_", " ")
            where = f"{s['sequence']}, {delivery}: {s['sender']} → {s['receiver']}"
            lost.append((where, s.get("why") or "nothing came"))
        topology, carrier, profile = place(s)
        if topology == "mesh" or profile == OWN:
            title = f"{carrier}, {s['transport'].replace('_', ' ')}"
            cells_of(title, profile)[s["sender"], s["receiver"]] = said
        else:
            cells = cells_of(_BETWEEN, profile)
            one, _, other = carrier.partition("-")
            cells[one, other] = "; ".join(filter(None, (cells.get((one, other)), said)))
    failed = [
        (e["sequence"], e["message"]) for e in store.run["executions"] if e["state"] == "failed"
    ]
    for sequence, _ in failed:
        topology, carrier, profile, *_ = _named(sequence)
        if topology != "mesh" and profile != OWN and "-" in carrier:
            one, _, other = carrier.partition("-")
            cells_of(_BETWEEN, profile)[one, other] = "NOT: see below"
    body = []
    for title, cells in came.items():
        names = list(dict.fromkeys(name for pair in cells for name in pair))
        lines = [(one, *(cells.get((one, other), "") for other in names)) for one in names]
        body += [f"<h2>Connectivity: {escape(title)}</h2>", text_table(("from", *names), lines)]
    if came and (failed or lost):
        body += ["<h2>What failed</h2>", text_table(("where", "why"), [*failed, *lost])]
    return body


_SEVERAL = (
    "<p>Latencies of a configuration with several flows are the mean of theirs; most: of the flow "
    "with the greatest.</p>"
)
_ORDER = ("topology", "carrier", "profile", "configuration")


def tables(found: list[dict], marks: Sequence[Mark] = ()) -> list[str]:
    """Every configuration."""
    words = _MARKS | {mark.key: mark.words for mark in marks}
    head = ("topology", "carrier", "sites", "configuration", "entities x Hz x bytes", "delivery",
            "flow Mbit/s", "theory", "host Mbit/s", "theory", "reliability", "lost", "overwritten",
            "again", "reordered", "unsent", "late", "mean ms", "sd", "p50", "most p50", "p99",
            "CPU", "")  # fmt: skip
    lines = [
        (p["topology"], p["carrier"], p["profile"], str(p["configuration"]),
         f"{p['entities']} x {p['rate']:g} x {p['payload']}", p["transport"].replace("_", " "),
         f"{p['mbps']:.4g}", f"{p['theory_mbps']:.4g}", f"{p['host_mbps']:.4g}",
         f"{p['host_theory']:.4g}", f"{p['reliability'] or 0:.4f}",
         *(str(p[k]) for k in ("lost", "conflated", "duplicates", "reordered", "unsent",
                               "late_sends")),
         *(ms(p[k], p["bound_ms"])
           for k in ("mean_ms", "sd_ms", "p50_ms", "most_p50_ms", "p99_ms")),
         f"{p['cpu_busy']:.0%}",
         "; ".join(word for key, word in words.items() if p[key]))
        for p in sorted(found, key=lambda p: [p[k] for k in _ORDER])
    ]  # fmt: skip
    return ["<details><summary>Every configuration</summary>", _SEVERAL + text_table(head, lines),
            "</details>"]  # fmt: skip
