"""Parts of a report's page: headings, parts that are folded, the list of contents, tables whose
rows have a name that stays in sight.
"""

import re
from collections.abc import Callable, Iterable
from html import escape

from ..statistics.differences import on, rti_in, sequence_of
from ..variables import Variables


def part(title: str, content: str, fold: bool) -> str:
    """A part under its heading. One that is folded is shown when it is asked for, printed, or led
    to from the contents."""
    if not fold:
        return f"<h2>{escape(title)}</h2>{content}"
    return (
        f'<details class="part"><summary><h2>{escape(title)}</h2></summary>'
        f'<div class="in">{content}</div></details>'
    )


GREY = '<span style="opacity:.6">{}</span>'  # a cell that is in no comparison
# Tables with more lines than these are folded, below what is said of them.
_TABLE_MAX = 11


def short(table: str, lines: int, of: str) -> str:
    """A table, folded where it is long."""
    if lines <= _TABLE_MAX:
        return table
    return f"<details><summary>{lines:,} {of}</summary>{table}</details>"


def titled(title: str, *said: str) -> str:
    """A part of a part, with what is to be known of it."""
    words = " ".join(filter(None, said))
    return f"<h3>{escape(title)}</h3><p>{escape(words)}</p>"


_HEADING = re.compile(r'<h2>(.*?)</h2>(</summary><div class="in")?')
# Fewer parts are seen at once.
_CONTENTS_MIN = 4


def with_contents(page: str) -> tuple[str, str]:
    """A page whose headings can be led to, and the list of these. An anchor within a folded part
    opens it."""
    names: list[str] = []

    def anchored(found: re.Match) -> str:
        names.append(found[1])
        at = f'id="part-{len(names)}"'
        return f"{found[0]} {at}" if found[2] else f'<span class="at" {at}></span>{found[0]}'

    page = _HEADING.sub(anchored, page)
    if len(names) < _CONTENTS_MIN:
        return page, ""
    items = (f'<li><a href="#part-{n}">{name}</a></li>' for n, name in enumerate(names, 1))
    return page, f'<ul class="contents">{"".join(items)}</ul>'


def _scrolled(rows: Iterable[str], kind: str) -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<div class="scroll"><table{named}>{"".join(rows)}</table></div>'


def table(
    head: Iterable[str], rows: Iterable[Iterable[str]], left: frozenset[int] = frozenset(),
    said: frozenset[int] = frozenset(), kind: str = "",
) -> str:  # fmt: skip
    """Cells as HTML below plain heads; the first column, and those in `left` and `said`, are texts,
    the latter long ones."""

    def cell(tag: str, n: int, content: str) -> str:
        words = ["t"] * (n in {0, *left, *said}) + ["said"] * (n in said)
        # Of tables with ten thousand cells quotes would be a tenth.
        kinds = " class=t" if words == ["t"] else f' class="{" ".join(words)}"' if words else ""
        return f"<{tag}{kinds}>{content}</{tag}>"

    def line(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(cell(tag, n, content) for n, content in enumerate(cells))}</tr>"

    return _scrolled([line("th", map(escape, head)), *(line("td", row) for row in rows)], kind)


def text_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Texts in columns."""

    def line(tag: str, texts: tuple[str, ...]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(t)}</{tag}>" for t in texts) + "</tr>"

    return _scrolled([line("th", head), *(line("td", row) for row in rows)], "t")


def pairs_table(values: dict) -> str:
    """Names, and their values beside."""
    rows = (
        f'<tr><th class="t">{escape(str(k))}</th><td class="t setting">{escape(str(v))}</td></tr>'
        for k, v in values.items()
    )
    return _scrolled(rows, "")


def by_rti(
    head: tuple[str, ...], summaries: list[dict], key: Callable[[dict], tuple[str, ...]],
    cell: Callable[[dict], str], name: Callable[[dict], str] = on,
) -> str:  # fmt: skip
    """A row per key, a column per RTI, or what `name` says; several tests of one cell stand one
    behind the other, which is said then."""
    columns = list(dict.fromkeys(map(name, summaries)))
    rows: dict[tuple[str, ...], dict[str, list[dict]]] = {}
    for s in summaries:
        rows.setdefault(key(s), {}).setdefault(name(s), []).append(s)
    lines = [(*k, *("; ".join(map(cell, by[c])) if c in by else "-" for c in columns))
             for k, by in rows.items()]  # fmt: skip
    several = dict.fromkeys(sequence_of(s) for by in rows.values() for of in by.values()
                            if len(of) > 1 for s in of)  # fmt: skip
    of = ", ".join(several)
    said = f"<p>Several figures in a cell are of as many tests, in this order: {escape(of)}.</p>"
    return text_table((*head, *columns), lines) + said * bool(several)


def with_setup(
    variables: Variables, summaries: list[dict], head: list[str], rows: list[list[str]],
    alone: bool = True,
) -> str:  # fmt: skip
    """A table with what differs between tests in front; what all share stands above it, if not
    another table of them does."""
    shared, setups = variables.setups(summaries)
    titles = list(setups[0])
    lines = [[*map(escape, s.values()), *row] for s, row in zip(setups, rows, strict=True)]
    made = table([*titles, *head], lines, left=frozenset(range(len(titles))), kind="tests")
    return above(shared) * alone + made


def above(shared: dict[str, str]) -> str:
    """What all lines of a table share."""
    said = "; ".join(f"{escape(k)} {escape(v)}" for k, v in shared.items())
    return f"<p>All: {said}.</p>" if said else ""


def by_test(
    variables: Variables, summaries: list[dict], head: list[str], rows: list[list[str]]
) -> str:
    """A table for each execution of a sequence in the file: figures stand behind a test's name,
    which is what differs there; what all tests of a table share stands above it."""
    groups: dict[tuple[str, str], list[int]] = {}
    for n, s in enumerate(summaries):
        groups.setdefault((sequence_of(s), s["execution"]), []).append(n)
    found = []
    for (sequence, execution), numbers in groups.items():
        of = [summaries[n] for n in numbers]
        usual, several = variables.usual(of), len(set(map(rti_in, of))) > 1
        named, shared = variables.named(of, usual), variables.told(of, usual)
        on = "" if several else f"RTI: {rti_in(of[0])}."
        found.append(titled(f"{sequence}: {execution}", on, shared))
        lines = [
            [escape(", ".join(filter(None, [rti_in(s) if several else "", named(s)]))
                    or rti_in(s)), *rows[n]]
            for n, s in zip(numbers, of, strict=True)
        ]  # fmt: skip
        found.append(table(["test", *head], lines, kind="tests"))
    return "".join(found)
