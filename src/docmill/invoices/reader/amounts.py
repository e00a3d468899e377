"""What the label of an amount says the amount is: net, tax, gross, due, paid ..."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.layout import PrintedNumber, find_figures
from docmill.reading import dates, labels
from docmill.reading.labels import TextCell, TextRow, TextSheet
from docmill.reading.numbers import CODES
from docmill.reading.pages import Box
from docmill.reading.screens import quicken

Role = str

_TAX: Final = lexicon.amount_pattern("tax")
_TAX_OF_BASE: Final = re.compile(
    rf"{lexicon.amount_words('base_times')}\b[^a-z]*(?:x[^a-z]*)?%|.*% ?x ?dpp"
)
_PLUS: Final = re.compile(r"(?<=[^\W\d_]) ?\+ ?(?=[^\W\d_])")  # `Total + PPN` has the tax in it
_EXEMPT: Final = lexicon.amount_pattern("exempt")
_EXCL: Final = lexicon.amount_pattern("excluding")
_INCL: Final = lexicon.amount_pattern("including")
_UNTAXED: Final = re.compile(rf"\b{lexicon.amount_words('untaxed')}\W{{1,2}}$")
_NET: Final = lexicon.amount_pattern("net")
_SUB: Final = lexicon.amount_pattern("subtotal")
_GROSS: Final = lexicon.amount_pattern("gross")
_SUM: Final = lexicon.amount_pattern("sum")
_NOT_PAID: Final = lexicon.amount_pattern("not_paid")
_ALL_CHARGES: Final = lexicon.amount_pattern("all_charges")
_KINDS: Final = (
    (
        "carried",
        re.compile(
            rf"\b{lexicon.amount_words('carried')}\b|^{lexicon.amount_words('carried_first')}\b"
        ),
    ),
    ("other", lexicon.amount_pattern("identifier")),
    ("other", lexicon.amount_pattern("other")),
    ("withholding", lexicon.amount_pattern("withholding")),
    ("other_base", lexicon.amount_pattern("other_base")),
    (
        "base",
        re.compile(
            rf"\b{lexicon.amount_words('base')}\b|\b{lexicon.amount_words('reduced')}\b.*"
            rf"\b{lexicon.amount_words('after')}\b.*\b{lexicon.amount_words('discount')}\b"
        ),
    ),
    ("paid", lexicon.amount_pattern("paid")),
    ("due", lexicon.amount_pattern("due")),
    ("charge", lexicon.amount_pattern("charge")),
    ("discount", lexicon.amount_pattern("discount")),
    ("rounding", lexicon.amount_pattern("rounding")),
)
_CONCEPTS: Final = (  # every word that gives an amount a role is among theirs
    *("carried", "carried_first", "identifier", "other", "withholding", "other_base", "base"),
    *("reduced", "paid", "due", "charge", "discount", "rounding", "tax", "surely_gross", "gross"),
    *("net", "sum"),
)
_ANY_WORD: Final = re.compile(rf"\b{quicken(lexicon.join_words(_CONCEPTS))}")
_FIGURES: Final = re.compile(r"[\d.,%]+")
_DISCOUNT_START: Final = re.compile(lexicon.amount_words("discount_start"))
_AFTER_OR_BEFORE: Final = lexicon.amount_pattern("after_or_before")
_DATE_WORD: Final = re.compile(lexicon.amount_words("date_word"))
_SURELY_GROSS: Final = lexicon.amount_pattern("surely_gross")
_SURELY_NET: Final = lexicon.amount_pattern("surely_net")


@lru_cache(maxsize=4096)
def find_role(label: str) -> tuple[Role, float]:
    """The role of an amount with this label and how well the words say so; none is ("", 0)."""
    text = labels.fold(_PLUS.sub(" incl ", label), "%.-")
    if not _ANY_WORD.search(text):
        return "", 0.0
    for kind, pattern in _KINDS:
        if pattern.search(text) and not _is_overruled(kind, text):
            return kind, 0.9
    return _role_of_sum(text)


def _is_overruled(kind: str, text: str) -> bool:
    """`Total incl. freight`, `VAT on shipping`, `Amount before deposit` are not what they name."""
    if kind in {"charge", "discount"}:
        taxed = bool(_TAX.search(text)) and not _DISCOUNT_START.match(text)
        return (
            taxed
            or bool(_ALL_CHARGES.fullmatch(text))
            or bool(_INCL.search(text))
            or bool(_AFTER_OR_BEFORE.search(text))
        )
    if kind in {"base", "other_base"}:
        return bool(_TAX_OF_BASE.match(text))
    if kind == "due":
        return bool(_DATE_WORD.search(text))
    if kind == "paid":
        return bool(_NOT_PAID.search(text)) or (bool(_TAX.match(text)) and "%" in text)
    return False


def _role_of_sum(text: str) -> tuple[Role, float]:
    tax = _TAX.search(text)
    if tax:
        return _role_of_taxed(text, tax.start())
    if _SURELY_GROSS.search(text) or (_GROSS.search(text) and not _SURELY_NET.search(text)):
        return "gross", 1.0
    if _NET.search(text):
        return "net", 0.8 if _SUB.search(text) else 1.0
    if _SUM.search(text):
        return "gross", 0.75
    return "", 0.0


def _role_of_taxed(text: str, at: int) -> tuple[Role, float]:
    """Labels that name the tax: the tax itself, or a sum with or without it."""
    if _EXEMPT.search(text[at:]) and at and not _SUM.search(text):
        return "charge", 0.9
    if _UNTAXED.search(text[:at]):
        return "net", 0.9
    excluded, included = _EXCL.search(text), _INCL.search(text)
    net, total = _NET.search(text), _SUM.search(text) or _GROSS.search(text)
    if included and total and total.start() < included.start():
        return "gross", 1.0
    named = min((match.start() for match in (net, total) if match), default=len(text))
    if excluded and named <= excluded.start():
        return "net", 1.0
    if net and net.start() < at and not total:
        return "net", 0.8
    if _SURELY_GROSS.search(text):
        return "gross", 0.8
    return "tax", 1.0


EARLIER: Final = 0.35  # what a number is worth behind which another one stands
FROM_ABOVE: Final = 0.7
LEVEL: Final = 4.0  # points: how far the edges of one column may lie apart
ROWS_ABOVE: Final = 4
PROSE: Final = 70
IN_PROSE: Final = 0.6  # what an amount is worth in a sentence
LONG: Final = 6
_CONTEXT: Final = re.compile(
    rf"(?:\b{lexicon.amount_words('context')}|(?<!\w)[x×*@])\s*$", re.IGNORECASE
)
_INCLUDING: Final = re.compile(rf"\W*{lexicon.amount_words('tax_inside')}\b[^%]*", re.IGNORECASE)
_MONEY_SIGN: Final = re.compile(
    rf"(?<!\w)(?:[A-Z]{{0,3}}[$€£¥₹]|{'|'.join(sorted(CODES))}|[Rr][ps]|RM|S?Fr|K[čc]|zł|Ft|kr|F?CFA)"
    r"(?!\w)\.?"
)
_LETTERS: Final = re.compile(r"[^\W\d_]\.?[^\W\d_]")
_SHARE: Final = re.compile(r"\d{1,2}(?:[.,]\d{1,2})?\s?%")


@dataclass(frozen=True, slots=True)
class LabelledAmount:
    """A number that a label or heading gives a role."""

    role: str
    value: Decimal
    weight: float
    figure: PrintedNumber
    label: str
    page: int


def find_amounts(sheet: TextSheet, skipped: frozenset[int]) -> list[LabelledAmount]:
    """Every labelled amount outside the rows that are lines of the invoice."""
    found: list[LabelledAmount] = []
    known: dict[int, tuple[LabelledAmount, ...]] = sheet.kept.setdefault("amounts", {})
    for row in sheet.rows:
        if row.index not in skipped:
            if row.index not in known:
                known[row.index] = tuple(_row_amounts(sheet, row))
            found += known[row.index]
    return found


def _row_amounts(sheet: TextSheet, row: TextRow) -> Iterator[LabelledAmount]:
    inside = [figure for figure in find_figures(row, sheet.mark) if _is_money(figure)]
    inside = [figure for figure in inside if figure.is_marked or not is_in_date(figure)]
    for at, figure in enumerate(inside):
        label = _own_clause(inside[:at], figure) or find_amount_label(row, figure)
        if _CONTEXT.search(label) and not _INCLUDING.fullmatch(label):
            continue
        label = label if len(label) <= PROSE else ""
        follower = inside[at + 1] if at + 1 < len(inside) else None
        last = follower is None or _has_label_between(row, figure, follower)
        kind, weight = find_role(label) if label else ("", 0.0)
        if kind == "tax" and _is_id_like(figure) and not figure.number.currency:
            continue
        if kind:
            likely = not _is_id_like(figure) and not _is_part_of_words(figure)
            worth = weight * (1 if last else EARLIER) * (1 if likely else EARLIER)
            worth *= IN_PROSE if len(figure.cell.text) > PROSE else 1
            yield from _amounts_of_readings(kind, worth, figure, label)
        elif last and (label or _is_alone_under(sheet, row, figure)):
            yield LabelledAmount("", figure.number.value, 0.0, figure, label, figure.cell.page)
        if not kind or not last or (at and not _has_label_between(row, inside[at - 1], figure)):
            yield from _amounts_by_heading(sheet, row, figure)


def _is_alone_under(sheet: TextSheet, row: TextRow, figure: PrintedNumber) -> bool:
    """Whether nothing else stands in a row, and a column goes on in it from right above."""
    if len(row.cells) > 1 or not figure.is_marked or not row.index:
        return False
    above = sheet.rows[row.index - 1]
    near = above.page == row.page and row.y - above.y < CLOSE * figure.box.height
    last, own = above.cells[-1].box, figure.box
    return near and min(abs(last.x0 - own.x0), abs(last.x1 - own.x1)) < LEVEL


def _own_clause(before: list[PrintedNumber], figure: PrintedNumber) -> str:
    """In a sentence with several amounts, the words since the last one."""
    if not before or before[-1].cell is not figure.cell or len(figure.cell.text) < PROSE:
        return ""
    clause = figure.cell.text[before[-1].number.end : figure.number.start]
    return clause if _LETTERS.search(_without_numbers(clause)) else ""


def _amounts_of_readings(
    kind: str, weight: float, figure: PrintedNumber, label: str
) -> Iterator[LabelledAmount]:
    for order, value in enumerate(figure.number.readings):
        page = figure.cell.page
        yield LabelledAmount(kind, value, weight * (1 if not order else 0.6), figure, label, page)


def _is_id_like(figure: PrintedNumber) -> bool:
    """Whether a number is rather a telephone's or a tax office's: long, without any mark."""
    return len(figure.text) > LONG and figure.text.isdigit()


def _is_part_of_words(figure: PrintedNumber) -> bool:
    """Whether bare figures stand within words, as in `Net 15 days` and `Article 4(2)`."""
    if figure.number.currency or set(figure.text) & set(".,'"):
        return False
    text = figure.cell.text
    behind = text[figure.number.end :].strip()
    return bool(behind) or text[: figure.number.start].endswith(("(", "/", "-"))


def _is_money(figure: PrintedNumber) -> bool:
    return not figure.number.percent and len(figure.text.replace(" ", "")) <= 24


def is_in_date(figure: PrintedNumber) -> bool:
    """Whether a number is the day or year of a date, as in `Payment due May 29, 2025`."""
    at = figure.number.start
    return any(day.start <= at < day.end for day in dates.find_dates(figure.cell.text))


def find_amount_label(row: TextRow, figure: PrintedNumber) -> str:
    """The words a number belongs to: before it in its cell, else the nearest cell to the left."""
    own = figure.cell.text[: figure.number.start]
    if own and _LETTERS.search(_without_numbers(own)):
        return own
    left = [cell for cell in row.cells if cell.box.x1 <= figure.cell.box.x0 + 1]
    for index in range(len(left) - 1, -1, -1):
        if _has_words(left[index].text):
            return _join_label(left, index) + " " + own
    behind = figure.cell.text[figure.number.end :]
    if len(behind) < 30 and _has_words(behind):
        return behind
    right = next((cell.text for cell in row.cells if cell.box.x0 >= figure.cell.box.x1), "")
    return right if len(right) < 30 and not left and find_role(right)[0] else ""


def _join_label(left: list[TextCell], index: int) -> str:
    """A label cell, with the one before it where the two are one label with a wide gap."""
    text = left[index].text
    if index and not find_role(text)[0] and left[index].box.x0 - left[index - 1].box.x1 < 40:
        return left[index - 1].text + " " + text
    return text


def _has_words(text: str) -> bool:
    """Whether letters stand together that are no currency."""
    return _LETTERS.search(text) is not None and _LETTERS.search(_without_money(text)) is not None


def _without_money(text: str) -> str:
    return _MONEY_SIGN.sub("", text)


def _without_numbers(text: str) -> str:
    return _FIGURES.sub("", _without_money(text))


def _has_label_between(row: TextRow, first: PrintedNumber, second: PrintedNumber) -> bool:
    """Whether words stand between two numbers of a row, so that the second has its own label."""
    if first.cell is second.cell:
        between = first.cell.text[first.number.end : second.number.start]
        return _has_words(between)
    inner = [
        c for c in row.cells if first.cell.box.x1 <= c.box.x0 and c.box.x1 <= second.cell.box.x0
    ]
    texts = [cell.text for cell in inner]
    texts += [first.cell.text[first.number.end :], second.cell.text[: second.number.start]]
    return any(map(_has_words, texts))


CLOSE: Final = 3  # of the height: how near the headings of a column stand
COLUMNS: Final = 3
_SHARES_ONLY: Final = re.compile(r"^\s*%[^\d]*$|^[^\d]*%\s*\)?$")


def _amounts_by_heading(
    sheet: TextSheet, row: TextRow, figure: PrintedNumber
) -> Iterator[LabelledAmount]:
    """The role that the words right above a number give it; a bare figure is no amount there."""
    if not figure.is_marked:
        return
    box = figure.box
    for above in reversed(sheet.rows[max(row.index - ROWS_ABOVE, 0) : row.index]):
        if above.page != row.page or box.y0 - above.y > 5 * box.height:
            return
        over = next((cell.text for cell in above.cells if _is_heading_over(cell, box)), None)
        heading = over or _heading_left_of(row, above, box)
        if heading:
            kind, weight = find_role(heading)
            if kind and not _SHARES_ONLY.search(heading):
                yield from _amounts_of_readings(kind, weight * FROM_ABOVE, figure, heading)
            return


def _heading_left_of(row: TextRow, above: TextRow, box: Box) -> str | None:
    """The heading of a column that begins left of a number and ends right of it.

    In ruled tables headings stand at the left edge of a column and numbers at its right one.
    """
    heads = above.cells
    near = 0 < box.middle - above.y < CLOSE * box.height
    worded = all(not any(map(str.isdigit, cell.text)) for cell in heads)
    if not (near and worded) or min(len(heads), len(row.cells)) < COLUMNS:
        return None
    at = max((n for n, cell in enumerate(heads) if cell.box.x0 <= box.x0), default=-1)
    ends = at + 1 == len(heads) or heads[at + 1].box.x0 >= box.x1
    return heads[at].text if at >= 0 and ends else None


def _is_heading_over(cell: TextCell, box: Box) -> bool:
    """Whether a cell may be the heading of what stands below it: words, short and above it."""
    if cell.box.x0 >= box.x1 or cell.box.x1 <= box.x0 or cell.box.width > 200:
        return False
    bare = _SHARE.sub("", cell.text)
    return bool(_LETTERS.search(cell.text)) and not any(map(str.isdigit, bare))
