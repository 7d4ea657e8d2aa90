"""The report: one self-contained HTML file, figures as inline SVG, nothing from the network. Each
figure is also written to figures/ as SVG and PNG. What stands in it is the study's.
"""

import contextlib
import errno
import io
import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from html import escape

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter

from . import anova, svg
from .differences import in_order, key_of, on, sample_values
from .errors import cannot
from .outside import fresh_file
from .parts import STYLE, part, with_contents
from .store import Store
from .study import Study
from .variables import Variable, Variables

# Okabe and Ito's colours, distinct for the colour-blind, but for their yellow, which white hides.
# The marker tells lines apart without any.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#5d3a1a")
# Their number and that of the colours have no common divisor, so 88 lines all look different.
MARKERS = "osD^vPX*<>p"
# More than these make a page too heavy; the tables have them all.
_DISTRIBUTIONS_MAX = 10
# Parts with more lines are folded.
_LONG = 20
# What a figure has across, in pixels of a page.
_COLUMNS = 500
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

# A table that is wider than the window scrolls inside itself; a shadow at its edge says on which
# side there is more: what is painted over that moves with the table.
_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:1300px;margin:2em auto;padding:0 1em}
h1{font-size:1.6em;margin-bottom:.2em}h2{margin-top:2em;border-bottom:1px solid #8884}
.scroll{overflow-x:auto;max-width:100%;background:
linear-gradient(to right,Canvas 30%,transparent)left/36px 100% no-repeat local,
linear-gradient(to left,Canvas 30%,transparent)right/36px 100% no-repeat local,
linear-gradient(to right,#888,transparent)left/14px 100% no-repeat,
linear-gradient(to left,#888,transparent)right/14px 100% no-repeat}
table{border-collapse:collapse;font-size:13px;margin:.8em 0}
th,td{padding:.25em .6em;border-bottom:1px solid #8884;text-align:right;white-space:nowrap}
th{background:#8881;white-space:normal}td.t,th.t,.t td,.t th{text-align:left}
.verdict{padding:.7em 1em;border-left:5px solid #2b8a3e;background:#2b8a3e1a;font-weight:600}
.verdict.unfit{border-color:#e8a200;background:#e8a2001a}
.verdict.bad{border-color:#c92a2a;background:#c92a2a1a}
.note{padding:.5em 1em;border-left:5px solid #e8a200;background:#e8a2001a}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:1em}
figure{margin:0;max-width:640px}figcaption{font-size:13px}
figure svg{width:100%;height:auto;background:#fff;color:#000}
pre{background:#8881;padding:1em;overflow-x:auto;font-size:12px}
td.said{white-space:normal;min-width:4em}td.setting{white-space:normal;overflow-wrap:anywhere}
.tests td.t{white-space:normal}.tests{font-size:12px}.tests th,.tests td{padding:.25em .4em}
.lost{color:#e03131;font-weight:600}.doubt{color:#888;font-style:italic}
@media print{@page{size:A4 landscape;margin:1cm}body{margin:0;font-size:11px}
.scroll{overflow:visible;background:none}table,.tests{font-size:7.5px}
th,td,.tests th,.tests td{padding:.15em .3em}
th,td.t,.t td{white-space:normal;overflow-wrap:anywhere}
figure,tr{break-inside:avoid}}
"""


GOES_ON = (
    '<p class="note">The run goes on: these are the tests that are done. Figures and comparisons '
    "come when it ends.</p>"
)


def write(store: Store, title: str, body: list[str]) -> None:
    """Writes report.html into the store's directory: the study's part, then what every report
    has."""
    run = store.run
    begin = (
        f"<h1>{escape(title)}</h1>"
        f"<p>{escape(', '.join(filter(None, [run.get('tsf'), run['started'], *versions(store)])))}"
        "</p>"
    )
    every = [
        *body,
        "<h2>Machine</h2>", pairs_table(run["machine"] | _clock(store) | _manager(store)),
        *_libraries(store), *_hosts(store),
    ]  # fmt: skip
    if "tsf_text" in run:
        every.append(part("Test sequence file", f"<pre>{escape(run['tsf_text'])}</pre>", True))
    text, sheet = svg.compact("".join(every))
    text, contents = with_contents(text)
    store.write(
        "report.html",
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{STYLE}{sheet}</style></head>"
        f"<body>{begin}{contents}{text}</body></html>\n",
    )


def versions(store: Store) -> list[str]:
    """The RTIs that ran."""
    return list(dict.fromkeys(e["rti"] for e in store.run["executions"] if e.get("rti")))


def verdict(store: Store, text: str, bad: bool) -> str:
    """The first paragraph: counts, whether the machine was fit for them, then what failed or ended
    early. Green is what is good on a machine that was fit."""
    failures = [e for e in store.run["executions"] if e["state"] != "done"]
    problems = [(e, n, m) for e in store.run["executions"] for n, m in e["problems"].items()]
    machine = store.fitness()
    text += f" {machine.said}" * bool(machine.said)
    for f in failures:
        text += f" Execution {f['sequence']}/{f['execution']} {f['state']}: {f['message']}"
    for e, number, message in problems:
        text += f" {e['sequence']}/{e['execution']}, test {number}: {message}."
    state = " bad" if failures or problems or bad else "" if machine.fit else " unfit"
    return f'<p class="verdict{state}">{escape(text)}</p>'


def notes(store: Store) -> list[str]:
    """What a reader must know before the figures."""
    return [
        f'<p class="note">{escape(note)}</p>'
        for note in [*store.run.get("notes", []), *store.warnings()]
    ]


def ways(summaries: list[dict], best_effort: Callable[[dict], bool]) -> list[str]:
    """By what data went between each two federates, as the RTI said while they ran; best effort
    that can't be lost there is none."""
    found: dict[tuple[str, ...], int] = {}
    for s in summaries:
        mark = "best effort by a reliable link" if best_effort(s) and s["way_reliable"] else ""
        pair = f"{s['sender']} → {s['receiver']}"
        line = (on(s), s["execution"], pair, s["way"] or "not known: nobody could be asked", mark)
        found[line] = found.get(line, 0) + 1
    head = ("RTI", "execution", "pair", "way", "", "tests")
    table = text_table(head, [(*k, str(n)) for k, n in found.items()])
    return [part("Ways that data took", table, len(found) > _LONG)]


# ---- comparisons

_ONE_AFTER_ANOTHER = (
    "Not all tests were run to and fro: what drifted between them counts as a difference."
)
_TO_AND_FRO = "All were run to and fro, in rounds; each round's mean is one value."
_APART = (
    "A sequence's executions were run to and fro, in rounds, and each round's mean is one value; "
    "but sequences of different tables of the file were run one after the other: what drifted "
    "between those counts as a difference."
)
_ANALYSED = (
    "Of the logarithms of the samples' means or rates: how much of their squares is due to each "
    "variable, and to each two of them together (type II). What all tests of an execution share, "
    "as the RTI, is judged by how executions of one setting differ; where each setting had one, "
    "no p stands. In brackets what the design can't tell "
    "from it. Where a setting was tested several times each test's mean is one value; so it is "
    "where variables have values of their own in each test (a Latin hypercube), which is analysed "
    "by regression on their logarithms. Curvature: centre points against corners. The ratio is "
    "the second's to the first, with its 95 % interval."
)
_IN_BLOCKS = (
    "Blocks were run one after the other, and within each the executions of all RTIs, hosts and "
    "switches, in an order of its own."
)
_NO_BLOCKS = (
    "Executions that are compared were not run in blocks: what drifted between them counts as an "
    "effect of what they differ in."
)
_LEFT_OUT = "with what two variables make together: too many for these samples"


def order(store: Store) -> str:
    """Whether what is compared was run to and fro, or one after the other."""
    in_rounds = all(e.get("round_of") for e in store.run["executions"])
    return _rounds(store) if in_rounds else _ONE_AFTER_ANOTHER


def _rounds(store: Store) -> str:
    """How rounds were run, in words."""
    spans: dict[str, list[int]] = {}  # of a sequence, from which execution to which
    for number, e in enumerate(store.run["executions"]):
        spans.setdefault(e["sequence"], [number, number])[1] = number
    # One that begins behind all that began before has no turns with them.
    end = -1
    for begin, last in spans.values():
        if -1 < end < begin:
            return _APART
        end = max(end, last)
    return _TO_AND_FRO


def _factors(study: Study, group: list[dict]) -> dict:
    """The variables that tests differ in, by title. Those that change together can't be told apart:
    the first stands for all."""
    factors, partitions = {}, set()
    for v in _by_connection(study, study.variables.differing(group), group):
        levels = [v.value(s) for s in group]
        if len(set(levels) - {None}) < 2:
            continue
        partition = tuple(levels.index(level) for level in levels)
        # Numbers that are all different may still be told apart, as on a scale.
        known = partition in partitions and not v.axis
        if v.title not in ("execution", "pair") and not known:
            partitions.add(partition)
            factors[v.title] = v
    return factors


def analysis(store: Store, summaries: list[dict]) -> list[str]:
    """Which variable makes how much, where several were varied together."""
    study = store.study
    samples = in_order(study, store.samples())
    lines = []
    for title, group in study.families(summaries).items():
        # Pairs of a sample are not independent: they count once.
        every = [s for s in {key_of(s): s for s in group}.values() if samples.get(key_of(s))]
        if len(_factors(study, every)) < 2:
            continue
        doubts = Counter(filter(None, map(study.doubt, every)))
        if count := doubts.total():
            why = "; ".join(f"{n}: {doubt}" for doubt, n in doubts.most_common())
            lines.append((title, f"{count} of {len(every)} tests are left out: {why}", *[""] * 6))
        group = [s for s in every if not study.doubt(s)]
        factors = _factors(study, group)
        if len(factors) < 2:
            continue
        units = [(s, name, of) for s in group for name, of in samples[key_of(s)].items()]
        found = _analysed(study, factors, units)
        if found is None:
            lines.append((title, "not analysed: too few samples", *[""] * 6))
            continue
        for e in found.effects:
            p = "-" if e.p is None else "< 0.001" if e.p < 0.001 else f"{e.p:.3f}"
            ratio = "" if e.estimate is None else f"{np.exp(e.estimate):.3g}"
            if e.low is not None:
                ratio += " ({:.3g} to {:.3g})".format(*np.exp([e.low, e.high]))
            f = "-" if e.f is None else f"{e.f:.3g}"
            figures = (f"{e.share:.1%}", str(e.degrees), f, p)
            lines.append((title, e.title, *figures, e.step, ratio))
        whole_squares = found.residual + sum(e.sum_of_squares for e in found.effects)
        rest = found.residual / whole_squares if whole_squares else 0
        left = "the rest" if found.interactions else f"the rest ({_LEFT_OUT})"
        lines.append((title, left, f"{rest:.1%}", str(found.residual_degrees), *[""] * 4))
    if not lines:
        return []
    head = ("test", "variable", "share of squares", "degrees", "F", "p", "from, to", "ratio")
    said = f"<p>{_ANALYSED} {_order(store)}</p>"
    return [part("Analysis of variance", said + text_table(head, lines), len(lines) > _LONG)]


def _order(store: Store) -> str:
    """In which order executions were run that are compared, in words."""
    executions = store.run["executions"]
    if len({e["sequence"] for e in executions}) < 2:
        return ""
    if all(e.get("round_of") for e in executions):
        return _rounds(store)
    blocks = [store.study.block(e["execution"]) for e in executions]
    changes = sum(one != other for one, other in itertools.pairwise(blocks))
    return _IN_BLOCKS if 1 < len(set(blocks)) == changes + 1 else _NO_BLOCKS


def _by_connection(study: Study, variables: list[Variable], group: list[dict]) -> list[Variable]:
    """The variables; of the one that says what connection a test's federates need, where there are
    several: which one, which is the same in all tests of an execution, and beside it what differs
    between tests of one execution."""
    title = study.names.get(study.connection_by, study.connection_by)
    words = {study.connection(s.get("setting", {})) for s in group}
    found = []
    for v in variables:
        if v.title != title or len(words) < 2:
            found.append(v)
            continue
        values: dict[str, set] = {}
        for s in group:
            values.setdefault(study.connection(s["setting"]), set()).add(v.value(s))
        several = {word for word, of in values.items() if len(of) > 1}
        if not several:
            found.append(v)
            continue
        named = {word: "/".join(sorted(map(v.text, of))) for word, of in values.items()}
        found.append(
            Variable(f"connection by {title}",
                     lambda s, named=named: named[study.connection(s["setting"])])
        )  # fmt: skip
        found.append(
            Variable(title, lambda s, v=v, several=several: (
                v.value(s) if study.connection(s["setting"]) in several else None), v.text)
        )  # fmt: skip
    return found


def _analysed(
    study: Study, factors: dict[str, Variable], units: list[tuple[dict, object, list[float]]]
) -> anova.Analysis | None:
    """Of each test's mean in each round where tests were repeated, or values of a variable taken
    once; else, and where these are too few, of each sample. `units`: test, round, values."""
    numbers = frozenset(v.title for v in factors.values() if v.axis)
    group = [s for s, _, _ in units]
    settings = [tuple(v.value(s) for v in factors.values()) for s in group]
    logs = [np.log(v) for _, _, v in units]
    runs = [name or s["execution"] for s, name, _ in units]
    found = None
    for by_test in (True, False):
        repeated = len(set(settings)) < len(settings)
        if by_test and not repeated:
            most = max((len({v.value(s) for s in group}) for v in factors.values() if v.axis),
                       default=0)  # fmt: skip
            if most * 2 <= len(group):
                continue
        told = [
            (s, run, float(value))
            for s, run, v in zip(group, runs, logs, strict=True)
            for value in ([np.mean(v)] if by_test else v)
        ]
        levels = {t: [v.value(s) for s, _, _ in told] for t, v in factors.items()}
        blocks = [study.block(run) for _, run, _ in told]
        plots = [f"{s['sequence']}/{run}" for s, run, _ in told]
        found = anova.analyse([value for *_, value in told], levels, numbers, blocks, plots)
        if found is not None:
            break
    return found


def doubts(store: Store, summaries: list[dict]) -> list[str]:
    """Tests whose samples do not look independent."""
    samples = sample_values(store.study, store.samples())
    lines = []
    tests = {key_of(s): s for s in summaries}
    for key, s in tests.items():
        if said := anova.doubtful(samples.get(key, [])):
            lines.append((f"{s['sequence']}/{s['execution']}, test {s['test']}", said))
    executions: dict[str, list[list[float]]] = {}
    for (_, sequence, execution, _), of in in_order(store.study, store.samples()).items():
        for name, values in of.items():
            executions.setdefault(f"{sequence}/{name or execution}", []).append(values)
    untold = 0
    for where, series in executions.items():
        found = anova.drift_together(series)
        untold += found is None
        if found and found[0] < 0.01:
            way = "rising" if found[1] else "falling"
            said = f"drift of all its tests together, {way} (seasonal Kendall, p = {found[0]:.3g})"
            lines.append((where, said))
    few = sum(len(samples.get(key, ())) < anova.ORDERED_MIN for key in tests)
    if not (lines or few or untold):
        return []
    said = "<p>Intervals and comparisons take samples for independent."
    if lines:
        said += (" Here something speaks against it (each at 1 %, so one of 50 tests is named "
                 "without a reason).")  # fmt: skip
    if few:
        said += (
            f" {few} of {len(tests)} tests have fewer than {anova.ORDERED_MIN} samples (or "
            "rounds): too few to tell of each by itself."
        )
    if untold:
        of = f"{untold} of {len(executions)} executions"
        said += f" Nor can drift be told of {of}, all tests of each together."
    table = [text_table(("test, or execution", "what"), lines)] if lines else []
    return ["<h2>Samples that follow one another</h2>", f"{said}</p>", *table]


def text_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Texts in columns."""

    def line(tag: str, texts: tuple[str, ...]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(t)}</{tag}>" for t in texts) + "</tr>"

    lines = [line("th", head), *(line("td", row) for row in rows)]
    return f'<div class="scroll"><table class="t">{"".join(lines)}</table></div>'


def by_rti(
    head: tuple[str, ...], summaries: list[dict], key: Callable[[dict], tuple[str, ...]],
    cell: Callable[[dict], str], name: Callable[[dict], str] = on,
) -> str:  # fmt: skip
    """A row per key, a column per RTI, or what `name` says; several tests of one cell stand one
    behind the other."""
    columns = list(dict.fromkeys(map(name, summaries)))
    rows: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for s in summaries:
        rows.setdefault(key(s), {}).setdefault(name(s), []).append(cell(s))
    lines = [(*k, *("; ".join(by.get(c, ["-"])) for c in columns)) for k, by in rows.items()]
    return text_table((*head, *columns), lines)


# ---- tables


def _clock(store: Store) -> dict[str, str]:
    """How far a time may be wrong: the worst of all executions."""
    told = [c for e in store.run["executions"] if (c := e.get("clock"))]
    if not told:
        return {}
    step, reading = (max(c.get(key, 0) for c in told) for key in ("step_ns", "reading_ns"))
    return {
        "clock's error": f"at most {step + reading} ns a time: steps of {step} ns, a reading takes "
        f"{reading} ns; looked at every second and after each sample for jumps"
    }


def _manager(store: Store) -> dict[str, str]:
    """What conducting took of the CPUs meanwhile."""
    if not (took := store.run.get("manager")):
        return {}
    mean = took["cpu_s"] / took["samples"] * 1e3
    return {
        "manager's CPU time": f"{mean:.1f} ms within a sample, at most {took['most_s'] * 1e3:.1f}"
    }


def _libraries(store: Store) -> list[str]:
    """What was loaded: the adapter's library, and the RTI's."""
    found = {
        (e["rti"], name, checksum): None
        for e in store.run["executions"]
        for name, checksum in e.get("libraries", {}).items()
    }
    table = text_table(("RTI", "library", "SHA-256"), list(found))
    return [part("Libraries", table, True)] if found else []


def _hosts(store: Store) -> list[str]:
    """What there was to know of hosts before their first sample."""
    here = store.run.get("found")
    found: dict[str, dict] = {"this one": here} if here else {}
    for execution in store.run["executions"]:
        found = execution.get("found", {}) | found
    left_out = ("busy", "cleaned")  # they are notes
    return [
        f"<h2>Host {escape(name)}</h2>"
        + pairs_table({key: value for key, value in facts.items() if key not in left_out})
        for name, facts in found.items()
    ]


def pairs_table(values: dict) -> str:
    rows = (
        f'<tr><th class="t">{escape(str(k))}</th><td class="t setting">{escape(str(v))}</td></tr>'
        for k, v in values.items()
    )
    return f'<div class="scroll"><table>{"".join(rows)}</table></div>'


def with_setup(
    variables: Variables, summaries: list[dict], head: list[str], rows: list[list[str]]
) -> str:
    """A table with what differs between tests in front; what all share stands above it."""
    shared, setups = variables.setups(summaries)
    above = "; ".join(f"{escape(k)} {escape(v)}" for k, v in shared.items())
    titles = list(setups[0])

    def line(tag: str, texts: Iterable[str], figures: list[str]) -> str:
        cells = [f'<{tag} class="t">{escape(t)}</{tag}>' for t in texts]
        return f"<tr>{''.join(cells)}{''.join(f'<{tag}>{f}</{tag}>' for f in figures)}</tr>"

    lines = [line("th", titles, head)]
    lines += [line("td", s.values(), row) for s, row in zip(setups, rows, strict=True)]
    table = f'<div class="scroll"><table class="tests">{"".join(lines)}</table></div>'
    return (f"<p>All: {above}.</p>" if above else "") + table


def ms(value: float | None) -> str:
    """Three digits that count; no more than a microsecond's fraction."""
    if value is None:
        return "-"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def interval(low: float | None, high: float | None, text: Callable[[float | None], str]) -> str:
    return "-" if low is None else f"{text(low)} - {text(high)}"


# ---- figures


class Page:
    """The figures of one report."""

    def __init__(self, store: Store) -> None:
        self.store, self.count = store, 0
        self.rtis: dict[str, int] = {}  # by name, in the order of their colours
        # Those of a report that had more would be taken for figures of this one.
        directory = store.directory / "figures"
        with contextlib.suppress(OSError):  # there are none
            for old in [] if directory.is_symlink() else list(directory.iterdir()):
                if re.fullmatch(r"\d{3,}\.(svg|png)", old.name):
                    old.unlink()

    def figure(self, figure: plt.Figure, caption: str) -> str:
        """As HTML, and as files."""
        self.count += 1
        out = io.StringIO()
        directory = self.store.directory / "figures"
        figure.subplots_adjust(left=0.13, right=0.97, top=0.91, bottom=0.14, wspace=0.25)
        # Long numbers of the axis and names below it are within the figure, however large it gets.
        whole = {"bbox_inches": "tight", "pad_inches": 0.08}
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, **whole)
        drawn = out.getvalue()
        try:
            if directory.is_symlink():
                raise OSError(errno.ELOOP, "it is a link, perhaps out of the run", str(directory))
            directory.mkdir(exist_ok=True)
            with fresh_file(directory / f"{self.count:03}.svg") as file:
                file.write(drawn)
            (png := directory / f"{self.count:03}.png").unlink(missing_ok=True)
            figure.savefig(png, dpi=100, **whole)
        except OSError as e:
            raise cannot("write a figure", e, directory) from None
        finally:
            plt.close(figure)
        drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.S)
        # Ids are unique in the page; namespace declarations need no address in HTML.
        drawn = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>f{self.count}_", drawn)
        drawn = re.sub(r' (xmlns|xmlns:xlink|version)="[^"]*"', "", drawn).replace("xlink:", "")
        return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def plots(figures: list[str]) -> str:
    """Figures side by side where there is room."""
    return f'<div class="plots">{"".join(figures)}</div>'


PLAIN = FuncFormatter(lambda v, _: f"{v:,.10g}")


def style(index: int) -> dict:
    """Colour and marker of a line."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def shown(name: str) -> str:
    """A line's name as a legend has it, which leaves out those that begin with "_"."""
    return f" {name}" if name.startswith("_") else name


# More lines than these, or longer names than half of that, are no longer named among the curves.
_INSIDE_MAX, _NAME_MAX = 4, 96


def wrapped(text: str) -> str:
    """Words of others in as many lines as a figure is wide; two dollars make no formula."""
    return textwrap.fill(text, _NAME_MAX).replace("$", r"\$")


def legend(axes: plt.Axes, lines: int) -> None:
    """Names of the lines; below the axes, over the whole width, where they would cover curves."""
    handles, names = axes.get_legend_handles_labels()
    names = list(map(wrapped, names))
    if lines <= _INSIDE_MAX and max(map(len, names), default=0) <= _NAME_MAX // 2:
        axes.legend(handles, names, fontsize=8)
        return
    columns = 2 if max(map(len, names)) <= _NAME_MAX // 2 else 1
    axes.legend(
        handles, names, fontsize=7, ncols=columns, loc="upper center",
        bbox_to_anchor=(0.5, -0.16), borderaxespad=0,
    )  # fmt: skip


def hollow_for(doubts: Iterable[str]) -> str:
    """What points that are drawn hollow have against them; "": there are none."""
    found = list(dict.fromkeys(filter(None, doubts)))
    return f" Hollow: {'; or '.join(found)}." if found else ""


def hollow(axes: plt.Axes, points: list[tuple], index: int, gid: str | None = None) -> None:
    """Points of a line that say little."""
    if points:
        at = zip(*points, strict=True)
        axes.plot(*at, ls="", ms=5, mfc="white", zorder=3, gid=gid, **style(index))


def band(key: str, *names: str) -> Callable[[dict], tuple]:
    """A figure with its interval: low, mean, high."""
    return lambda s: tuple(s[key][name] for name in names or ("low", "mean", "high"))


def distributions(page: Page, summaries: list[dict]) -> list[str]:
    """Percentiles and distribution of each test, the RTIs and pairs that ran it side by side."""
    variables = page.store.study.variables
    groups = list(variables.alike(summaries).items())
    out = []
    for title, group in groups[:_DISTRIBUTIONS_MAX]:
        names = [v for v in variables.differing(group) if v.line]
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
        nines = 1.0
        for index, s in enumerate(group):
            values = _sorted_ms(page.store, s)
            if not len(values):
                continue  # they were removed, which is told where they are counted
            look = style(index) | {"markevery": 10, "ms": 4}
            name = variables.name_of(s, names)
            nines = max(nines, np.log10(len(values)))
            x = np.linspace(0, np.log10(len(values)), 60)
            rank = np.ceil(np.round((1 - 10**-x) * len(values), 9)).astype(int)
            left.plot(x, values[np.clip(rank, 1, len(values)) - 1], label=shown(name), **look)
            share = np.linspace(0, 1, 60)
            picked = values[np.minimum((share * len(values)).astype(int), len(values) - 1)]
            right.plot(picked, share * 100, label=shown(name), **look)
        ticks = [t for t in (np.log10(2), 1, 2, 3, 4, 5) if t <= nines + 0.01]
        left.xaxis.set_major_locator(FixedLocator(ticks))
        left.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * (1 - 10**-v):.6g} %"))
        left.set(title="Round trip by percentile", ylabel="ms", xlabel="percentile", yscale="log")
        left.yaxis.set_major_formatter(PLAIN)
        right.set(title="Distribution", xlabel="ms", ylabel="% of round trips", xscale="log")
        right.xaxis.set_major_formatter(PLAIN)
        legend(left, len(group))
        opened = " open" if not out else ""
        plot = page.figure(figure, title).replace("<figure", '<figure style="max-width:1000px"', 1)
        out.append(f"<details{opened}><summary>{escape(title)}</summary>{plot}</details>")
    if more := len(groups) - len(out):
        out.append(f"<p>{more} further tests: their percentiles stand in the table.</p>")
    return out


def _sorted_ms(store: Store, s: dict) -> np.ndarray:
    samples = store.round_trips(s)
    return np.sort(np.concatenate([np.empty(0), *samples])).astype(float) / 1e6


def thinned(points: list[tuple[int, float]], width: float) -> list[tuple[int, float]]:
    """Of points in order, those that are seen where so many share a column of the screen: the
    lowest and the highest of each."""
    columns: dict[int, list[tuple[int, float]]] = {}
    for point in points:
        columns.setdefault(int(point[0] / max(width, 1)), []).append(point)
    value = lambda point: point[1]  # noqa: E731
    return [
        point
        for here in columns.values()
        for point in sorted({min(here, key=value), max(here, key=value)})
    ]


def series(
    page: Page, title: str, unit: str, rows: list[dict], label: Callable[[dict], str]
) -> str:
    """Each sample in its order: oscillation and drift show here; "" without any."""
    study = page.store.study
    several = len({r["sequence"] for r in rows}) > 1
    groups: dict[str, list[tuple[int, float]]] = {}
    doubted: dict[str, list[tuple[int, float]]] = {}
    doubts = []
    for i, row in enumerate(rows, 1):
        on = row.get("setting", {}).get("rti") or row["sequence"]
        name = f"{on}, {label(row)}" if several else label(row)
        if (value := study.value(row)) is not None:
            groups.setdefault(name, []).append((i, value))
            if said := study.doubt(row):
                doubted.setdefault(name, []).append((i, value))
                doubts.append(said)
    if not groups:
        return ""
    figure, axes = plt.subplots()
    for index, (name, points) in enumerate(groups.items()):
        seen = thinned(points, len(rows) / _COLUMNS)
        axes.plot(*zip(*seen, strict=True), ls="", ms=4, label=shown(name), **style(index))
        hollow(axes, sorted(set(seen) & set(doubted.get(name, ()))), index)
    axes.set(title=title, xlabel="sample, in order of measurement", ylabel=unit)
    axes.yaxis.set_major_formatter(PLAIN)
    axes.set_ylim(bottom=0)
    legend(axes, len(groups))
    caption = "RTI: " + ", ".join(versions(page.store)) + "."
    return page.figure(figure, caption + hollow_for(doubts))
