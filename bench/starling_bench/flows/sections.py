"""What a report of flows says beside its figures: who cut what is too long for a link, how old what
lagging subscribers read is, how updates are bundled, and how exactly the host wakes up.
"""

import tomllib
from collections import Counter
from collections.abc import Sequence
from html import escape

import numpy as np

from ..kept.store import Store
from ..machines.network import Host
from ..machines.sites import HOSTS, LOCAL, OWN, PROFILES, mtu
from ..reports import order, report
from ..reports.cells import ms
from ..reports.drawing import Page, legend, plots, plt, style
from ..reports.parts import text_table
from ..statistics.findings import Finding
from ..times.clocks import OPEN_MAX
from .points import Mark, place

_HEADERS = 28  # of IPv4 and UDP
_AGE = "STARLING_BUNDLE_AGE_US"
_NAMED_MAX = 12


def verdict(
    store: Store, summaries: list[dict], found: list[dict], marks: Sequence[Mark]
) -> list[str]:
    """A run in a sentence: of its points, or of ways that are gone by one update each."""
    lost = sum(p["lost"] for p in found if p["transport"] == "reliable")
    aside = {mark: sum(p[mark] for p in found) for mark in ("limited", "beyond", "disturbed")}
    single = [s for s in summaries if s["theory_mbps"] is None]
    reached = sum(bool(s["received"]) for s in single)
    text = (
        f"{reached} of {len(single)} ways were gone by one update each."
        if single and not found
        else f"{len(found)} configurations of {sum(p['flows'] for p in found)} flows; "
        f"{sum(p['received'] for p in found):,} of {sum(p['sent'] for p in found):,} updates "
        f"received; {lost} lost under reliable delivery. {aside['limited']} configurations are "
        f"limited by the machine, {aside['beyond']} are beyond the link, {aside['disturbed']} were "
        "disturbed by other programs: no finding is computed from them."
    )
    marked = any(p[mark.key] for p in found for mark in marks)
    return [report.verdict(store, text, lost > 0 or reached < len(single) or marked)]


def findings(store: Store, stated: list[tuple[str, Finding]]) -> list[str]:
    """Statements of a source, tested: where, and what came of it."""
    head = ("where", "statement", "answer", "numbers", "configurations")
    lines = [(where, f.statement, f.answer, f.numbers, str(f.count)) for where, f in stated]
    return [
        "<h2>Findings</h2>",
        "<p>The source's statements, tested against this run's data. Slopes are of medians, within "
        "configurations that are alike in all else, with 95 % intervals; ratios are geometric "
        "means over configurations in common, their intervals corrected for their number. "
        f"{order.said(store)}</p>",
        text_table(head, lines),
    ]


def fragments(found: list[dict]) -> list[str]:
    """Who cuts payloads that are longer than a packet: counted at the senders' hosts."""
    # Of others nobody knows the room.
    found = [p for p in found if p["profile"] not in (OWN, HOSTS)]
    if not found:
        return []
    lines = {}
    for p in sorted(found, key=lambda p: (p["profile"], p["carrier"], p["transport"])):
        room = mtu(p["profile"])
        if p["payload"] + _HEADERS <= room:
            continue
        if p["fragments_each"] > 0.5:
            who = f"IP of the sender's host: {p['fragments_each']:.3g} fragments an update"
        else:
            who = f"not IP: what carries it ({'; '.join(p['ways'])})"
        key = (p["profile"], f"{room}", p["carrier"], p["transport"].replace("_", " "),
               f"{p['payload']}")  # fmt: skip
        lines.setdefault(key, who)
    said = "Every payload fits into a packet." if not lines else ""
    head = ("sites", "MTU", "carrier", "delivery", "payload", "who cuts it")
    table = [text_table(head, [(*key, who) for key, who in lines.items()])] if lines else []
    return ["<h2>Who fragments</h2>", f"<p>{said or 'By the counters of IP (FragCreates).'}</p>",
            *table]  # fmt: skip


