"""Jobs as tables, for people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Console
from rich.table import Table

from docmill.cli.console import out
from docmill.core.jobs import Status

STYLES: Final[Mapping[str, str]] = {str(status): status.row.style for status in Status}
# Where nobody watches, nothing is cut to the width of a screen.
WIDE: Final = 400


def print_rows(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Words first, figures after, to the right."""
    table = make_table(*(name.upper() for name in names))
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*(str(value) for value in row))
    print_table(table)


def format_time(at: str) -> str:
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S.%f}"[:-3]


def format_age(at: str) -> str:
    """How long ago, in the largest unit that fits: 40 s, 3 min, 5 h, 12 d."""
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def make_table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in names:
        last = name is names[-1]
        table.add_column(name, overflow="fold" if last else "ellipsis", no_wrap=not last)
    return table


def print_table(table: Table) -> None:
    console = out if out.is_terminal else Console(width=WIDE, highlight=False)
    console.print(table)
