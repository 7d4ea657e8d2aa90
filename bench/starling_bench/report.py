"""The report: one self-contained HTML file, plots as inline SVG, nothing from the network."""

import io
import re
from collections.abc import Callable
from html import escape

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from . import idle
from .store import Store, cannot_write

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
    }
)

_STYLE = """
:root{color-scheme:light}
body{font:15px/1.5 system-ui,sans-serif;max-width:1300px;margin:2em auto;padding:0 1em}
h1{font-size:1.6em;margin-bottom:.2em}h2{margin-top:2em;border-bottom:1px solid #ccd3dc}
table{border-collapse:collapse;font-size:13px;margin:.8em 0;display:block;overflow-x:auto}
th,td{padding:.25em .6em;border-bottom:1px solid #e3e8ee;text-align:right;white-space:nowrap}
th{background:#f3f6f9}td.t,th.t{text-align:left}
.verdict{padding:.7em 1em;border-left:5px solid #2b8a3e;background:#ebf7ee;font-weight:600}
.verdict.bad{border-color:#c92a2a;background:#fdecec}
.note{padding:.5em 1em;border-left:5px solid #e8a200;background:#fff7e0}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:1em}
.plots svg{width:100%;height:auto}
pre{background:#f6f8fa;padding:1em;overflow-x:auto;font-size:12px}
.lost{color:#c92a2a;font-weight:600}
"""


def label(s: dict) -> str:
    """A series: test kind and transport."""
    return f"{s['kind']} {s['transport'].replace('_', ' ')}"


def write(store: Store, summaries: list[dict], notes: list[str]) -> None:
    """Writes report.html into the store's directory."""
    latency = [s for s in summaries if s["rtt_ms"]]
    throughput = [s for s in summaries if s["kind"] in ("OWOT", "OWIT")]
    body = [
        "<h1>RTIBM report</h1>",
        f"<p>{escape(store.run['tsf'])}, {escape(store.run['started'])}, "
        f"{escape(', '.join(versions(store)))}</p>",
        _verdict(store, summaries),
        *[f'<p class="note">{escape(note)}</p>' for note in [*notes, *busy(store)]],
    ]
    if latency:
        body += ["<h2>Round trip, times in ms</h2>", latency_table(latency), '<div class="plots">',
                 *latency_plots(store, latency), "</div>"]  # fmt: skip
    if throughput:
        body += ["<h2>One-way throughput</h2>", throughput_table(throughput),
                 '<div class="plots">', *throughput_plots(throughput), "</div>"]  # fmt: skip
    if store.rows:
        body += ["<h2>Over time</h2>", '<div class="plots">', *series_plots(store), "</div>"]
    body += [
        "<h2>How this was measured</h2>",
        "<p>Federates work in pairs, each talking only with itself. RTOL and RTIL: round trip of "
        "object attributes and of interactions; OWOT and OWIT: one-way throughput of the same. "
        "Types, instances, buffers and bytes are those of one sender. Round trip: time stamps "
        "of the sender's monotonic clock, taken before the update is queued and again in the "
        "callback that returns it. Throughput: arrivals between the first and the last callback, "
        "on the receiver's clock. The mean is the mean of the sample means, its interval a 95 % "
        "bootstrap over the samples; the deviation is that of all round trips. Sent = received + "
        "lost; late stragglers of an earlier sample are not counted as received. Hz is not "
        "1/round trip when several round trips are under way.</p>",
        "<h2>Machine</h2>", _pairs(store.run["machine"]),
        "<h2>Test sequence file</h2>", f"<pre>{escape(store.run['tsf_text'])}</pre>",
    ]  # fmt: skip
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>RTIBM report</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )
    path = store.directory / "report.html"
    try:
        path.write_text(html, encoding="utf-8")
    except OSError as e:
        raise cannot_write(path, e) from None


def versions(store: Store) -> list[str]:
    """The RTIs that ran."""
    return list(dict.fromkeys(e["rti"] for e in store.run["executions"] if e.get("rti")))


def busy(store: Store) -> list[str]:
    """A warning if other programs were running during the samples."""
    return idle.note([row["others_cpu"] for row in store.rows])


def _verdict(store: Store, summaries: list[dict]) -> str:
    failures = [e for e in store.run["executions"] if e["state"] != "done"]
    sent = sum(s["sent"] for s in summaries)
    lost = sum(s["lost"] for s in summaries)
    reliable = sum(s["lost"] for s in summaries if s["transport"] == "reliable")
    text = f"{len(summaries)} tests, {sent:,} messages sent, {lost:,} lost"
    text += f", {reliable:,} of them reliable." if lost else "."
    for f in failures:
        text += f" Execution {f['sequence']}/{f['execution']} {f['state']}: {f['message']}"
    bad = ' class="verdict bad"' if failures or reliable else ' class="verdict"'
    return f"<p{bad}>{escape(text)}</p>"