def ways(found: list[dict]) -> list[str]:
    """By what updates went, as the adapter or the RTI said; one carrier may have several."""
    flows: Counter[tuple[str, ...]] = Counter()
    for p in found:
        for way, many in p["ways"].items():
            flows[p["topology"], p["carrier"], p["profile"], p["transport"].replace("_", " "),
                  way] += many  # fmt: skip
    head = ("topology", "carrier", "sites", "delivery", "way", "flows")
    lines = [(*key, str(many)) for key, many in sorted(flows.items())]
    return ["<h2>Ways that data took</h2>", text_table(head, lines)] if lines else []


def left(found: list[dict]) -> list[str]:
    """What left the hosts whose packets were captured, beside what was published there."""
    of = sorted((p for p in found if "left" in p),
                key=lambda p: (p["topology"], p["profile"], p["configuration"]))  # fmt: skip
    if not of:
        return []
    lines, lacking = [], []
    for p in of:
        where = (p["topology"], p["carrier"], p["profile"], str(p["configuration"]))
        if not (p["left"] and p["published"]):
            lacking.append(" ".join(where))
            continue
        counts = dict(p["left"])
        if PROFILES.get(p["profile"], {}).get("tunnel"):
            counts |= {"again": None, "empty": None}  # these are within it
        link, carried = (counts[key] / p["published"] for key in ("link", "carried"))
        lines.append(
            (*where, f"{p['entities']} x {p['rate']:g} x {p['payload']}",
             p["transport"].replace("_", " "), str(counts["hosts"]), f"{p['published']:,}",
             f"{link:,.1f}", f"{link / p['payload']:.3f}", f"{carried:,.1f}",
             *("-" if (n := counts[key]) is None else f"{n:,}"
               for key in ("again", "empty", "dropped")))
        )  # fmt: skip
    head = ("topology", "carrier", "sites", "configuration", "entities x Hz x bytes", "delivery",
            "hosts captured", "published", "bytes on links, each", "of the payload",
            "above TCP or UDP, each", "bytes sent again", "without data", "missed")  # fmt: skip
    more = f" and {len(lacking) - _NAMED_MAX} more" if len(lacking) > _NAMED_MAX else ""
    unknown = (
        " It is not known, as files of packets are damaged or gone, or of a sample nothing came, "
        f"of {'; '.join(lacking[:_NAMED_MAX])}{more}." if lacking else ""
    )  # fmt: skip
    return [
        "<h2>What left the hosts</h2>",
        "<p>Over the updates that were published: bytes of the frames (without preamble and check "
        "sequence) that left the interfaces of all hosts whose packets were captured, between the "
        "sending of the first update that came and the arrival of the last. To four subscribers a "
        "way without multicast sends four; what an RTI's server relays leaves its host, too, and "
        "so does what middleware says of itself meanwhile. Above TCP or UDP: what is new of these "
        "without heads and acknowledgements; through a tunnel it is the tunnel's, so that only "
        "bytes on links compare kinds of sites. What bench-link loses had left, what the kernel's "
        "netem loses had not. Bytes sent again (of TCP) and packets without data "
        "(acknowledgements above all) are sums; missed are packets that the capture did not see in "
        f"the whole of an execution.{escape(unknown)}</p>",
        text_table(head, lines),
    ]


def ages(found: list[dict]) -> list[str]:
    """How old data are when a subscriber that lags reads them, beside how much of them it reads."""
    lines = [
        (p["topology"], p["carrier"], p["profile"], str(p["configuration"]),
         p["transport"].replace("_", " "), "yes" if p["conflate"] else "no", f"{p['lag_s']:g}",
         f"{p['reliability'] or 0:.4f}", str(p["lost"]), str(p["conflated"]),
         *(ms(p[key], p["bound_ms"]) for key in ("p50_ms", "p99_ms")))
        for p in sorted(found, key=lambda p: (p["topology"], p["profile"], p["configuration"]))
        if p["lag_s"] or p["conflate"]
    ]  # fmt: skip
    head = ("topology", "carrier", "sites", "configuration", "delivery", "overwriting",
            "looks each s", "reliability", "lost", "overwritten", "age p50 ms",
            "age p99 ms")  # fmt: skip
    return ["<h2>Age beside reliability</h2>", text_table(head, lines)] if lines else []


