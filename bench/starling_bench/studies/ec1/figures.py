"""The report: points per configuration, the source's figures, its findings tested against them."""

from collections.abc import Callable
from dataclasses import replace
from html import escape
from operator import itemgetter

from ...flows import figures as flow_figures, sections as flow_sections
from ...flows.findings import between, bundled, busy, meets, name, sets, told
from ...flows.points import THEORY_MIN, connectivity, judged, points, tables
from ...kept.store import Store
from ...machines import sites
from ...reports import drawing, order, parts, report
from ...reports.cells import ms
from ...statistics import findings
from .marks import MARKS

MARGIN = 0.2  # within which WAN behaves as LAN
# The source's longest payload, and to what latency grew there.
_LONG, _THERE_MS = 9000, 1.5


def stated(found: list[dict]) -> list[tuple[str, findings.Finding]]:
    """The source's findings, for every topology, carrier and kind of sites; no point is used that
    is limited by the machine or beyond the link, but for what is lost, and for the link's limit."""
    said = []
    several = sets(found)
    for key, every in several.items():
        topology, carrier, profile = key
        where, mine = f"{topology}, {carrier}, {profile}", list(filter(judged, every))
        kb, p50 = (lambda p: p["payload"] / 1000), itemgetter("sure_p50_ms")
        nine_k = [p for p in mine if p["payload"] == _LONG and p["entities"] == 10]
        all_reliable = [p for p in every if p["transport"] == "reliable" and not p["conflate"]]
        of_judged = [
            findings.every("throughput meets theory", mine, meets, name),
            findings.every("throughput of each receiving host meets theory", mine, _hosts_meet,
                           name),
            findings.every("reliability is at least 99.9 %", mine,
                           lambda p: (p["reliability"] or 0) >= 0.999, name),
            findings.every("9000-byte reliable payloads of ten entities meet theory",
                           [p for p in nine_k if p["transport"] == "reliable"], meets, name),
            findings.every("9000-byte best-effort payloads of ten entities meet theory",
                           [p for p in nine_k if p["transport"] == "best_effort"], meets, name),
            _no_longer(mine, p50),
            findings.grows("latency grows with payload", mine, kb, p50,
                           itemgetter("entities", "rate", "transport"), "ms per 1000 bytes"),
            findings.grows("latency does not grow with rate", mine, lambda p: p["rate"] / 10,
                           p50, itemgetter("entities", "payload", "transport"), "ms per 10 Hz",
                           expected=False),
            findings.grows("latency grows with entities", mine, lambda p: p["entities"] / 10,
                           p50, itemgetter("rate", "payload", "transport"), "ms per ten"),
            *bundled(key, several),
            findings.grows("a publisher's CPU grows with entities", mine,
                           lambda p: p["entities"] / 10, lambda p: p["sender_cpu"],
                           itemgetter("rate", "payload", "transport"), "CPUs per ten"),
        ]  # fmt: skip
        lossless = findings.every("nothing is lost under reliable delivery", all_reliable,
                                  lambda p: p["lost"] == 0, name)  # fmt: skip
        here = [*told(of_judged, every), lossless, *busy(every)]
        said += [(where, f) for f in here]
        if (rate := sites.PROFILES.get(profile, {}).get("rate_mbit")) is not None:
            over = [p for p in every if p["link_theory"] > rate]
            said.append((where, findings.every(
                f"beyond {rate} Mbit/s of a host the link's limit is seen", over,
                lambda p, r=rate: p["link_mbps"] <= 1.02 * r, name)))  # fmt: skip
    return said + between(several, MARGIN)


def _hosts_meet(p: dict) -> bool:
    """Theory, also the one that received least."""
    return p["host_least_mbps"] >= THEORY_MIN * p["host_theory"]


def _no_longer(mine: list[dict], p50: Callable[[dict], float | None]) -> findings.Finding:
    """Than the source's latency grew to, with the longest here."""
    statement = f"median latency at {_LONG} bytes is at most {_THERE_MS} ms, as there"
    known = [p for p in mine if p["payload"] == _LONG and p50(p) is not None]
    found = findings.every(statement, known, lambda p: p50(p) <= _THERE_MS, name)
    if not known:
        return found
    longest = max(known, key=p50)
    here = f"at most {ms(p50(longest), longest['bound_ms'])} ms here ({name(longest)})"
    return replace(found, numbers=f"{here}; {found.numbers}")


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html."""
    page, found = drawing.Page(store), points(summaries, MARKS)
    lost = sum(p["lost"] for p in found if p["transport"] == "reliable")
    limited, beyond = (sum(p[mark] for p in found) for mark in ("limited", "beyond"))
    single = [s for s in summaries if s["theory_mbps"] is None]
    reached = sum(bool(s["received"]) for s in single)
    text = (
        f"{reached} of {len(single)} ways were gone by one update each."
        if single and not found
        else f"{len(found)} configurations of {sum(p['flows'] for p in found)} flows; "
        f"{sum(p['received'] for p in found):,} of {sum(p['sent'] for p in found):,} updates "
        f"received; {lost} lost under reliable delivery. {limited} configurations are limited by "
        f"the machine, {beyond} are beyond the link: no finding is computed from them."
    )
    marked = any(p[mark.key] for p in found for mark in MARKS)
    bad = lost > 0 or reached < len(single) or marked
    body = [report.verdict(store, text, bad), *report.notes(store)]
    body += flow_sections.notices(found, summaries, MARKS)
    body += connectivity(store, summaries)
    if found:
        body += _findings(store, found)
        body += flow_sections.wake_ups(found)
        body += flow_sections.fragments(found)
        body += flow_sections.ages(found)
        body += flow_sections.bundles(page, found)
        for topology, profile in dict.fromkeys((p["topology"], p["profile"]) for p in found):
            lines: flow_figures.Lines = {}
            for p in sorted(found, key=lambda p: p["configuration"]):
                if (p["topology"], p["profile"]) == (topology, profile):
                    lines.setdefault(p["carrier"], []).append(p)
            body.append(f"<h2>{escape(where := f'{topology}, {profile}')}</h2>")
            body.append(drawing.plots(flow_figures.nine(page, lines, where)))
        body += tables(found, MARKS)
    report.write(store, "EC1: what carries the PBOM", body)


def _findings(store: Store, found: list[dict]) -> list[str]:
    head = ("where", "statement", "answer", "numbers", "configurations")
    lines = [(w, f.statement, f.answer, f.numbers, str(f.count)) for w, f in stated(found)]
    return [
        "<h2>Findings</h2>",
        "<p>The source's statements, tested against this run's data. Slopes are of medians, within "
        "configurations that are alike in all else, with 95 % intervals; ratios are geometric "
        "means over configurations in common, their intervals corrected for their number. "
        f"{order.said(store)}</p>",
        parts.text_table(head, lines),
    ]
