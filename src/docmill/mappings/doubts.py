"""Values of an invoice that no mapping can use: each is flagged, none is guessed."""

from collections.abc import Iterator
from typing import Any, Final

from docmill.mappings.amounts import number
from docmill.mappings.formats import iso_date
from docmill.mappings.schema import TOTALS
from docmill.mappings.scope import Scope
from docmill.mappings.texts import at, clean

_DATES: Final = ("issue_date", "due_date")
_OF_LINES: Final = ("quantity", "unit_price", "discount", "amount", "tax_rate")


def flag_unreadable(scope: Scope) -> None:
    for path in _DATES:
        if scope.text(path) and not iso_date(scope.value(path)):
            scope.findings.flag(path, "is no date as in 2025-03-14")
    for path, value in _numbers(scope):
        if clean(value) and number(value) is None:
            scope.findings.flag(path, "is no number as in 1234567.80")


def _numbers(scope: Scope) -> Iterator[tuple[str, Any]]:
    for name in TOTALS:
        yield f"totals.{name}", scope.value(f"totals.{name}")
    for index, line in enumerate(scope.lines()):
        for name in _OF_LINES:
            yield f"lines.{index}.{name}", at(line, name)
