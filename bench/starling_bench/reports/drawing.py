"""What the figures of a report share: colours, markers, legends, and where they are kept."""

import contextlib
import errno
import io
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from html import escape

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

from ..errors import cannot
from ..kept.store import Store
from ..outside import fresh_file

# Okabe and Ito's colours, distinct for the colour-blind, but for their yellow, which white hides.
# The marker tells lines apart without any.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#5d3a1a")
# Their number and that of the colours have no common divisor, so 88 lines all look different.
MARKERS = "osD^vPX*<>p"
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


class Page:
    """The figures of one report. Lines of these names look the same in each that may have any of
    them."""

    def __init__(self, store: Store, lines: Iterable[str] = ()) -> None:
        self.store, self.count, self._lines = store, 0, tuple(lines)
        self.rtis: dict[str, int] = {}  # by name, in the order of their colours
        # Those of a report that had more would be taken for figures of this one.
        directory = store.directory / "figures"
        with contextlib.suppress(OSError):  # there are none
            for old in [] if directory.is_symlink() else list(directory.iterdir()):
                if re.fullmatch(r"\d{3,}\.(svg|png)", old.name):
                    old.unlink()

    def styles(self, names: Iterable[str]) -> Iterator[tuple[int, str]]:
        """By which number `style` has a figure's lines, behind those that are everywhere alike."""
        others = itertools.count(len(self._lines))
        for name in names:
            yield self._lines.index(name) if name in self._lines else next(others), name

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