def _pairs(values: dict) -> str:
    rows = (
        f'<tr><th class="t">{escape(str(k))}</th><td class="t">{escape(str(v))}</td></tr>'
        for k, v in values.items()
    )
    return f"<table>{''.join(rows)}</table>"


def _table(head: list[str], rows: list[list[str]], texts: int) -> str:
    def cells(tag: str, row: list[str]) -> str:
        return "".join(
            f"<{tag}{' class=t' if i < texts else ''}>{c}</{tag}>" for i, c in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', head)}</tr>{body}</table>"


_SETUP: dict[str, Callable[[dict], str]] = {
    "execution": lambda s: escape(s["execution"]),
    "test": lambda s: label(s),
    "pair": lambda s: f"{s['sender']} → {s['receiver']}",
    "loop": lambda s: f"V{s['loop']}",
    "types x instances": lambda s: f"{s['types']} x {s['instances']}",
    "buffers x bytes": lambda s: f"{s['buffers']} x {s['bytes']}",
}


def _with_setup(summaries: list[dict], head: list[str], rows: list[list[str]]) -> str:
    """A table with what differs between tests in front; what all share stands above it."""
    setups = [{key: text(s) for key, text in _SETUP.items()} for s in summaries]
    differs = [
        key
        for key in _SETUP
        if key in ("test", "buffers x bytes") or len({s[key] for s in setups}) > 1
    ]
    shared = "; ".join(f"{key} {setups[0][key]}" for key in _SETUP if key not in differs)
    rows = [
        [*[setup[key] for key in differs], *row] for setup, row in zip(setups, rows, strict=True)
    ]
    above = f"<p>All: {shared}.</p>" if shared else ""
    return above + _table([*differs, *head], rows, len(differs))


def _counts(s: dict) -> list[str]:
    lost = f'<span class="lost">{s["lost"]:,}</span>' if s["lost"] else "0"
    return [f"{s['sent']:,}", f"{s['received']:,}", lost]


def latency_table(summaries: list[dict]) -> str:
    """Round trips with percentiles."""
    head = ["mean", "95 % interval", "sd", "min", "mode", "p50", "p90", "p99", "p99.9",
            "p99.99", "max", "Hz", "sent", "received", "lost"]  # fmt: skip
    rows = []
    for s in summaries:
        r = s["rtt_ms"]
        figures = [r["sd"], r["min"], r["mode"], *r["percentiles"].values(), r["max"]]
        rows.append(
            [f"<b>{_ms(r['mean'])}</b>", f"{_ms(r['mean_low'])} - {_ms(r['mean_high'])}",
             *[_ms(v) for v in figures], f"{s['rate_hz']['mean']:,.0f}", *_counts(s)]
        )  # fmt: skip
    return _with_setup(summaries, head, rows)


def _ms(value: float) -> str:
    """Three digits that count; no more than a microsecond's fraction."""
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def throughput_table(summaries: list[dict]) -> str:
    """Updates and megabytes per second."""
    head = ["updates/s", "95 % interval", "sd", "min", "max", "MB/s", "sent", "received", "lost"]
    rows = []
    for s in summaries:
        r = s["rate_hz"]
        rows.append(
            [f"<b>{r['mean']:,.0f}</b>", f"{r['low']:,.0f} - {r['high']:,.0f}",
             f"{r['sd']:,.0f}", f"{r['min']:,.0f}", f"{r['max']:,.0f}",
             f"{s['mb_per_s']['mean']:,.1f}", *_counts(s)]
        )  # fmt: skip
    return _with_setup(summaries, head, rows)


def _svg(figure: plt.Figure, serial: list[int]) -> str:
    out = io.StringIO()
    figure.tight_layout()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    # Ids are unique in the page; namespace declarations need no address in HTML.
    serial[0] += 1
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>f{serial[0]}_", svg)
    return re.sub(r' (xmlns|xmlns:xlink|version)="[^"]*"', "", svg).replace("xlink:href", "href")


_serial = [0]
_PLAIN = FuncFormatter(lambda v, _: f"{v:,.10g}")


def _series(summaries: list[dict]) -> dict[str, list[dict]]:
    out: dict[str, list[dict]] = {}
    several = len({(s["execution"], s["pair"]) for s in summaries}) > 1
    for s in summaries:
        name = label(s)
        if several:
            name += f" {s['execution']} pair {s['pair']}"
        out.setdefault(name, []).append(s)
    return out


def _by_bytes(summaries: list[dict], title: str, unit: str, low_value_high) -> str:
    figure, axes = plt.subplots(figsize=(6.2, 4))
    for name, group in _series(summaries).items():
        group = sorted(group, key=lambda s: s["bytes"] * s["buffers"])
        x = [s["bytes"] * s["buffers"] for s in group]
        low, y, high = np.array([low_value_high(s) for s in group]).T
        error = [np.maximum(y - low, 0), np.maximum(high - y, 0)]
        style = "--" if "best" in name else "-"
        axes.errorbar(x, y, yerr=error, marker="o", ms=4, capsize=3, ls=style, label=name)
    axes.set(xscale="log", title=title, xlabel="bytes per update", ylabel=unit)
    sizes = sorted({s["bytes"] * s["buffers"] for s in summaries})
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.yaxis.set_major_formatter(_PLAIN)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    return _svg(figure, _serial)


def latency_plots(store: Store, summaries: list[dict]) -> list[str]:
    """Mean and frequency by size, percentiles and distribution per size."""

    def mean(s: dict) -> tuple[float, float, float]:
        r = s["rtt_ms"]
        return r["mean_low"], r["mean"], r["mean_high"]

    plots = [
        _by_bytes(summaries, "Mean round trip", "ms", mean),
        _by_bytes(summaries, "Update frequency", "Hz", _rate),
    ]
    for size in sorted({s["bytes"] for s in summaries}):
        of_size = [s for s in summaries if s["bytes"] == size]
        plots += [_percentile_plot(store, of_size, size), _cdf_plot(store, of_size, size)]
    return plots


def _rate(s: dict) -> tuple[float, float, float]:
    r = s["rate_hz"]
    return r["low"], r["mean"], r["high"]


def _sorted_ms(store: Store, s: dict) -> np.ndarray:
    samples = store.round_trips(s["sequence"], s["execution"], s["test"], s["pair"])
    return np.sort(np.concatenate(samples)) / 1e6


def _percentile_plot(store: Store, summaries: list[dict], size: int) -> str:
    figure, axes = plt.subplots(figsize=(6.2, 4))
    nines = 1.0
    for name, group in _series(summaries).items():
        values = _sorted_ms(store, group[0])
        nines = max(nines, np.log10(len(values)))
        x = np.linspace(0, np.log10(len(values)), 300)
        rank = np.ceil(np.round((1 - 10**-x) * len(values), 9)).astype(int)
        style = "--" if "best" in name else "-"
        axes.plot(x, values[np.clip(rank, 1, len(values)) - 1], label=name, ls=style)
    ticks = [t for t in (np.log10(2), 1, 2, 3, 4, 5) if t <= nines + 0.01]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * (1 - 10**-v):.6g} %"))
    axes.set(title=f"Round trip by percentile, {size:,} bytes", ylabel="ms", yscale="log",
             xlabel="percentile")  # fmt: skip
    axes.yaxis.set_major_formatter(_PLAIN)
    axes.legend(fontsize=8)
    return _svg(figure, _serial)


