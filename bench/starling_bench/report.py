"""The report: one self-contained HTML file, figures as inline SVG, nothing from the network. Each
figure is also written to figures/ as SVG and PNG."""

import io
import re
from collections.abc import Callable, Iterable
from html import escape

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from . import idle, variables
from .errors import cannot
from .store import Store
from .variables import label

# Okabe and Ito's colours, distinct for the colour-blind; the marker tells lines apart without any.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#888888")
_MARKERS = "osD^vPX*<>hp"
# More than these make a page too heavy; the tables have them all.
_DISTRIBUTIONS_MAX = 40
plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "starling",
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "lines.linewidth": 1.6,
        "figure.figsize": (6.4, 4),
        "figure.facecolor": "white",
    }
)

_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:1300px;margin:2em auto;padding:0 1em}
h1{font-size:1.6em;margin-bottom:.2em}h2{margin-top:2em;border-bottom:1px solid #8884}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:13px;margin:.8em 0}
th,td{padding:.25em .6em;border-bottom:1px solid #8884;text-align:right;white-space:nowrap}
th{background:#8881}td.t,th.t{text-align:left}
.verdict{padding:.7em 1em;border-left:5px solid #2b8a3e;background:#2b8a3e1a;font-weight:600}
.verdict.bad{border-color:#c92a2a;background:#c92a2a1a}
.note{padding:.5em 1em;border-left:5px solid #e8a200;background:#e8a2001a}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:1em}
figure{margin:0;max-width:640px}figcaption{font-size:13px}
figure svg{width:100%;height:auto;background:#fff;color:#000}
pre{background:#8881;padding:1em;overflow-x:auto;font-size:12px}
td.setting{white-space:normal;overflow-wrap:anywhere}
.lost{color:#e03131;font-weight:600}
@media print{@page{size:A4 landscape;margin:1cm}body{margin:0;font-size:11px}
.scroll{overflow:visible}table{font-size:7.5px}th,td{padding:.15em .3em}
figure,tr{break-inside:avoid}details>*{display:block}}
"""


def write(store: Store, summaries: list[dict]) -> None:
    """Writes report.html and the figures into the store's directory."""
    page = _Page(store)
    latency = [s for s in summaries if s["rtt_ms"]]
    throughput = [s for s in summaries if s["kind"] in ("OWOT", "OWIT")]
    run = store.run
    body = [
        "<h1>RTIBM report</h1>",
        f"<p>{escape(run['tsf'])}, {escape(run['started'])}, "
        f"{escape(', '.join(versions(store)))}</p>",
        _verdict(store, summaries),
        *[f'<p class="note">{escape(note)}</p>' for note in [*run["notes"], *busy(store)]],
    ]
    if latency:
        body += ["<h2>Round trip, times in ms</h2>", latency_table(latency),
                 _plots(latency_plots(page, latency))]  # fmt: skip
    if throughput:
        body += ["<h2>One-way throughput</h2>", throughput_table(throughput),
                 _plots(throughput_plots(page, throughput))]  # fmt: skip
    if latency:
        body += ["<h2>Percentiles and distribution by test</h2>", *distributions(page, latency)]
    if store.rows:
        body += ["<h2>Every sample over time</h2>", _plots(series_plots(page))]
    body += [
        "<h2>How this was measured</h2>",
        f"<p>{_METHOD}</p>",
        "<h2>Machine</h2>", _pairs(run["machine"]),
        "<h2>Test sequence file</h2>", f"<pre>{escape(run['tsf_text'])}</pre>",
    ]  # fmt: skip
    store.write(
        "report.html",
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>RTIBM report</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n",
    )


_METHOD = (
    "Federates work in pairs, each talking only with itself. RTOL and RTIL: round trip of object "
    "attributes and of interactions; OWOT and OWIT: one-way throughput of the same. Types, "
    "instances, buffers and bytes are those of one sender. Round trip: time stamps of the sender's "
    "monotonic clock, taken before the update is queued and again in the callback that returns it; "
    "unlike the published loop, the returnee flushes its returns at once. Throughput: arrivals "
    "between the first and the last callback, on the receiver's clock. The mean is the mean of the "
    "sample means, its interval is Student's t over the sample means (95 %); the deviation is that "
    "of all round trips. A percentile p stands only where there are at least 10/(1-p) values. Sent "
    "= received + lost; stragglers of an earlier sample (late) and what came twice (doubled) are "
    "not counted as received. Hz is not 1/round trip when several round trips are under way. "
    "Loops V1 and V3 with unlimited round trips under way wait up to the tick's maximum after each "
    "flush: where such a figure is close to that maximum it is the tick's, not the RTI's."
)


def versions(store: Store) -> list[str]:
    """The RTIs that ran."""
    return list(dict.fromkeys(e["rti"] for e in store.run["executions"] if e.get("rti")))


def busy(store: Store) -> list[str]:
    """A warning if other programs were running during the samples."""
    return idle.note([row["others_cpu"] for row in store.rows])


def _verdict(store: Store, summaries: list[dict]) -> str:
    failures = [e for e in store.run["executions"] if e["state"] != "done"]
    problems = [(e, n, m) for e in store.run["executions"] for n, m in e["problems"].items()]
    sent = sum(s["sent"] for s in summaries)
    lost = sum(s["lost"] for s in summaries)
    reliable = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    text = f"{len(summaries)} tests, {sent:,} messages sent, {lost:,} lost"
    text += f", {reliable:,} of them reliable." if lost else "."
    for f in failures:
        text += f" Execution {f['sequence']}/{f['execution']} {f['state']}: {f['message']}"
    for e, number, message in problems:
        text += f" {e['sequence']}/{e['execution']}, test {number}: {message}."
    bad = ' class="verdict bad"' if failures or reliable or problems else ' class="verdict"'
    return f"<p{bad}>{escape(text)}</p>" + _fastest(summaries)


def _fastest(summaries: list[dict]) -> str:
    """Where several RTIs ran the same test: which had the better mean."""
    lines = []
    for title, group in variables.alike(summaries).items():
        if len({_ran(s) for s in group}) < 2:
            continue
        if all(s["rtt_ms"] for s in group):
            best = min(group, key=lambda s: s["rtt_ms"]["mean"])
            figure = f"{_ms(best['rtt_ms']['mean'])} ms"
        else:
            best = max(group, key=lambda s: s["rate_hz"]["mean"])
            figure = f"{best['rate_hz']['mean']:,.0f} updates/s"
        lines.append(f"<li>{escape(title)}: {escape(_ran(best))}, {figure}</li>")
    return f"<p>Best mean per test:</p><ul>{''.join(lines)}</ul>" if lines else ""


def _ran(s: dict) -> str:
    """On what a test ran: the sequence, and the RTI's own name."""
    return f"{s['sequence']} ({s['rti']})" if s["rti"] else s["sequence"]


# ---- tables


def _pairs(values: dict) -> str:
    rows = (
        f'<tr><th class="t">{escape(str(k))}</th><td class="t setting">{escape(str(v))}</td></tr>'
        for k, v in values.items()
    )
    return f'<div class="scroll"><table>{"".join(rows)}</table></div>'


def _with_setup(summaries: list[dict], head: list[str], rows: list[list[str]]) -> str:
    """A table with what differs between tests in front; what all share stands above it."""
    shared, setups = variables.setups(summaries)
    above = "; ".join(f"{escape(k)} {escape(v)}" for k, v in shared.items())
    titles = list(setups[0])

    def line(tag: str, texts: Iterable[str], figures: list[str]) -> str:
        cells = [f'<{tag} class="t">{escape(t)}</{tag}>' for t in texts]
        return f"<tr>{''.join(cells)}{''.join(f'<{tag}>{f}</{tag}>' for f in figures)}</tr>"

    lines = [line("th", titles, head)]
    lines += [line("td", s.values(), row) for s, row in zip(setups, rows, strict=True)]
    table = f'<div class="scroll"><table>{"".join(lines)}</table></div>'
    return (f"<p>All: {above}.</p>" if above else "") + table


def _counts(s: dict) -> list[str]:
    """Right behind the setup: who scrolls no further has seen what was lost."""
    lost = f'<span class="lost">{s["lost"]:,}</span>' if s["lost"] else "0"
    return [f"{s['sent']:,}", f"{s['received']:,}", lost, f"{s['late']:,}"]


_COUNTS = ["sent", "received", "lost", "late"]


def latency_table(summaries: list[dict]) -> str:
    """Round trips with percentiles."""
    head = [*_COUNTS, "mean", "95 % interval", "Hz", "sd", "min", "mode", "p50", "p90", "p99",
            "p99.9", "p99.99", "max"]  # fmt: skip
    rows = []
    for s in summaries:
        r = s["rtt_ms"]
        figures = [r["sd"], r["min"], r["mode"], *r["percentiles"].values(), r["max"]]
        rows.append(
            [*_counts(s), f"<b>{_ms(r['mean'])}</b>", _range(r["mean_low"], r["mean_high"], _ms),
             f"{s['rate_hz']['mean']:,.0f}", *[_ms(v) for v in figures]]
        )  # fmt: skip
    return _with_setup(summaries, head, rows)


def _ms(value: float | None) -> str:
    """Three digits that count; no more than a microsecond's fraction."""
    if value is None:
        return "-"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _range(low: float | None, high: float | None, text: Callable[[float | None], str]) -> str:
    return "-" if low is None else f"{text(low)} - {text(high)}"


def throughput_table(summaries: list[dict]) -> str:
    """Updates and megabytes per second."""
    head = [*_COUNTS, "updates/s", "95 % interval", "MB/s", "sd", "min", "max"]
    rows = []
    for s in summaries:
        r = s["rate_hz"]
        rows.append(
            [*_counts(s), f"<b>{r['mean']:,.0f}</b>", _range(r["low"], r["high"], _whole),
             f"{s['mb_per_s']['mean']:,.1f}", *[_whole(r[k]) for k in ("sd", "min", "max")]]
        )  # fmt: skip
    return _with_setup(summaries, head, rows)


# ---- figures


class _Page:
    """The figures of one report."""

    def __init__(self, store: Store) -> None:
        self.store, self.count = store, 0

    def figure(self, figure: plt.Figure, caption: str) -> str:
        """As HTML, and as files."""
        self.count += 1
        out = io.StringIO()
        directory = self.store.directory / "figures"
        figure.subplots_adjust(left=0.13, right=0.97, top=0.91, bottom=0.14, wspace=0.25)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        svg = out.getvalue()
        try:
            directory.mkdir(exist_ok=True)
            (directory / f"{self.count:03}.svg").write_text(svg, encoding="utf-8")
            figure.savefig(directory / f"{self.count:03}.png", dpi=100)
        except OSError as e:
            raise cannot("write a figure", e, directory) from None
        finally:
            plt.close(figure)
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
        # Ids are unique in the page; namespace declarations need no address in HTML.
        svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>f{self.count}_", svg)
        svg = re.sub(r' (xmlns|xmlns:xlink|version)="[^"]*"', "", svg).replace("xlink:", "")
        return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _plots(plots: list[str]) -> str:
    return f'<div class="plots">{"".join(plots)}</div>'


_PLAIN = FuncFormatter(lambda v, _: f"{v:,.10g}")


def _style(index: int) -> dict:
    return {"color": _COLOURS[index % len(_COLOURS)], "marker": _MARKERS[index % len(_MARKERS)]}


def _legend(axes: plt.Axes, lines: int) -> None:
    axes.legend(fontsize=7 if lines > 6 else 8, ncols=1 + (lines > 10))


def _curve(page: _Page, curve: variables.Curve, title: str, unit: str, low_mean_high) -> str:
    figure, axes = plt.subplots()
    for index, (name, points) in enumerate(curve.lines.items()):
        x = [curve.variable.value(s) for s in points]
        low, y, high = np.array([low_mean_high(s) for s in points], dtype=float).T
        error = np.nan_to_num([np.maximum(y - low, 0), np.maximum(high - y, 0)])
        bars = axes.errorbar(x, y, yerr=error, ms=5, capsize=3, label=name, **_style(index))
        bars[0].set_gid(f"line-{index}")
    values = sorted({curve.variable.value(s) for p in curve.lines.values() for s in p})
    if min(values) > 0:
        axes.set_xscale("log")
    axes.set(title=f"{title} by {curve.variable.title}", xlabel=curve.variable.title, ylabel=unit)
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(_PLAIN)
    axes.yaxis.set_major_formatter(_PLAIN)
    axes.set_ylim(bottom=0)
    _legend(axes, len(curve.lines))
    held = ", ".join(f"{k} {v}" for k, v in curve.held.items() if k not in ("tick min s",))
    caption = f"Held: {held}."
    if curve.left_out:
        caption += f" {curve.left_out} tests at other values are not in this figure."
    return page.figure(figure, caption)


def latency_plots(page: _Page, summaries: list[dict]) -> list[str]:
    """Mean and frequency, a figure per variable."""

    def mean(s: dict) -> tuple:
        r = s["rtt_ms"]
        return r["mean_low"], r["mean"], r["mean_high"]

    return [
        _curve(page, curve, *what)
        for curve in variables.curves(summaries)
        for what in (("Mean round trip", "ms", mean), ("Update frequency", "Hz", _rate))
    ]


def _rate(s: dict) -> tuple:
    r = s["rate_hz"]
    return r["low"], r["mean"], r["high"]


def throughput_plots(page: _Page, summaries: list[dict]) -> list[str]:
    """Updates per second and MB/s, a figure per variable."""

    def megabytes(s: dict) -> tuple:
        r = s["mb_per_s"]
        return r["low"], r["mean"], r["high"]

    return [
        _curve(page, curve, *what)
        for curve in variables.curves(summaries)
        for what in (
            ("Updates per second", "updates/s", _rate),
            ("Megabytes per second", "MB/s", megabytes),
        )
    ]


def distributions(page: _Page, summaries: list[dict]) -> list[str]:
    """Percentiles and distribution of each test, the RTIs and pairs that ran it side by side."""
    groups = list(variables.alike(summaries).items())
    out = []
    for title, group in groups[:_DISTRIBUTIONS_MAX]:
        names = [v for v in variables.differing(group) if v.line]
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
        nines = 1.0
        for index, s in enumerate(group):
            values = _sorted_ms(page.store, s)
            style = _style(index) | {"markevery": 20, "ms": 4}
            name = variables.name_of(s, names)
            nines = max(nines, np.log10(len(values)))
            x = np.linspace(0, np.log10(len(values)), 120)
            rank = np.ceil(np.round((1 - 10**-x) * len(values), 9)).astype(int)
            left.plot(x, values[np.clip(rank, 1, len(values)) - 1], label=name, **style)
            share = np.linspace(0, 1, 120)
            picked = values[np.minimum((share * len(values)).astype(int), len(values) - 1)]
            right.plot(picked, share * 100, label=name, **style)
        ticks = [t for t in (np.log10(2), 1, 2, 3, 4, 5) if t <= nines + 0.01]
        left.xaxis.set_major_locator(FixedLocator(ticks))
        left.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * (1 - 10**-v):.6g} %"))
        left.set(title="Round trip by percentile", ylabel="ms", xlabel="percentile", yscale="log")
        left.yaxis.set_major_formatter(_PLAIN)
        right.set(title="Distribution", xlabel="ms", ylabel="% of round trips", xscale="log")
        right.xaxis.set_major_formatter(_PLAIN)
        _legend(left, len(group))
        opened = " open" if not out else ""
        plot = page.figure(figure, title).replace("<figure", '<figure style="max-width:1000px"', 1)
        out.append(f"<details{opened}><summary>{escape(title)}</summary>{plot}</details>")
    if more := len(groups) - len(out):
        out.append(f"<p>{more} further tests: their percentiles stand in the table.</p>")
    return out


def _sorted_ms(store: Store, s: dict) -> np.ndarray:
    samples = store.round_trips(s["sequence"], s["execution"], s["test"], s["pair"])
    return np.sort(np.concatenate(samples)).astype(float) / 1e6


def series_plots(page: _Page) -> list[str]:
    """Each sample in its order: oscillation and drift show here."""
    plots = []
    store = page.store
    rti = {(e["sequence"], e["execution"]): e["rti"] for e in store.run["executions"]}
    several = len({r["sequence"] for r in store.rows}) > 1
    for title, unit, key, kinds in (
        ("Round trip, each sample", "mean ms", "rtt_mean_ms", ("RTOL", "RTIL")),
        ("Throughput, each sample", "updates/s", "rate_hz", ("OWOT", "OWIT")),
    ):
        groups: dict[str, list[tuple[int, float]]] = {}
        for i, row in enumerate(r for r in store.rows if r["kind"] in kinds):
            name = f"{row['sequence']}, {label(row)}" if several else label(row)
            if row[key] is not None:
                groups.setdefault(name, []).append((i + 1, row[key]))
        if not groups:
            continue
        figure, axes = plt.subplots()
        for index, (name, points) in enumerate(groups.items()):
            axes.plot(*zip(*points, strict=True), ls="", ms=4, label=name, **_style(index))
        axes.set(title=title, xlabel="sample, in order of measurement", ylabel=unit)
        axes.yaxis.set_major_formatter(_PLAIN)
        axes.set_ylim(bottom=0)
        _legend(axes, len(groups))
        names = {r for r in rti.values() if r}
        plots.append(page.figure(figure, "RTI: " + ", ".join(sorted(names)) if names else ""))
    return plots
