"""An invoice without where its values stand: for comparing two readings of it."""

from collections.abc import Mapping
from typing import Any

from docmill.core.comparison import Outline
from docmill.invoices.fields import FIELDS, LINE_FIELDS, InvoiceField, lines_of, value_at
from docmill.invoices.values import clean, format_plain, parse_number


def outline_invoice(data: Mapping[str, Any]) -> Outline:
    values = {field.path: _write(field, value_at(data, field.path)) for field in FIELDS}
    rows = [
        {field.name: _write(field, line.get(field.name)) for field in LINE_FIELDS}
        for line in lines_of(data)
    ]
    return Outline(_drop_empty(values), [_drop_empty(row) for row in rows], "lines")


def _write(field: InvoiceField, value: object) -> str:
    number = parse_number(value) if field.is_number else None
    return clean(value) if number is None else format_plain(number)


def _drop_empty(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