def _age_ms(text: str) -> float | None:
    """That a bundle of Starling waits, as a test sequence file says."""
    rtis = tomllib.loads(text).get("rti", [])
    ages = [rti["env"][_AGE] for rti in rtis if _AGE in rti.get("env", {})]
    return float(ages[0]) / 1000 if ages else None


def bundles(page: Page, found: list[dict]) -> list[str]:
    """How many updates came at once, by how many were sent in a second, where one bundles."""
    carriers = list(dict.fromkeys(p["carrier"] for p in found if p["bundling"]))
    alone = [c.replace(" bundled", " unbundled") for c in carriers]
    shown = [*carriers, *(c for c in alone if c not in carriers)]
    lines = {c: [p for p in found if p["carrier"] == c and p["together"]] for c in shown}
    lines = {c: points for c, points in lines.items() if points}
    if not carriers or not lines:
        return []
    figure, axes = plt.subplots()
    rates = sorted({p["rate"] * p["entities"] for points in lines.values() for p in points})
    if age_ms := _age_ms(page.store.run["tsf_text"]):
        fine = np.geomspace(rates[0], rates[-1], 400)
        steps = np.floor(fine * age_ms / 1e3) + 1
        axes.step(fine, steps, where="post", color="#888", lw=0.8, label=f"in {age_ms:g} ms")
    for index, (carrier, points) in enumerate(lines.items()):
        look = style(index)
        axes.plot([p["rate"] * p["entities"] for p in points], [p["together"] for p in points],
                  ls="", ms=4, label=carrier, **look)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="updates per publisher, Hz",
             ylabel="updates that came at once, mean",
             title="Bundling by rate")  # fmt: skip
    legend(axes, len(lines) + 1)
    caption = ("Updates come at once where they are less than half of the time apart that is "
               "between two of them when they are sent. Grey: as many as are sent while a bundle "
               "waits; it leaves earlier when it is full.")  # fmt: skip
    return ["<h2>Bundling</h2>", plots([page.figure(figure, caption)])]


def wake_ups(found: list[dict]) -> list[str]:
    """How late the host itself wakes who sleeps, by scheduling: the floor of what can be said."""
    groups: dict[tuple, list[dict]] = {}
    for p in found:
        groups.setdefault((p["profile"], p["carrier"], p["scheduling"]), []).append(p)
    of_all = lambda by, of, key: float(by([p[key] for p in of if p[key] is not None] or [0]))  # noqa: E731
    lines = [
        (profile, carrier, scheduling, f"{len(fit)} of {len(of)}",
         *(f"{of_all(np.median, of, key):.1f}" for key in ("wake_p50_us", "wake_sd_us")),
         f"{max(p['wake_max_us'] or 0 for p in of):,.0f}",
         *(ms(of_all(np.median, fit, key), max(p["bound_ms"] for p in of)) if fit else "-"
           for key in ("p50_ms", "sd_ms")))
        for (profile, carrier, scheduling), of in sorted(groups.items())
        for fit in [[p for p in of if not (p["limited"] or p["disturbed"])]]
    ]  # fmt: skip
    head = ("sites", "carrier", "scheduling", "fit configurations", "wake-up p50 us", "sd us",
            "max us", "median of latency p50 ms", "of jitter ms")  # fmt: skip
    refused = any("not allowed" in p["scheduling"] for p in found)
    notice = ["<p class=\"note\">Real-time scheduling was asked for and is not allowed here: those "
              "configurations ran with normal scheduling.</p>"] if refused else []  # fmt: skip
    return [
        "<h2>Scheduling, and the host's own wake-ups</h2>",
        "<p>Before each configuration a thread slept 50 times for a millisecond: how late it woke "
        "is what the host adds to whoever sleeps until something is due (grey in figures 4 to 7 "
        "and 9). Who is woken by what comes, or does not sleep, may be earlier. "
        "Latency and jitter are medians over the fit configurations: those that the machine does "
        "not limit and other programs did not disturb; wake-ups are of all. "
        "Real-time beside normal scheduling is among the findings where both ran.</p>",
        *notice, text_table(head, lines),
    ]  # fmt: skip


