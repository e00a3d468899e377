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


def changes(data: Mapping[str, Any], edits: Sequence[Edit]) -> list[Change]:
    """What these edits change, one after the other; an edit that changes nothing is left out."""
    current, made = dict(data), list[Change]()
    for index, each in enumerate(edits):
        if not is_path(each.path):
            raise _refused(index, "path", "names nothing of an invoice")
        change = _line(current, index, each) if is_line(each.path) else _value(current, index, each)
        if is_line(each.path) or change.before != change.after:
            made.append(change)
            current = replay(current, [change])
    return made


def _value(data: Mapping[str, Any], index: int, each: Edit) -> Change:
    if isinstance(each.value, dict):
        raise _refused(index, "value", "is a text, or null for nothing")
    line = _LINE_INDEX.match(each.path)
    if line and value_at(data, line[0]) is None:
        raise _refused(index, "path", "names a line that is not there")
    after = written(each.path, each.value)
    if after is None and clean(each.value):
        raise _refused(index, "value", f"is no {kind_of(each.path)}")
    return Change(each.path, value_at(data, each.path), after, _place(each))


def _line(data: Mapping[str, Any], index: int, each: Edit) -> Change:
    count, at = len(data.get("lines") or ()), int(each.path[6:-1])
    if each.value is None:
        if at >= count:
            raise _refused(index, "path", "names a line that is not there")
        return Change(each.path, value_at(data, each.path), None)
    if isinstance(each.value, str) or at > count or count >= MOST_LINES:
        raise _refused(index, "path", "is no place for a line, which is an object of values")
    if unknown := sorted(set(each.value) - set(LINE)):
        raise _refused(index, "value", f"has unknown names: {', '.join(unknown)}"[:200])
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


def _refused(index: int, name: str, says: str) -> Faulted:
    return Faulted("BAD_REQUEST", mistakes=[{"at": f"body.edits.{index}.{name}", "message": says}])
