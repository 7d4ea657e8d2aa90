"""The figures of a set of flows: throughput, reliability, latency and jitter, by configuration and
by what was varied; what carried them is a line. Points that say more of the machine than of what
carries them are hollow, and those beyond what a link carries, and where clocks leave the value
open; grey are those whose publishers did not hold their rate.
"""

from collections.abc import Callable
from html import escape
from itertools import product

import numpy as np

from ..reports.drawing import PLAIN, Page, legend, plots, plt, style
from .points import ASIDE

Lines = dict[str, list[dict]]  # points by what carried them
_GREY = "#888"
_DASHES = {"best_effort": "-", "reliable": "--"}  # of what joins medians


def _draw(axes, lines: Lines, x: Callable, y: Callable, joined: bool, sure: str = "") -> None:
    for index, (name, points) in enumerate(lines.items()):
        look = style(index)
        known = [p for p in points if y(p) is not None]
        for hollow, grey in product((False, True), (False, True)):
            some = [p for p in known if (_aside(p, sure), p["unheld"]) == (hollow, grey)]
            colour = _GREY if grey else look["color"]
            kind = "-hollow" * hollow + "-grey" * grey
            if kind and not some:
                continue
            axes.plot(
                [x(p) for p in some], [y(p) for p in some], ls="", ms=4, marker=look["marker"],
                color=colour, markerfacecolor="none" if hollow else colour,
                label=None if kind else name, gid=f"line-{index}{kind}",
            )  # fmt: skip
        full = [p for p in known if not _aside(p, sure)]
        for transport, dashes in _DASHES.items() if joined else ():
            at: dict[float, list[float]] = {}
            for p in full:
                if p["transport"] == transport:
                    at.setdefault(x(p), []).append(y(p))
            if places := sorted(at):
                axes.plot(
                    places, [np.median(at[v]) for v in places], color=look["color"],
                    ls=dashes, gid=f"median-{index}-{transport}",
                )  # fmt: skip
    legend(axes, len(lines))
    axes.yaxis.set_major_formatter(PLAIN)


def _grey(axes, lines: Lines, x: Callable, beside: tuple[str, Callable] | None) -> None:
    """What is not measured but known: of points at one place the least."""
    if not beside:
        return
    at: dict[float, float] = {}
    for p in (p for points in lines.values() for p in points):
        if (value := beside[1](p)) is not None:
            at[x(p)] = min(value, at.get(x(p), value))
    places = sorted(at)
    axes.plot(places, [at[n] for n in places], color=_GREY, lw=0.8, label=beside[0])


def by_number(
    page: Page, lines: Lines, title: str, unit: str, y: Callable, log: bool = False,
    beside: tuple[str, Callable] | None = None, sure: str = "",
) -> str:  # fmt: skip
    """A value of every configuration, along its number; `beside`: a grey line and its name; `sure`:
    what a point lacks where clocks leave its value open."""
    figure, axes = plt.subplots()
    _grey(axes, lines, lambda p: p["configuration"], beside)
    _draw(axes, lines, lambda p: p["configuration"], y, False, sure)
    axes.set(title=title, xlabel="configuration (even: best effort, odd: reliable)", ylabel=unit)
    axes.set_xticks(range(0, 121, 20))
    if log and any((y(p) or 0) > 0 for points in lines.values() for p in points):
        axes.set_yscale("log")
    return page.figure(
        figure, f"0-39 one entity, 40-79 ten, 80-119 a hundred. {_said(lines, sure)}"
    )


def by_variable(
    page: Page, lines: Lines, title: str, name: str, unit: str, x: Callable, y: Callable,
    log: bool = True, beside: tuple[str, Callable] | None = None, sure: str = "",
) -> str:  # fmt: skip
    """A value of every configuration along one of its variables; lines join medians of those that
    say something of what carries them, of best effort and of reliable delivery each."""
    figure, axes = plt.subplots()
    _grey(axes, lines, x, beside)
    _draw(axes, lines, x, y, True, sure)
    axes.set(title=title, xlabel=name, ylabel=unit)
    axes.set_xscale("log")
    values = sorted({x(p) for points in lines.values() for p in points})
    axes.set_xticks(values, [f"{v:g}" for v in values])
    axes.minorticks_off()
    if log and any((y(p) or 0) > 0 for points in lines.values() for p in points):
        axes.set_yscale("log")
    joins = "Lines join the medians of full points: whole of best effort, dashed of reliable ones."
    return page.figure(figure, f"{joins} {_said(lines, sure)}")


