"""Lessons: what a correction teaches about a layout, and how the next document is read by it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from docmill.mappings import checking
from docmill.pipelines.invoice import likeness, placing
from docmill.pipelines.invoice.layout import Sheet
from docmill.pipelines.invoice.model import Invoice, Value
from docmill.pipelines.invoice.placing import Spot
from docmill.pipelines.invoice.result import data_of
from docmill.reading.pages import Box

# The same in every document of a layout, also where it is not printed in letters.
CONSTANT: Final = frozenset({"currency", "seller.name", "seller.tax_id", "seller.address"})
TAUGHT: Final = frozenset(
    {
        *("invoice_number", "issue_date", "due_date", "currency"),
        *(f"{party}.{name}" for party in ("seller", "buyer") for name in ("name", "tax_id")),
        *(f"totals.{name}" for name in ("net", "tax", "gross", "withholding", "paid", "due")),
        "seller.address",
    }
)
SURE, UNSURE = 0.9, 0.7
_DIGITS: Final = re.compile(r"\d+")
_LETTERS: Final = re.compile(r"[^\W\d_]+")

Lesson = Mapping[str, Any]
Learned = dict[str, dict[str, str]]


def taught(
    sheet: Sheet,
    fields: Mapping[str, Mapping[str, Any]],
    seller: Mapping[str, Any] | None,
    known: Sequence[Lesson],
) -> list[dict[str, Any]]:
    """What these corrected values, by path, teach about documents that look like this one."""
    marks, supplier = likeness.marks_of(sheet), likeness.supplier_of(sheet, seller)
    layout = next(
        (str(each["layout"]) for each in known if _fits(sheet, each)),
        likeness.name_of(marks, supplier),
    )
    about = {"layout": layout, "supplier": supplier, "marks": marks}
    found = ((path, _lesson(sheet, path, dict(given))) for path, given in fields.items())
    return [{**about, "field": path, **lesson} for path, lesson in found if lesson]


def _lesson(sheet: Sheet, path: str, given: dict[str, Any]) -> dict[str, Any] | None:
    value = str(given["value"])
    spot = placing.find(sheet, path, value, given) if path in TAUGHT else None
    if spot is None:
        return {"constant": value} if path in CONSTANT else None
    label, where = placing.label_of(sheet, spot)
    return {
        "page": spot.row.page,
        "box": spot.box.rounded(),
        "label": label,
        "where": where,
        "shape": _shape(spot.text),
        "words": len(spot.text.split()),
        "whole": not spot.cell.text[spot.end :].strip(),
    }


def applied(sheet: Sheet, invoice: Invoice, lessons: Sequence[Lesson]) -> tuple[Invoice, Learned]:
    """The invoice with what the lessons of this layout say, and which fields they gave."""
    values: dict[str, tuple[Value, Lesson]] = {}
    for lesson in lessons:
        if lesson["field"] in TAUGHT and lesson["field"] not in values and _fits(sheet, lesson):
            value = _read(sheet, lesson)
            if value and value.value != _value(invoice, str(lesson["field"])):
                values[str(lesson["field"])] = (value, lesson)
    sums = {path for path in values if path.startswith("totals.")}
    if sums and _breaks(invoice, {path: values[path][0] for path in sums}):
        values = {path: given for path, given in values.items() if path not in sums}
    learned = {
        path: {"lesson": str(lesson.get("id", "")), "from": str(lesson.get("from", ""))}
        for path, (_, lesson) in values.items()
    }
    return _with(invoice, {path: value for path, (value, _) in values.items()}), learned


def _fits(sheet: Sheet, lesson: Lesson) -> bool:
    return likeness.matches(sheet, lesson["marks"], str(lesson["supplier"]))


def _read(sheet: Sheet, lesson: Lesson) -> Value | None:
    """The value where the lesson says that it stands: by its label, else by its place."""
    if "constant" in lesson:
        return Value(str(lesson["constant"]), SURE)
    path, box = str(lesson["field"]), Box(*lesson["box"])
    found: list[Spot] = []
    if lesson["label"]:
        found = [*placing.labelled(sheet, path, str(lesson["label"]), str(lesson["where"]))]
    found = found or [*placing.standing(sheet, path, int(lesson["page"]), box)]
    found = [cut for spot in found if (cut := _cut(spot, lesson))]
    if not found:
        return None
    spot = min(found, key=lambda each: _away(each, int(lesson["page"]), box))
    value = placing.said(sheet, spot, path)
    sure = SURE if _shape(spot.text) == lesson["shape"] else UNSURE
    return Value(value, sure, spot.row.page, spot.box, spot.text) if value else None


def _cut(spot: Spot, lesson: Lesson) -> Spot | None:
    """The spot, no more words of it than were taught; none that lacks figures which it had."""
    words = [*re.finditer(r"\S+", spot.text)]
    if not lesson["whole"] or (lesson["words"] == 1 and len(words) > 1 and "9" in lesson["shape"]):
        words = words[: lesson["words"]]
    if not words:
        return None
    cut = replace(spot, end=spot.start + words[-1].end())
    lacks = "9" in lesson["shape"] and not _DIGITS.search(cut.text)
    return None if lacks else cut


def _away(spot: Spot, page: int, box: Box) -> float:
    across = min(abs(spot.box.x0 - box.x0), abs(spot.box.x1 - box.x1))
    return across + abs(spot.box.middle - box.middle) + 1000 * abs(spot.row.page - page)


def _shape(text: str) -> str:
    """How a value looks: `INV/2025/017` is `A/9/9`."""
    return _LETTERS.sub("A", _DIGITS.sub("9", text))


def _value(invoice: Invoice, path: str) -> str | None:
    group, _, name = path.partition(".")
    found = getattr(invoice, group)
    value: Value | None = getattr(found, name) if name else found
    return value.value if value else None


def _with(invoice: Invoice, values: Mapping[str, Value]) -> Invoice:
    for path, value in values.items():
        group, _, name = path.partition(".")
        inside: Any = replace(getattr(invoice, group), **{name: value}) if name else value
        invoice = replace(invoice, **{group: inside})
    return invoice


def _breaks(invoice: Invoice, sums: Mapping[str, Value]) -> bool:
    """Whether more arithmetic is broken with these sums than without."""
    return _broken(_with(invoice, sums)) > _broken(invoice)


def _broken(invoice: Invoice) -> int:
    outcomes = data_of(invoice)["checks"].values()
    return sum(outcome == checking.BROKEN for outcome in outcomes)
