"""What is read from an invoice: each value with where it stands and how sure it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from docmill.invoices import checks, fields
from docmill.invoices.reader.layout import PrintedNumber
from docmill.reading.labels import squeeze
from docmill.reading.pages import Box, Page, Value, Word

INSIDE: Final = 0.5  # of a word's width: so much in a box is read with it
DIFFERENT: Final = 0.7
UNSEEN: Final = 0.95

Values = Mapping[str, Value]
ScannedWords = dict[int, tuple[Word, ...]]


@dataclass(frozen=True, slots=True)
class InvoiceTax:
    """The tax of one rate. Of a single one the amount is the invoice's total tax."""

    amount: Value | None = None
    rate: Value | None = None
    base: Value | None = None


@dataclass(frozen=True, slots=True)
class Invoice:
    """What was found: values by the path of their field, and of each line by their name."""

    values: Values
    lines: tuple[Values, ...] = ()
    taxes: tuple[InvoiceTax, ...] = ()


def keep_found(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value}


def format_number(number: Decimal) -> str:
    """A decimal string with a point, no exponent, no trailing noise."""
    text = f"{number:f}"
    return "0" + text.removeprefix("-")[1:] if text.startswith("-0") and not number else text


def number_of(value: Value | None) -> Decimal | None:
    return Decimal(value.value) if value else None


def number_value(figure: PrintedNumber, number: Decimal, confidence: float) -> Value:
    """A number as results carry it, from where it is printed."""
    text = format_number(number)
    return Value(text, round(confidence, 2), figure.cell.page, figure.box, figure.text)


def to_json(invoice: Invoice) -> dict[str, Any]:
    """The canonical JSON: values, evidence, checks, and what a person should look at."""
    data: dict[str, Any] = {}
    for field in fields.FIELDS:
        value = invoice.values.get(field.path)
        if field.read or value:
            into = data.setdefault(field.group, {}) if field.group else data
            into[field.name] = _text_of(value)
    names = [field.name for field in fields.LINE_FIELDS if field.read]
    data["lines"] = [{name: _text_of(line.get(name)) for name in names} for line in invoice.lines]
    data["taxes"] = _taxes_json(invoice)
    data["evidence"] = _evidence_json(invoice)
    outcomes = checks.run_checks(data)
    return {**data, "checks": outcomes, "review": checks.find_doubts(data, outcomes)}


def _text_of(value: Value | None) -> str | None:
    return value.value if value else None


def _taxes_json(invoice: Invoice) -> list[dict[str, str | None]]:
    """Each tax with its base and rate; a single one follows the total."""
    total = invoice.values.get("totals.tax")
    if len(invoice.taxes) < 2 and total is None:
        return []
    taxes = invoice.taxes if len(invoice.taxes) > 1 else (*invoice.taxes, InvoiceTax())[:1]
    parts = [{"base": tax.base, "rate": tax.rate, "amount": tax.amount or total} for tax in taxes]
    return [{name: _text_of(value) for name, value in each.items()} for each in parts]


def _evidence_json(invoice: Invoice) -> dict[str, Any]:
    found = {field.path: invoice.values.get(field.path) for field in fields.FIELDS if field.read}
    for index, line in enumerate(invoice.lines):
        for field in fields.LINE_FIELDS:
            found[f"lines[{index}].{field.name}"] = line.get(field.name)
    return {
        path: {
            "confidence": value.confidence,
            "page": value.page or None,
            "box": value.box.to_list() if value.box else None,
            "text": value.text,
        }
        for path, value in keep_found(found).items()
    }


def cap_confidence(invoice: Invoice, pages: Sequence[Page]) -> Invoice:
    """The invoice, each value at most as sure as OCR was of its least sure word."""
    words = {page.number: page.words for page in pages if page.scanned}
    return map_values(invoice, lambda value: _cap_value(value, words)) if words else invoice


def map_values(invoice: Invoice, change: Callable[[Value], Value]) -> Invoice:
    """The invoice with each of its values changed."""
    values, *lines = (
        {name: change(value) for name, value in part.items()}
        for part in (invoice.values, *invoice.lines)
    )
    return replace(invoice, values=values, lines=tuple(lines))


def _cap_value(value: Value, words: ScannedWords) -> Value:
    if value.box is None or value.page not in words:
        return value
    box = value.box
    under = [word.confidence for word in words[value.page] if _is_inside(word.box, box)]
    return value.sure(min([value.confidence, *under]))


def _is_inside(word: Box, box: Box) -> bool:
    shared = min(word.x1, box.x1) - max(word.x0, box.x0)
    return word.y0 < box.middle < word.y1 and shared > INSIDE * min(word.width, box.width)


def reconcile(xml: Invoice, page: Invoice) -> Invoice:
    """What the XML says, with the page's places. A value the page contradicts becomes unsure."""
    lines = tuple(_reconcile_line(line, page.lines) for line in xml.lines)
    return replace(xml, values=_reconcile_values(xml.values, page.values), lines=lines)


def _reconcile_values(xml: Values, page: Values) -> Values:
    return {name: _reconcile_value(value, page.get(name)) for name, value in xml.items()}


def _reconcile_line(line: Values, others: Sequence[Values]) -> Values:
    amount = line.get("amount")
    for other in others:
        printed = other.get("amount")
        if amount and printed and _is_equal(amount.value, printed.value):
            return _reconcile_values(line, other)
    return line


def _reconcile_value(xml: Value, page: Value | None) -> Value:
    if page is None:
        return xml.sure(min(xml.confidence, UNSEEN))
    if _is_equal(xml.value, page.value):
        return replace(xml, page=page.page, box=page.box, text=page.text)
    return xml.sure(DIFFERENT)


def _is_equal(one: str, other: str) -> bool:
    try:
        return abs(Decimal(one) - Decimal(other)) <= Decimal("0.01")
    except InvalidOperation:
        return squeeze(one) in squeeze(other) or squeeze(other) in squeeze(one)