def _cdf_plot(store: Store, summaries: list[dict], size: int) -> str:
    figure, axes = plt.subplots(figsize=(6.2, 4))
    for name, group in _series(summaries).items():
        values = _sorted_ms(store, group[0])
        share = np.linspace(0, 1, 300)
        picked = values[np.minimum((share * len(values)).astype(int), len(values) - 1)]
        axes.plot(picked, share * 100, label=name, ls="--" if "best" in name else "-")
    axes.set(title=f"Distribution of round trips, {size:,} bytes", xlabel="ms", xscale="log",
             ylabel="% of round trips")  # fmt: skip
    axes.xaxis.set_major_formatter(_PLAIN)
    axes.legend(fontsize=8)
    return _svg(figure, _serial)


def throughput_plots(summaries: list[dict]) -> list[str]:
    """Updates per second and MB/s by size."""

    def megabytes(s: dict) -> tuple[float, float, float]:
        r = s["mb_per_s"]
        return r["low"], r["mean"], r["high"]

    return [
        _by_bytes(summaries, "Updates per second", "updates/s", _rate),
        _by_bytes(summaries, "Megabytes per second", "MB/s", megabytes),
    ]


def series_plots(store: Store) -> list[str]:
    """Each sample in its order: oscillation and drift show here."""
    plots = []
    for title, unit, key, kinds in (
        ("Round trip, each sample", "mean ms", "rtt_mean_ms", ("RTOL", "RTIL")),
        ("Throughput, each sample", "updates/s", "rate_hz", ("OWOT", "OWIT")),
    ):
        rows = [r for r in store.rows if r["kind"] in kinds]
        if not rows:
            continue
        figure, axes = plt.subplots(figsize=(6.2, 4))
        groups: dict[str, list[tuple[int, float]]] = {}
        for i, row in enumerate(rows):
            groups.setdefault(label(row), []).append((i + 1, row[key]))
        for name, points in groups.items():
            axes.plot(*zip(*points, strict=True), ".", label=name)
        axes.set(title=title, xlabel="sample, in order of measurement", ylabel=unit)
        axes.yaxis.set_major_formatter(_PLAIN)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        plots.append(_svg(figure, _serial))
    return plots
