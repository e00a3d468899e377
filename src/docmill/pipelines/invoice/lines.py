"""The lines of an invoice: rows under a heading, put together from what belongs to one amount."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import permutations
from typing import Final

from docmill.pipelines.invoice.amounts import label_of
from docmill.pipelines.invoice.arithmetic import fits
from docmill.pipelines.invoice.columns import Placed, place
from docmill.pipelines.invoice.headers import Header, headers_of
from docmill.pipelines.invoice.layout import Figure, Row, Sheet
from docmill.pipelines.invoice.roles import role

SAMPLE: Final = 8  # rows that are asked which columns add up
COLUMNS: Final = 6
LONG: Final = 5  # words: what a payment that is subtracted is called at most
STRAY: Final = 5.0  # of the height: how far from its amount a quantity or price may stand
_ENDS: Final = frozenset(
    {"net", "gross", "tax", "due", "paid", "base", "other_base", "withholding"}
)
_EXTRAS: Final = frozenset({"charge", "discount", "rounding"})
_NUMERIC: Final = ("quantity", "unit_price", "discount", "tax_rate", "amount")


@dataclass(frozen=True, slots=True)
class Raw:
    """One line as it stands on the page: its numbers by kind, and the rows it takes."""

    header: Header
    row: Row
    figures: dict[str, Figure]
    taken: tuple[Figure, ...] = ()
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """All lines found, and every row that is part of a table's body or heading."""

    lines: tuple[Raw, ...] = ()
    rows: frozenset[int] = field(default_factory=frozenset[int])


def lines_of(sheet: Sheet) -> Table:
    """All lines under all headings; a table goes on over pages until the totals."""
    headers = headers_of(sheet)
    if not headers:
        return Table()
    best = max(headers, key=lambda header: (header.worth, -header.first))
    used = [header for header in headers if _alike(header, best)]
    lines: list[Raw] = []
    rows: set[int] = set()
    for at, header in enumerate(used):
        end = used[at + 1].first if at + 1 < len(used) else len(sheet.rows)
        found = body(sheet, header, sheet.rows[header.last + 1 : end])
        lines += found
        last = found[-1].row.index if found else header.last
        rows |= set(range(header.first, last + 1))
    return Table(tuple(_of_one_kind(lines)), frozenset(rows))


def _of_one_kind(lines: list[Raw]) -> list[Raw]:
    """Lines without page numbers and the like: bare figures where amounts have cents or groups."""
    if 2 * sum(map(_marked_off, lines)) < len(lines):
        return lines
    return [raw for raw in lines if _marked_off(raw) or "unit_price" in raw.figures]


def _marked_off(raw: Raw) -> bool:
    return bool(set(raw.figures["amount"].text) & set(".,"))


def _alike(header: Header, best: Header) -> bool:
    if header is best:
        return True
    shared = len(header.kinds & best.kinds)
    return shared >= 2 and shared >= 0.6 * len(best.kinds)


def _amount_kind(header: Header) -> str:
    return next((kind for kind in ("amount", "gross", "unit_price") if header.has(kind)), "amount")


def proven(table: Table) -> int:
    """How many lines of a table add up."""
    return sum(map(_holds, table.lines))


def body(sheet: Sheet, header: Header, rows: Sequence[Row]) -> list[Raw]:
    """The lines among these rows, in the columns of a heading."""
    placed = place(header, rows, sheet.mark)
    header = _inferred(header, placed)
    kind = _amount_kind(header)
    anchors: list[Raw] = []
    ended = False
    for row in placed:
        amount = row.of(header, kind)
        if amount is None:
            ended = ended or _closes(row, header)
            continue
        raw = _raw(header, row, amount)
        label = _label(row, header, amount)
        full = "quantity" in raw.figures or "unit_price" in raw.figures
        both = "quantity" in raw.figures and "unit_price" in raw.figures
        counted = _counted(row, header, len(anchors)) and (full or not ended)
        if label == "carried" and not both:
            continue
        ended = ended or (not full and _sums_up(anchors, raw))
        if label in _ENDS and not (both or counted or _described(row, header, label)):
            ended = True
        elif not ended or counted or (full and _holds(raw)):
            anchors.append(_marked(raw, label, full or counted))
    return _filled(header, anchors, placed)


def _label(row: Placed, header: Header, amount: Figure) -> str:
    """What the words of a row make of its amount: all of them, or those right before it."""
    whole = role(_words(row, header))[0]
    near = role(label_of(row.row, amount))[0]
    return near if near in _ENDS and whole not in _ENDS else whole


def _sums_up(anchors: Sequence[Raw], raw: Raw) -> bool:
    """Whether an amount by itself is what the lines above it come to."""
    if len(anchors) < 2:
        return False
    total = sum((_likeliest(anchor) for anchor in anchors), Decimal(0))
    return total in raw.figures["amount"].number.readings


def _likeliest(raw: Raw) -> Decimal:
    fit = next(iter(fits(raw.figures)), None)
    return fit[3] if fit else raw.figures["amount"].number.value


def _counted(row: Placed, header: Header, before: int) -> bool:
    """Whether a row's own number goes on from the lines before it."""
    figure = row.of(header, "position")
    return figure is not None and figure.number.value == before + 1


def _described(row: Placed, header: Header, label: str) -> bool:
    """Whether a row only speaks of tax, as `Tax advice in March` does, or sells a down payment."""
    words = _words(row, header).split()
    if label == "paid":
        return len(words) > LONG
    rate = any(figure.number.percent for figure in (*row.loose, *row.numbers.values()))
    return label == "tax" and len(words) > 3 and not rate


