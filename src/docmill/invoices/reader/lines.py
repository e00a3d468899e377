"""The lines of an invoice: the rows under headings that have an amount, or add up without."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations, pairwise, permutations, product
from statistics import median
from typing import Final

from docmill.invoices.fields import LINE_FIELDS
from docmill.invoices.reader.amounts import find_amount_label, find_role, is_in_date
from docmill.invoices.reader.columns import TaughtColumn, name_columns
from docmill.invoices.reader.layout import PrintedNumber, find_figures
from docmill.invoices.reader.line_fits import (
    PER,
    adds_up,
    complete_figures,
    fit_readings,
    is_based,
)
from docmill.invoices.reader.table import Column, Header, PlacedRow, find_headers, place_numbers
from docmill.reading.labels import TextRow, TextSheet

SAMPLE: Final = 8  # rows that are asked which columns add up
COLUMNS: Final = 6
LONG: Final = 5  # words: what a payment that is subtracted is called at most
STRAY: Final = 5.0  # of the height: how far from its amount a quantity or price may stand
_WORD: Final = re.compile(r"[^\W\d_]{3}")
_ACCOUNT: Final = re.compile(r"\b[A-Z]{2}\d\d(?: ?[0-9A-Z]{4}){3}")  # to pay to, in figures
_ENDS: Final = frozenset(
    {"net", "gross", "tax", "due", "paid", "base", "other_base", "withholding"}
)
_EXTRAS: Final = frozenset({"charge", "discount", "rounding"})
_STRAYS: Final = tuple(f.name for f in LINE_FIELDS if f.is_number and f.name != "amount")


@dataclass(frozen=True, slots=True)
class RawLine:
    """One line as it stands on the page: its numbers by kind, and the columns that have one."""

    header: Header
    row: TextRow
    figures: dict[str, PrintedNumber]
    taken: tuple[PrintedNumber, ...] = ()
    extra: str = ""
    places: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LineTable:
    """All lines found, and every row that is part of a table's body or heading."""

    lines: tuple[RawLine, ...] = ()
    rows: frozenset[int] = field(default_factory=frozenset[int])


def find_lines(sheet: TextSheet, taught: Sequence[TaughtColumn] = ()) -> LineTable:
    """All lines under all headings; a table goes on over pages until the totals."""
    headers = find_headers(sheet)
    if not headers:
        return LineTable()
    best = max(headers, key=lambda header: (header.worth, -header.first))
    used = [header for header in headers if _is_alike(header, best)]
    lines: list[RawLine] = []
    for at, header in enumerate(used):
        end = used[at + 1].first if at + 1 < len(used) else len(sheet.rows)
        lines += read_body(sheet, header, sheet.rows[header.last + 1 : end], taught)
    lines = _drop_empty(_drop_bare_figures(lines))
    rows: set[int] = set()
    for header in used:
        own = [raw.row.index for raw in lines if raw.header.first == header.first]
        rows |= set(range(header.first, max([*own, header.last]) + 1))
    return LineTable(tuple(lines), frozenset(rows))


def _drop_bare_figures(lines: list[RawLine]) -> list[RawLine]:
    """Lines without page numbers and the like: bare figures where amounts have cents or groups."""
    if 2 * sum(map(_has_marks, lines)) < len(lines):
        return lines
    return [raw for raw in lines if _has_marks(raw) or "unit_price" in raw.figures]


def _drop_empty(lines: list[RawLine]) -> list[RawLine]:
    """Lines without rows of rates and sums of nothing, which have no number of pieces."""
    if 2 * sum("quantity" in raw.figures for raw in lines) < len(lines):
        return lines
    return [raw for raw in lines if "quantity" in raw.figures or _says_something(raw)]


def _says_something(raw: RawLine) -> bool:
    return _has_words(raw.row) and bool(raw.figures["amount"].number.value)


def _has_marks(raw: RawLine) -> bool:
    return bool(set(raw.figures["amount"].text) & set(".,"))


