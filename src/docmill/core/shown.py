"""A result as people read it: what a room's `show` makes of it, for the page of a document."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownValue:
    """One value of a result for people: what it is called, and where on which page it stands."""

    label: str
    text: str
    page: int | None = None
    box: Sequence[float] | None = None
    doubtful: bool = False
    number: bool = False


@dataclass(frozen=True, slots=True)
class ShownTable:
    """Rows of a result under headings; the label of a cell is that of its column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[ShownValue]]


@dataclass(frozen=True, slots=True)
class Shown:
    """A result as people read it: groups of values by title, tables, and text in passages."""

    groups: Sequence[tuple[str, Sequence[ShownValue]]] = ()
    tables: Sequence[ShownTable] = ()
    passages: Sequence[ShownValue] = ()