def _inferred(header: Header, placed: Sequence[Placed]) -> Header:
    """A heading whose columns are what makes most rows add up, where its words do not."""
    sample = [row for row in placed if len(row.numbers) > 2][:SAMPLE]
    if not sample or _held(header, sample) * 4 >= len(sample):
        return header
    inside = sorted({index for row in sample for index in row.numbers})
    tried = [
        _renamed(header, dict(zip(("quantity", "unit_price", "amount"), chosen, strict=True)))
        for chosen in permutations(inside[-COLUMNS:], 3)
        if chosen[2] > chosen[1]
    ]
    kept = [column.kind for column in header.columns]
    best = max(
        tried,
        key=lambda made: (
            _held(made, sample),
            sum(old == column.kind for old, column in zip(kept, made.columns, strict=True)),
        ),
        default=header,
    )
    held = _held(best, sample)
    return best if held * 2 > len(sample) and held > _held(header, sample) + 0.5 else header


def _renamed(header: Header, kinds: dict[str, int]) -> Header:
    """The same columns under other names; who had one of these names before has none."""
    named = {index: kind for kind, index in kinds.items()}
    columns = tuple(
        replace(column, kind=named.get(index, "" if column.kind in kinds else column.kind))
        for index, column in enumerate(header.columns)
    )
    return replace(header, columns=columns)


def _held(header: Header, placed: Sequence[Placed]) -> float:
    """How many rows add up; where quantity or price is one, that says little."""
    kind, held = _amount_kind(header), 0.0
    for row in placed:
        amount = row.of(header, kind)
        raw = _raw(header, row, amount) if amount else None
        first = next(iter(fits(raw.figures)), None) if raw else None
        held += 0.0 if first is None else 0.9 if first[0] == 1 or first[1] == 1 else 1.0
    return held


def _closes(row: Placed, header: Header) -> bool:
    """Whether a row without an amount in its column is a total all the same."""
    if not row.numbers and not row.loose:
        return sum(role(cell.text)[0] in _ENDS for cell in row.row.cells) > 1
    if row.of(header, "quantity") or row.of(header, "unit_price"):
        return False
    return role(_words(row, header))[0] in {"net", "gross", "tax", "due"}


def _marked(raw: Raw, label: str, full: bool) -> Raw:
    if label in _EXTRAS and not full:
        return replace(raw, extra=label)
    return raw


def _raw(header: Header, row: Placed, amount: Figure) -> Raw:
    figures = {kind: found for kind in _NUMERIC if (found := row.of(header, kind))}
    figures["amount"] = amount
    raw = Raw(header, row.row, figures, tuple(row.numbers.values()))
    return raw if "discount" in figures or _holds(raw) else _discounted(raw, row)


def _discounted(raw: Raw, row: Placed) -> Raw:
    """A line with a share that stands in no column, where only with it the line adds up."""
    for figure in (*row.loose, *row.numbers.values()):
        tried = replace(raw, figures={**raw.figures, "discount": figure})
        if figure.number.percent and _holds(tried):
            return replace(tried, taken=(*raw.taken, figure))
    return raw


def _words(row: Placed, header: Header) -> str:
    """The words of a row without the numbers that stand in columns."""
    return " ".join(
        cell.text for cell in row.row.cells if any(char.isalpha() for char in cell.text)
    )


def _holds(raw: Raw) -> bool:
    return any(True for _ in fits(raw.figures))


def _filled(header: Header, anchors: list[Raw], placed: Sequence[Placed]) -> list[Raw]:
    """Lines with the numbers that stand above or below their amount."""
    if not anchors:
        return []
    known = {anchor.row.index for anchor in anchors}
    strays: dict[int, list[tuple[str, Figure]]] = {}
    by_page: dict[int, list[tuple[int, Raw]]] = {}
    for at, anchor in enumerate(anchors):
        by_page.setdefault(anchor.row.page, []).append((at, anchor))
    for row in placed:
        if row.row.index in known or row.row.index > anchors[-1].row.index + 12:
            continue
        for kind in _NUMERIC[:4]:
            figure = row.of(header, kind)
            index = _nearest(by_page.get(row.row.page, []), row.row) if figure else None
            if figure and index is not None:
                strays.setdefault(index, []).append((kind, figure))
    return [_with(anchor, strays.get(index, [])) for index, anchor in enumerate(anchors)]


def _nearest(anchors: list[tuple[int, Raw]], row: Row) -> int | None:
    """The line on the page that a row of other numbers belongs to."""
    near = [
        (abs(anchor.row.y - row.y), index)
        for index, anchor in anchors
        if abs(anchor.row.y - row.y) <= STRAY * row.height
    ]
    return min(near)[1] if near else None


def _with(raw: Raw, strays: list[tuple[str, Figure]]) -> Raw:
    """A line with stray numbers where it lacks some, or where only with them it adds up."""
    own = {**dict(reversed(strays)), **raw.figures}
    filled = replace(raw, figures=own, taken=(*raw.taken, *own.values()))
    if _holds(filled) or not strays:
        return filled
    for kind, figure in strays:
        other = replace(raw, figures={**own, kind: figure})
        if _holds(other):
            return replace(other, taken=(*raw.taken, *other.figures.values()))
    return filled