def _is_alike(header: Header, best: Header) -> bool:
    if header is best:
        return True
    shared = len(header.kinds & best.kinds)
    return shared >= 2 and shared >= 0.6 * len(best.kinds)


def _amount_kind(header: Header) -> str:
    return next((kind for kind in ("amount", "gross", "unit_price") if header.has(kind)), "amount")


def count_proven(table: LineTable) -> int:
    """How many lines of a table add up."""
    return sum(adds_up(raw.figures) for raw in table.lines)


def read_body(
    sheet: TextSheet,
    header: Header,
    rows: Sequence[TextRow],
    taught: Sequence[TaughtColumn] = (),
) -> list[RawLine]:
    """The lines among these rows, in the columns of a heading."""
    header, placed = _place_rows(sheet, header, rows, taught)
    kind = _amount_kind(header)
    anchors: list[RawLine] = []
    ended = False
    for row in placed:
        amount = None if _ACCOUNT.search(row.row.text) else row.figure_of(header, kind)
        if amount is None:
            ended = ended or _closes_table(row, header)
            continue
        raw = _make_raw(header, row, amount)
        label = _row_role(row, header, amount)
        priced = "unit_price" in raw.figures and kind != "unit_price"
        full = "quantity" in raw.figures or priced
        both = "quantity" in raw.figures and "unit_price" in raw.figures
        counted = _is_numbered_next(row, header, len(anchors)) and (full or not ended)
        if (label == "carried" and not both) or (label == "other" and not full):
            continue
        if not full and label not in _EXTRAS and _lacks_number(row, header, anchors):
            ended = True
            continue
        ended = ended or (not full and _sums_up(anchors, raw, label))
        if label in _ENDS and not (both or counted or _only_mentions(row, header, label)):
            ended = True
        elif not ended or counted or (full and adds_up(raw.figures)):
            anchors.append(_mark_extra(raw, label, full or counted))
    return _add_strays(header, anchors, placed)


def _place_rows(
    sheet: TextSheet, header: Header, rows: Sequence[TextRow], taught: Sequence[TaughtColumn]
) -> tuple[Header, list[PlacedRow]]:
    named = name_columns(header, taught)
    placed = place_numbers(named, rows, sheet.mark)
    return _infer_columns(header, placed) if named is header else named, placed


def list_amount_rows(
    sheet: TextSheet, header: Header, rows: Sequence[TextRow]
) -> Iterator[RawLine]:
    """Every row with an amount in its column, whatever it is called: lines, and their sums."""
    header, placed = _place_rows(sheet, header, rows, ())
    kind = _amount_kind(header)
    for row in placed:
        if amount := row.figure_of(header, kind):
            yield _make_raw(header, row, amount)


def _row_role(row: PlacedRow, header: Header, amount: PrintedNumber) -> str:
    """What the words of a row make of its amount: all of them, or those right before it."""
    whole = find_role(_row_words(row, header))[0]
    near = find_role(find_amount_label(row.row, amount))[0]
    return near if near in _ENDS and whole not in _ENDS else whole


def _sums_up(anchors: Sequence[RawLine], raw: RawLine, label: str) -> bool:
    """Whether an amount by itself is what the lines above it come to, or those of its page.

    After a single line it may also be one more, where words say so and the first has no price.
    """
    if not anchors:
        return False
    counted = {"quantity", "unit_price"} <= anchors[0].figures.keys()
    if len(anchors) < 2 and not label and _has_words(raw.row) and not counted:
        return False
    here = [anchor for anchor in anchors if anchor.row.page == raw.row.page]
    totals = {sum(map(_likeliest_amount, each), Decimal(0)) for each in (anchors, here) if each}
    return any(reading in totals for reading in raw.figures["amount"].number.readings)


def _has_words(row: TextRow) -> bool:
    return any(_WORD.search(cell.text) for cell in row.cells)


def _likeliest_amount(raw: RawLine) -> Decimal:
    fit = next(iter(fit_readings(raw.figures)), None)
    return fit[3] if fit else raw.figures["amount"].number.value


