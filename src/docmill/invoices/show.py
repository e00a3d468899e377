"""An invoice as people read it, for the page of its document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docmill.core.amounts import Notation
from docmill.core.shown import Shown, ShownTable, ShownValue
from docmill.invoices.fields import (
    FIELDS,
    GROUPS,
    LINE_FIELDS,
    InvoiceField,
    lines_of,
    value_at,
)
from docmill.invoices.values import clean, find_notation, look_up


@dataclass(frozen=True, slots=True)
class ShownInvoice:
    """An invoice, and how its document writes amounts."""

    data: Mapping[str, Any]
    notation: Notation

    def show(self, field: InvoiceField, path: str) -> ShownValue:
        evidence: Any = self.data.get("evidence") or {}
        seen, text = evidence.get(path), clean(value_at(self.data, path))
        return ShownValue(
            field.label,
            self.notation.write(text) if field.is_number else text,
            look_up(seen, "page"),
            look_up(seen, "box"),
            path in (self.data.get("review") or ()),
            field.is_number,
        )


def show_invoice(data: Mapping[str, Any]) -> Shown:
    """Its head by groups, and its lines; what was not found is left out."""
    page = ShownInvoice(data, find_notation(data))
    groups = [
        (title, [page.show(each, each.path) for each in FIELDS if each.group == group])
        for group, title in GROUPS.items()
    ]
    told = [(title, [value for value in values if value.text]) for title, values in groups]
    return Shown([(title, values) for title, values in told if values], _show_lines(page))


def _show_lines(page: ShownInvoice) -> list[ShownTable]:
    lines = lines_of(page.data)
    columns = [
        field for field in LINE_FIELDS if any(clean(look_up(line, field.name)) for line in lines)
    ]
    rows = [
        [page.show(field, f"lines[{index}].{field.name}") for field in columns]
        for index in range(len(lines))
    ]
    return [ShownTable("Lines", [field.label for field in columns], rows)] if rows else []
