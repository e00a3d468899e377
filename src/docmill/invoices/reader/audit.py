"""A PDF with an XML inside says everything twice: where both differ, a person should look."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from docmill.invoices.fields import FIELDS, LINE_FIELDS
from docmill.invoices.reader.model import Invoice, Values
from docmill.reading.labels import squeeze
from docmill.reading.pages import Value

SURE: Final = 0.8  # a page read with less says nothing against the XML
CENT: Final = Decimal("0.01")
HEAD: Final = tuple(field.path for field in FIELDS if field.read and field.doubted)
LINE: Final = tuple(field.name for field in LINE_FIELDS if field.read and field.doubted)

Difference = Mapping[str, Any]


def find_differences(xml: Invoice, page: Invoice) -> list[Difference]:
    """Path, what the page says, what the XML says: of values that both tell."""
    head = (_compare(path, xml.values.get(path), page.values.get(path)) for path in HEAD)
    return [*filter(None, head), *_compare_lines(xml.lines, page.lines)]


def _compare_lines(xml: Sequence[Values], page: Sequence[Values]) -> Iterator[Difference]:
    """Line by line where there are as many; else nobody knows which belong together."""
    if len(xml) != len(page):
        return
    for index, (one, other) in enumerate(zip(xml, page, strict=True)):
        for name in LINE:
            found = _compare(f"lines[{index}].{name}", one.get(name), other.get(name))
            if found:
                yield found


def _compare(path: str, xml: Value | None, page: Value | None) -> Difference | None:
    if xml is None or page is None or page.confidence < SURE or _is_same(xml.value, page.value):
        return None
    return {"path": path, "page": page.value, "xml": xml.value, "place": _place(page)}


def _place(value: Value) -> Mapping[str, Any] | None:
    return {"page": value.page, "box": value.box.to_list()} if value.box else None


def _is_same(one: str, other: str) -> bool:
    try:
        return abs(Decimal(one) - Decimal(other)) <= CENT
    except InvalidOperation:
        first, second = squeeze(one), squeeze(other)
        return first in second or second in first


def add_differences(data: dict[str, Any], found: Sequence[Difference]) -> dict[str, Any]:
    """The invoice with them, each among what is to be reviewed."""
    paths = [one["path"] for one in found]
    return {
        **data,
        "differences": list(found),
        "review": list(dict.fromkeys([*data["review"], *paths])),
    }
