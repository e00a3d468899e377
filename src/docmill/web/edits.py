"""Edits as people send them: checked, written as invoices have them, with what was there before."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from docmill.core.faults import Faulted
from docmill.mappings import Change, value_at
from docmill.mappings.amounts import number
from docmill.mappings.editing import MOST_LINES, is_line, is_path, kind_of, replay
from docmill.mappings.formats import iso_date
from docmill.mappings.schema import LINE
from docmill.mappings.texts import clean
from docmill.reading import dates, numbers

LONGEST: Final = 2000
_LINE_INDEX: Final = re.compile(r"lines\[(\d{1,4})\]")

Text = Annotated[str, Field(max_length=LONGEST)]


class Edit(BaseModel):
    """A new value. For a line, an object puts one in at this place and null takes it out."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    path: str = Field(max_length=100, examples=["totals.net", "lines[2].amount", "lines[3]"])
    value: Text | dict[str, Text | None] | None = Field(examples=["1250.00"])
    page: int | None = Field(None, ge=1, le=100_000, description="Where the value stands")
    box: list[float] | None = Field(None, min_length=4, max_length=4, description="In points")


class Mistake(ValueError):  # noqa: N818  it says what was sent wrong
    """Why an edit can't be made: which part of it, and what that is not."""

    def __init__(self, at: str, says: str) -> None:
        self.at: str = at
        self.says: str = says
        super().__init__(says)


def changes(data: Mapping[str, Any], edits: Sequence[Edit]) -> list[Change]:
    """What these edits change, one after the other; all of them can be made, or none is."""
    made, mistakes = tried(data, edits)
    if mistakes:
        told = [
            {"at": f"body.edits.{index}.{mistake.at}", "message": mistake.says}
            for index, mistake in mistakes.items()
        ]
        raise Faulted("BAD_REQUEST", mistakes=told)
    return made


def tried(
    data: Mapping[str, Any], edits: Sequence[Edit]
) -> tuple[list[Change], dict[int, Mistake]]:
    """The changes that can be made, without those that change nothing; and what is wrong."""
    current, made, mistakes = dict(data), list[Change](), dict[int, Mistake]()
    for index, each in enumerate(edits):
        try:
            change = _change(current, each)
        except Mistake as exc:
            mistakes[index] = exc
            continue
        if is_line(each.path) or change.before != change.after:
            made.append(change)
            current = replay(current, [change])
    return made, mistakes


def _change(data: Mapping[str, Any], each: Edit) -> Change:
    if not is_path(each.path):
        raise Mistake("path", "names nothing of an invoice")
    return _line(data, each) if is_line(each.path) else _value(data, each)


def _value(data: Mapping[str, Any], each: Edit) -> Change:
    if isinstance(each.value, dict):
        raise Mistake("value", "is a text, or null for nothing")
    line = _LINE_INDEX.match(each.path)
    if line and value_at(data, line[0]) is None:
        raise Mistake("path", "names a line that is not there")
    after = written(each.path, each.value)
    if after is None and clean(each.value):
        raise Mistake("value", f"is no {kind_of(each.path)}")
    return Change(each.path, value_at(data, each.path), after, _place(each))


def _line(data: Mapping[str, Any], each: Edit) -> Change:
    count, at = len(data.get("lines") or ()), int(each.path[6:-1])
    if each.value is None:
        if at >= count:
            raise Mistake("path", "names a line that is not there")
        return Change(each.path, value_at(data, each.path), None)
    if isinstance(each.value, str) or at > count or count >= MOST_LINES:
        raise Mistake("path", "is no place for a line, which is an object of values")
    if unknown := sorted(set(each.value) - set(LINE)):
        raise Mistake("value", f"has unknown names: {', '.join(unknown)}"[:200])
    given = {name: None for name in LINE if name != "opt"} | each.value
    line = {name: written(f"{each.path}.{name}", value) for name, value in given.items()}
    return Change(each.path, None, line)


def written(path: str, value: str | None) -> str | None:
    """A value as invoices have it; a figure or a date may come as documents print them."""
    text = clean(value)
    if not text:
        return None
    match kind_of(path):
        case "figure":
            return _figure(text)
        case "date":
            day = dates.read(text)
            return iso_date(text) or (day.isoformat() if day else None)
        case _:
            return text.upper() if path == "currency" else text


def _figure(text: str) -> str | None:
    if number(text) is not None:
        return text
    found = numbers.find(text)
    whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(text)
    return f"{found[0].value:f}" if whole else None


def _place(each: Edit) -> dict[str, Any] | None:
    return {"page": each.page, "box": each.box} if each.page and each.box else None
