"""Two readings of one document, value by value: what one says and the other does not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher

from docmill.core.jobs import JobId

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Outline:
    """What a reading says, and nothing of how: values by path, and the rows of its table.

    A value has one spelling (`1000`, never `1000.00`), so that two that mean the same are equal.
    `noun` is what paths call a row: `lines`, `trades`.
    """

    values: Row = field(default_factory=dict[str, str])
    rows: Sequence[Row] = ()
    noun: str = "rows"


@dataclass(frozen=True, slots=True)
class ApprovedReading:
    """A document whose values somebody stands for: a person, or a rule where `by` says so.

    `read_key` is its reading as stored; what was approved is stored under `approved_key`, or it is
    `approved` itself.
    """

    job_id: JobId
    by: str
    at: datetime | None
    read_key: str
    approved_key: str | None = None
    approved: Outline | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs. None: that side has no such value.

    `field` is the path without the number of its row. A row that only the new side has is written
    `lines[+2]`, by its place there.
    """

    path: str
    field: str
    old: str | None
    new: str | None


def compare(old: Outline, new: Outline) -> list[Difference]:
    """In the order of the old side. A row that was put in or taken out moves no other."""
    found = [
        Difference(path, path, old.values.get(path), new.values.get(path))
        for path in dict.fromkeys((*old.values, *new.values))
        if old.values.get(path) != new.values.get(path)
    ]
    return [*found, *_compare_rows(old, new)]


def _compare_rows(old: Outline, new: Outline) -> Iterator[Difference]:
    noun = old.noun if old.rows else new.noun
    for before, after in _pair_rows(old.rows, new.rows):
        here: Row = old.rows[before] if before is not None else {}
        there: Row = new.rows[after] if after is not None else {}
        place = f"{noun}[{before}]" if before is not None else f"{noun}[+{after}]"
        for name in dict.fromkeys((*here, *there)):
            if here.get(name) != there.get(name):
                field_name = f"{noun}.{name}"
                yield Difference(f"{place}.{name}", field_name, here.get(name), there.get(name))


def _pair_rows(old: Sequence[Row], new: Sequence[Row]) -> Iterator[tuple[int | None, int | None]]:
    """Which row is which on the other side: first those that are the same, then by their order."""
    keys = [[tuple(sorted(row.items())) for row in rows] for rows in (old, new)]
    for tag, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for step in range(max(b - a, d - c)):
            yield (a + step if a + step < b else None), (c + step if c + step < d else None)


@dataclass(frozen=True, slots=True)
class ReplayedReading:
    """What reading a document again does to the values that are approved.

    - `lost`: were read right then, and no more. These would change what was approved.
    - `gained`: were wrong then, and are right now.
    - `moved`: are wrong in another way.
    """

    lost: list[Difference]
    gained: list[Difference]
    moved: list[Difference]


def replay(approved: Outline, then: Outline, now: Outline) -> ReplayedReading:
    """`old` of each difference is what was approved, `new` what is read now (of gained: then)."""
    wrong_then = {one.path: one for one in compare(approved, then)}
    wrong_now = {one.path: one for one in compare(approved, now)}
    lost = [one for path, one in wrong_now.items() if path not in wrong_then]
    gained = [one for path, one in wrong_then.items() if path not in wrong_now]
    moved = [
        one
        for path, one in wrong_now.items()
        if path in wrong_then and wrong_then[path].new != one.new
    ]
    return ReplayedReading(lost, gained, moved)