def _is_numbered_next(row: PlacedRow, header: Header, before: int) -> bool:
    """Whether a row's own number goes on from the lines before it."""
    figure = row.figure_of(header, "position")
    return figure is not None and figure.number.value == before + 1


def _lacks_number(row: PlacedRow, header: Header, anchors: Sequence[RawLine]) -> bool:
    """Whether a row has no number of its own, where every line before it has one."""
    if not anchors or row.figure_of(header, "position"):
        return False
    return all("position" in anchor.places for anchor in anchors)


def _only_mentions(row: PlacedRow, header: Header, label: str) -> bool:
    """Whether a row only speaks of tax, as `Tax advice in March` does, or sells a down payment."""
    words = _row_words(row, header).split()
    if label == "paid":
        return len(words) > LONG
    rate = any(figure.number.percent for figure in (*row.loose, *row.numbers.values()))
    return label == "tax" and len(words) > 3 and not rate


def _infer_columns(header: Header, placed: Sequence[PlacedRow]) -> Header:
    """A heading whose columns are what makes most rows add up, where its words do not."""
    sample = [row for row in placed if len(row.numbers) > 2][:SAMPLE]
    if not sample or _score_columns(header, sample) * 4 >= len(sample):
        return header
    inside = sorted({index for row in sample for index in row.numbers})
    tried = [
        _rename_columns(
            header, dict(zip(("quantity", "unit_price", "amount"), chosen, strict=True))
        )
        for chosen in permutations(inside[-COLUMNS:], 3)
        if chosen[2] > chosen[1]
    ]
    kept = [column.kind for column in header.columns]
    best = max(
        tried,
        key=lambda made: (
            _score_columns(made, sample),
            sum(old == column.kind for old, column in zip(kept, made.columns, strict=True)),
        ),
        default=header,
    )
    held = _score_columns(best, sample)
    return (
        best if held * 2 > len(sample) and held > _score_columns(header, sample) + 0.5 else header
    )


def _rename_columns(header: Header, kinds: dict[str, int]) -> Header:
    """The same columns under other names; who had one of these names before has none."""
    named = {index: kind for kind, index in kinds.items()}
    columns = tuple(
        replace(column, kind=named.get(index, "" if column.kind in kinds else column.kind))
        for index, column in enumerate(header.columns)
    )
    return replace(header, columns=columns)


def _score_columns(header: Header, placed: Sequence[PlacedRow]) -> float:
    """How many rows add up; where quantity or price is one, that says little."""
    kind, held = _amount_kind(header), 0.0
    for row in placed:
        amount = row.figure_of(header, kind)
        raw = _make_raw(header, row, amount) if amount else None
        plain = raw and (header.has(PER) or not is_based(raw.figures))
        first = next(iter(fit_readings(raw.figures)), None) if raw and plain else None
        held += 0.0 if first is None else 0.9 if first[0] == 1 or first[1] == 1 else 1.0
    return held


def _closes_table(row: PlacedRow, header: Header) -> bool:
    """Whether a row without an amount in its column is a total all the same."""
    figures = (*row.numbers.values(), *row.loose)
    if all(figure.number.percent for figure in figures):
        return sum(find_role(cell.text)[0] in _ENDS for cell in row.row.cells) > 1
    if row.figure_of(header, "quantity") or row.figure_of(header, "unit_price"):
        return False
    return find_role(_row_words(row, header))[0] in {"net", "gross", "tax", "due"}


def _mark_extra(raw: RawLine, label: str, full: bool) -> RawLine:
    if label in _EXTRAS and not full:
        return replace(raw, extra=label)
    return raw


def _make_raw(header: Header, row: PlacedRow, amount: PrintedNumber) -> RawLine:
    figures = {kind: found for kind in _STRAYS if (found := row.figure_of(header, kind))}
    figures["amount"] = amount
    tried = list(complete_figures(header, row, figures))
    figures = next(filter(adds_up, tried), tried[0])
    places = frozenset([header.columns[index].kind for index in row.numbers])
    own = [figure for figure in figures.values() if figure.row == row.row.index]
    return RawLine(header, row.row, figures, (*row.numbers.values(), *own), places=places)