def notices(found: list[dict], summaries: list[dict], marks: Sequence[Mark]) -> list[str]:
    """What a reader must know before any figure; first what the study marks."""
    said = [f"{mark.notice}: {where}." for mark in marks if (where := mark.of(found))]
    marked = [f'<p class="note">{escape(what)}</p>' for what in said]
    return [*marked, *unheld(found), *alone(found), *compared(found, summaries),
            *emulated(summaries)]  # fmt: skip


def compared(found: list[dict], summaries: list[dict]) -> list[str]:
    """How well hosts' clocks are known beside each other, where they have clocks of their own."""
    other = [s for s in summaries if (s.get("clock") or "same") != "same"]
    if not other:
        return []
    how = "whose daemons are asked before each sample and after"
    if all(s.get("setting", {}).get("clock") != "daemon" for s in other):
        how = "which echoes during each sample compare"
    said = [f"In {len(other)} of {len(summaries)} flows hosts have clocks of their own, {how}."]
    if known := [s["bound_ms"] for s in other if s["bound_ms"]]:
        left = sum(p["p50_ms"] is not None and p["sure_p50_ms"] is None for p in found)
        said.append(
            f"Latencies may be wrong by up to {max(known):.2g} ms, and no digit below that is "
            f"printed; {left} configurations of which that leaves more than {OPEN_MAX:.0%} open "
            "are in no finding of latency, nor is jitter so."
        )
    lacking = [f"{s['sequence']}, {s['sender']} to {s['receiver']}, test {s['test']}: {s['clock']}"
               for s in other if s["clock"].startswith("not known")]  # fmt: skip
    if lacking:
        more = f" and {len(lacking) - _NAMED_MAX} more" if len(lacking) > _NAMED_MAX else ""
        named = "; ".join(lacking[:_NAMED_MAX])
        said.append(f"Of some flows no latency is told: {named}{more}.")
    return [f'<p class="note">{escape(" ".join(said))}</p>']


def alone(found: list[dict]) -> list[str]:
    """Where nothing shows what the machine itself could carry."""
    if not (many := sum(p["alone"] for p in found)):
        return []
    what = (
        f"No plain sockets ran beside {many} of {len(found)} configurations: whether the machine "
        "or a link holds these back is told by the CPUs' work and the link's rate alone."
    )
    return [f'<p class="note">{escape(what)}</p>']


def unheld(found: list[dict]) -> list[str]:
    """Whose publishers did not send at their rate what they were to send."""
    where = [f"{p['topology']} {p['carrier']}, {p['profile']}, {p['configuration']}"
             for p in found if p["unheld"]]  # fmt: skip
    if not where:
        return []
    more = f" and {len(where) - _NAMED_MAX} more" if len(where) > _NAMED_MAX else ""
    what = f"Publishers did not hold their rate in {'; '.join(where[:_NAMED_MAX])}{more}"
    return [f'<p class="note">{escape(what)}. What they did send is drawn grey.</p>']


def emulated(summaries: list[dict]) -> list[str]:
    """What sites are, where they are made by this machine."""
    kinds = dict.fromkeys(place(s)[2] for s in summaries)
    made = {k: Host(name=k, **PROFILES[k]) for k in kinds if k in PROFILES and k != HOSTS}
    said = [f"{kind}: {host.words() or 'as fast as it gets'}" for kind, host in made.items()
            if kind != LOCAL]  # fmt: skip
    if not said:
        return []
    what = (
        "Sites are emulated: network namespaces of this machine, which share its CPUs and its "
        f"clock; the server of an RTI is at the first. {'; '.join(said)}."
    )
    return [f'<p class="note">{escape(what)}</p>']