def _ms(us: float | None) -> float | None:
    return us / 1e3 if us else None  # a logarithm has no zero


def _said(lines: Lines, sure: str = "") -> str:
    several = "Of several flows the mean. " * any(
        p["flows"] > 1 for of in lines.values() for p in of
    )
    every = [p for points in lines.values() for p in points]
    kinds = {
        f"Hollow: {ASIDE}": sum(map(_aside, every)),
        "Hollow: clocks leave it open": sum(_open(p, sure) for p in every),
        "Grey: the publisher did not hold its rate": sum(p["unheld"] for p in every),
    }
    return several + " ".join(f"{what} ({n} points)." for what, n in kinds.items() if n)


def _aside(p: dict, sure: str = "") -> bool:
    return p["limited"] or p["beyond"] or p["disturbed"] or _open(p, sure)


def _open(p: dict, sure: str) -> bool:
    return bool(sure) and p[sure] is None and p[sure.removeprefix("sure_")] is not None


def nine(page: Page, lines: Lines, where: str) -> list[str]:
    """The source's figures 2 to 10 for one topology and kind of sites."""
    ms = "ms"
    floor = ("the host's wake-ups, least of the medians", lambda p: _ms(p["wake_p50_us"]))
    spread = ("the host's wake-ups, least deviation", lambda p: _ms(p["wake_sd_us"]))
    return [
        by_number(page, lines, f"2. Throughput per flow, {where}", "Mbit/s",
                  lambda p: p["mbps"], True, ("theory", lambda p: p["theory_mbps"])),
        by_number(page, lines, f"3. Reliability, {where}", "unique received / published",
                  lambda p: p["reliability"]),
        by_number(page, lines, f"4. Latency, {where}", f"mean of one-way latencies, {ms}",
                  lambda p: p["mean_ms"], True, floor, "sure_p50_ms"),
        by_number(page, lines, f"5. Jitter, {where}", f"standard deviation of latency, {ms}",
                  lambda p: p["sd_ms"], True, spread, "sure_sd_ms"),
        by_variable(page, lines, f"6. Latency by payload, {where}", "payload, bytes",
                    f"median latency, {ms}", lambda p: p["payload"], lambda p: p["p50_ms"],
                    beside=floor, sure="sure_p50_ms"),
        by_variable(page, lines, f"7. Latency by rate, {where}", "updates per entity, Hz",
                    f"median latency, {ms}", lambda p: p["rate"], lambda p: p["p50_ms"],
                    beside=floor, sure="sure_p50_ms"),
        by_variable(page, lines, f"8. Throughput of theory by payload, {where}",
                    "payload, bytes", "measured / theory", lambda p: p["payload"],
                    lambda p: p["of_theory"], False),
        by_variable(page, lines, f"9. Latency by entities, {where}", "entities per publisher",
                    f"90 % of latencies are less, {ms}", lambda p: p["entities"],
                    lambda p: p["p90_ms"], beside=floor, sure="sure_p50_ms"),
        by_variable(page, lines, f"10. CPU by offered load, {where}", "updates per publisher, Hz",
                    "CPUs of a publisher", lambda p: p["entities"] * p["rate"],
                    lambda p: p["sender_cpu"], False),
    ]  # fmt: skip


def by_place(page: Page, found: list[dict]) -> list[str]:
    """These of every topology and kind of sites."""
    body = []
    for topology, profile in dict.fromkeys((p["topology"], p["profile"]) for p in found):
        lines: Lines = {}
        for p in sorted(found, key=lambda p: p["configuration"]):
            if (p["topology"], p["profile"]) == (topology, profile):
                lines.setdefault(p["carrier"], []).append(p)
        body.append(f"<h2>{escape(where := f'{topology}, {profile}')}</h2>")
        body.append(plots(nine(page, lines, where)))
    return body
