"""The terminal's tables of tests."""

from collections.abc import Iterable

from rich import box
from rich.table import Table

from ..variables import Variables


def table(title: str, head: Iterable[str], left: int, rows: Iterable[Iterable[str]]) -> Table:
    """Texts in columns, of which the first `left` are words."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for n, name in enumerate(head):
        made.add_column(name, justify="left" if n < left else "right")
    for row in rows:
        made.add_row(*row)
    return made


def with_setup(
    title: str,
    variables: Variables,
    summaries: list[dict],
    head: Iterable[str],
    rows: list[list[str]],
) -> Table:
    """What differs between tests stands in front, what all share in the title."""
    shared, setups = variables.setups(summaries)
    if shared:
        title += "; " + ", ".join(f"{k} {v}" for k, v in shared.items())
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in setups[0]:
        table.add_column(name, justify="left", no_wrap=True)
    for name in head:
        table.add_column(name, justify="right", no_wrap=True)
    for setup, row in zip(setups, rows, strict=True):
        table.add_row(*setup.values(), *row)
    return table
