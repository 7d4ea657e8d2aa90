"""The report: points per configuration, the source's figures, its findings tested against them."""

from operator import itemgetter

from ...flows import figures as flow_figures, sections
from ...flows.findings import (
    at_most,
    between,
    bundled,
    busy,
    hosts_meet as hosts,
    meets,
    name,
    nearly_all,
    sets,
    told,
    unless_run,
)  # fmt: skip
from ...flows.points import connectivity, judged, points, tables
from ...kept.store import Store
from ...reports import drawing, report
from ...statistics import findings
from .marks import MARKS

MARGIN = 0.2  # within which WAN behaves as LAN
# The source's longest payload, and to what latency grew there.
_LONG, _THERE_MS = 9000, 1.5


def stated(found: list[dict]) -> list[tuple[str, findings.Finding]]:
    """The source's findings, for every topology, carrier and kind of sites; no point is used that
    is set aside, but for what is lost, and for the link's limit."""
    said = []
    several = sets(found)
    for key, every in several.items():
        topology, carrier, profile = key
        where, mine = f"{topology}, {carrier}, {profile}", list(filter(judged, every))
        kb, p50 = (lambda p: p["payload"] / 1000), itemgetter("sure_p50_ms")
        # What is overwritten or looked at late because it was asked for says nothing of a carrier.
        whole = [p for p in mine if not p["conflate"]]
        prompt = [p for p in whole if not p["lag_s"]]
        nine_k = [p for p in whole if p["payload"] == _LONG and p["entities"] == 10]
        all_reliable = [p for p in every if p["transport"] == "reliable" and not p["conflate"]]
        of_judged = [
            findings.every("throughput meets theory", whole, meets, name),
            findings.every("throughput of each receiving host meets theory", whole, hosts, name),
            nearly_all(whole),
            findings.every("9000-byte reliable payloads of ten entities meet theory",
                           [p for p in nine_k if p["transport"] == "reliable"], meets, name),
            findings.every("9000-byte best-effort payloads of ten entities meet theory",
                           [p for p in nine_k if p["transport"] == "best_effort"], meets, name),
            at_most(prompt, _LONG, _THERE_MS),
            findings.grows("latency grows with payload", prompt, kb, p50,
                           itemgetter("entities", "rate", "transport"), "ms per 1000 bytes"),
            findings.grows("latency does not grow with rate", prompt, lambda p: p["rate"] / 10,
                           p50, itemgetter("entities", "payload", "transport"), "ms per 10 Hz",
                           expected=False),
            findings.grows("latency grows with entities", prompt, lambda p: p["entities"] / 10,
                           p50, itemgetter("rate", "payload", "transport"), "ms per ten"),
            *bundled(key, several),
            findings.grows("a publisher's CPU grows with entities", mine,
                           lambda p: p["entities"] / 10, lambda p: p["sender_cpu"],
                           itemgetter("rate", "payload", "transport"), "CPUs per ten"),
        ]  # fmt: skip
        lossless = findings.every("nothing is lost under reliable delivery", all_reliable,
                                  lambda p: p["lost"] == 0, name)  # fmt: skip
        of_judged = unless_run(told(of_judged, every), every, _LONG)
        said += [(where, f) for f in (*of_judged, lossless, *busy(every))]
        if (rate := every[0].get("rate_mbit")) is not None:
            over = [p for p in every if p["link_theory"] > rate]
            said.append((where, findings.every(
                f"beyond {rate} Mbit/s of a host the link's limit is seen", over,
                lambda p, r=rate: p["link_mbps"] <= 1.02 * r, name)))  # fmt: skip
    return said + between(several, MARGIN)


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html."""
    page, found = drawing.Page(store), points(summaries, MARKS)
    body = [*sections.verdict(store, summaries, found, MARKS), *report.notes(store)]
    body += sections.notices(found, summaries, MARKS)
    body += connectivity(store, summaries)
    if found:
        body += sections.findings(store, stated(found))
        body += sections.wake_ups(found) + sections.ways(found)
        body += sections.fragments(found) + sections.left(found) + sections.ages(found)
        body += sections.bundles(page, found) + flow_figures.by_place(page, found)
        body += tables(found, MARKS)
    report.write(store, "EC1: what carries the PBOM", body)