def _row_words(row: PlacedRow, header: Header) -> str:
    """The words of a row without the numbers that stand in columns."""
    return " ".join(cell.text for cell in row.row.cells if any(map(str.isalpha, cell.text)))


def _add_strays(
    header: Header, anchors: list[RawLine], placed: Sequence[PlacedRow]
) -> list[RawLine]:
    """Lines with the numbers that stand above or below their amount."""
    if not anchors:
        return []
    known = {anchor.row.index for anchor in anchors}
    strays: dict[int, list[tuple[str, PrintedNumber]]] = {}
    by_page: dict[int, list[tuple[int, RawLine]]] = {}
    for at, anchor in enumerate(anchors):
        by_page.setdefault(anchor.row.page, []).append((at, anchor))
    for row in placed:
        if row.row.index in known or row.row.index > anchors[-1].row.index + 12:
            continue
        if row.row.index > anchors[-1].row.index and find_role(row.row.text)[0] in _ENDS:
            break
        for kind in _STRAYS:
            figure = row.figure_of(header, kind)
            index = _nearest_line(by_page.get(row.row.page, []), row.row) if figure else None
            if figure and index is not None:
                strays.setdefault(index, []).append((kind, figure))
    return [_fill_line(anchor, strays.get(index, [])) for index, anchor in enumerate(anchors)]


def _nearest_line(anchors: list[tuple[int, RawLine]], row: TextRow) -> int | None:
    """The line on the page that a row of other numbers belongs to."""
    near = [
        (abs(anchor.row.y - row.y), index)
        for index, anchor in anchors
        if abs(anchor.row.y - row.y) <= STRAY * row.height
    ]
    return min(near)[1] if near else None


def _fill_line(raw: RawLine, strays: list[tuple[str, PrintedNumber]]) -> RawLine:
    """A line with stray numbers where it lacks some, or where only with them it adds up.

    A quantity that is printed in its row stays.
    """
    own = {**dict(reversed(strays)), **raw.figures}
    filled = replace(raw, figures=own, taken=(*raw.taken, *own.values()))
    if adds_up(own) or not strays:
        return filled
    for kind, figure in strays:
        other = replace(raw, figures={**own, kind: figure})
        kept = kind == "quantity" and kind in raw.figures
        if not kept and adds_up(other.figures):
            return replace(other, taken=(*raw.taken, *other.figures.values()))
    return filled


PRODUCT_ROWS: Final = 6  # under the last line: how far its product may stand
_TIMES: Final = re.compile(r"\s*(?:[^\W\d_]{1,10}\.?\s+)?[x×*@]\s*(?:[A-Za-z]{1,3}\.?)?\s*")


def add_products(sheet: TextSheet, lines: Sequence[RawLine]) -> list[RawLine]:
    """Lines that do not add up by their columns, with what is multiplied under them."""
    ends = [raw.row.index for raw in lines[1:]]
    ends += [raw.row.index + PRODUCT_ROWS for raw in lines[-1:]]
    return [
        _add_product(sheet, raw, sheet.rows[raw.row.index : end])
        for raw, end in zip(lines, ends, strict=True)
    ]


def _add_product(sheet: TextSheet, raw: RawLine, rows: Sequence[TextRow]) -> RawLine:
    if adds_up(raw.figures):
        return raw
    for one, two in _find_products(sheet, rows):
        quantity, price = sorted(
            (one, two), key=lambda item: (bool(item.number.currency), item.number.value)
        )
        found = {"quantity": quantity, "unit_price": price, "amount": raw.figures["amount"]}
        if adds_up(found):
            return replace(raw, figures=found, taken=(*raw.taken, one, two))
    return raw


def _find_products(
    sheet: TextSheet, rows: Sequence[TextRow]
) -> Iterator[tuple[PrintedNumber, PrintedNumber]]:
    for row in rows:
        for one, two in pairwise(find_figures(row, sheet.mark)):
            between = one.cell.text[one.number.end : two.number.start]
            if one.cell is two.cell and _TIMES.fullmatch(between):
                yield one, two


LETTERS: Final = 3
ALIGNED: Final = 6.0


def find_bare_lines(sheet: TextSheet, taught: Sequence[TaughtColumn] = ()) -> LineTable:
    """Rows that add up by themselves, and those in the same columns.

    None where only a quantity of one would prove it.
    """
    lines = [raw for row in sheet.rows if (raw := _bare_line(sheet, row))]
    telling = [raw for raw in lines if abs(raw.figures["quantity"].number.value) != 1]
    if not telling:
        return LineTable()
    first, last = lines[0].row.index, lines[-1].row.index
    if header := _common_header(lines):
        found = read_body(sheet, header, sheet.rows[first:], taught)
        lines = found if len(found) >= len(lines) else lines
        last = lines[-1].row.index
    return LineTable(tuple(lines), frozenset(range(first, last + 1)))


def _bare_line(sheet: TextSheet, row: TextRow) -> RawLine | None:
    found = find_figures(row, sheet.mark)
    plain = [figure for figure in found if not figure.number.percent]
    words = sum(map(str.isalpha, row.text))
    if (
        not 3 <= len(plain) <= 6
        or words < LETTERS
        or find_role(row.text)[0] in {"gross", "due", "paid"}
    ):
        return None
    shares = [figure for figure in found if figure.number.percent]
    plain = [figure for figure in plain if not is_in_date(figure)]
    return next(prove_line(row, plain, shares), None) if len(plain) > 2 else None


def prove_line(
    row: TextRow, found: list[PrintedNumber], shares: list[PrintedNumber]
) -> Iterator[RawLine]:
    """The ways in which two numbers of a row come to its last one."""
    pairs = [both for one in combinations(found[:-1], 2) for both in (one, one[::-1])]
    pairs.sort(key=lambda pair: _has_cents(pair[0]) > _has_cents(pair[1]))
    for (quantity, price), share in product(pairs, (None, *shares)):
        tried = {"quantity": quantity, "unit_price": price, "amount": found[-1]}
        tried |= {"discount": share} if share else {}
        if any(amount for *_, amount in fit_readings(tried)):
            yield RawLine(make_row_header(row, tried), row, tried, tuple(tried.values()))


def _has_cents(figure: PrintedNumber) -> bool:
    """Whether a number is printed as prices are."""
    return bool(figure.number.currency) or figure.text[-3:-2] in {".", ","}


def make_row_header(row: TextRow, known: dict[str, PrintedNumber]) -> Header:
    """Columns as this one row shows them."""
    columns = [Column("description", _words_start(row), _words_start(row) + 1, "")]
    columns += [Column(kind, fig.box.x0, fig.box.x1, "") for kind, fig in known.items()]
    made = sorted(columns, key=lambda column: column.x0)
    return Header(tuple(made), row.page, row.index, row.index)


def _words_start(row: TextRow) -> float:
    first = next((cell for cell in row.cells if any(map(str.isalpha, cell.text))), row.cells[0])
    return first.box.x0


def _common_header(lines: Sequence[RawLine]) -> Header | None:
    """The columns that most rows share, by where their numbers end; none where they differ."""
    first = lines[0].row
    ends = [raw.figures["amount"].box.x1 for raw in lines]
    if sum(abs(end - median(ends)) < ALIGNED for end in ends) * 2 <= len(lines):
        return None
    left = min(_words_start(raw.row) for raw in lines)
    columns = [Column("description", left, left + 1, "")]
    for kind in ("quantity", "unit_price", "discount", "amount"):
        boxes = [raw.figures[kind].box for raw in lines if kind in raw.figures]
        if boxes:
            x0, x1 = median(box.x0 for box in boxes), median(box.x1 for box in boxes)
            columns.append(Column(kind, x0, x1, ""))
    made = tuple(sorted(columns, key=lambda column: column.x0))
    return Header(made, first.page, first.index - 1, first.index - 1)
