"""The day of an invoice and the day by which to pay: by label, in prose, or by the terms."""

import calendar
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.candidates import PLACES, HeaderCandidate, choose_best, make_candidate
from docmill.invoices.reader.currency import find_country
from docmill.reading import dates, labels
from docmill.reading.labels import (
    Phrase,
    TextCell,
    TextRow,
    TextSheet,
    ValueSpot,
    Where,
    find_below,
    find_spots,
    make_cell,
    match_labels,
)
from docmill.reading.numbers import has_figure
from docmill.reading.pages import Value

SHORT: Final = 40  # characters: what may be a label
LATEST: Final = 400  # days: nobody gives more time to pay
AROUND: Final = 70  # characters: how far words belong to a number of days
WRAPS: Final = 25  # characters: a shorter line is not broken
LAST_WORD: Final = 12  # characters
LINES: Final = 2  # that a sentence goes on for
LEADING: Final = 1.8  # of the height: how far they lie apart
PERIOD: Final = 15  # characters between the first day of a period and its last
BY_TERMS: Final = 0.5
USUAL: Final = 100  # days: more time to pay is rarely given
OF_ORDER: Final = 0.3  # what the day of the order is worth, where no other is named
OF_ANOTHER: Final = 0.05  # the second day in a line with the number: that of an order
_NET: Final = re.compile(r"\bnet(?:to)?\s?(\d{1,3})(?![\d.,%])", re.IGNORECASE)
_DISCOUNT: Final = lexicon.amount_pattern("discount")
_END: Final = re.compile(r"[aeiouyà-ÿ]\w{0,2}[.;!?]\s+(?=[A-ZÀ-Þ])")  # no abbreviation has it
_LABELLED: Final = re.compile(r"[^.:]{2,30}:")
_SLASHED: Final = re.compile(r"\d[/-]\d{1,2}[/-]\d")
_STOP: Final = re.compile(r"(?:(?<!\d)|(?<=\d{4}))[.;!?]\s+(?=[A-ZÀ-Þ])")
_MONTH_FIRST_COUNTRIES: Final = ("US", "GB", "CA", "AU", "NZ", "IN", "SG", "HK", "ID")


BETWEEN: Final = 3  # letters: words like `del` and `vom` that lead from a number to its day
TITLE: Final = 25  # letters before a date that may be a title and a number; more are a sentence


def order_days(sheet: TextSheet) -> TextSheet:
    """The sheet; dates put the month first where the page is American and none says otherwise."""
    texts = [row.text for row in sheet.rows]
    told = dates.has_month_first(texts)
    if told is not None or not any(_SLASHED.search(text) for text in texts):
        return replace(sheet, month_first=bool(told))
    first = sheet.month_first or dates.has_clock(texts)  # both are told sooner than the country
    first = first or find_country(sheet, _MONTH_FIRST_COUNTRIES) == "US"
    return replace(sheet, month_first=first)


def read_days(
    sheet: TextSheet, phrases: list[Phrase], number: Value | None
) -> tuple[Value | None, Value | None]:
    """The day of the invoice and that of payment.

    Where nothing says whether the month comes first, the order counts in which payment is due a
    usual time after the invoice.
    """
    ordered = order_days(sheet)
    issued = find_issue_date(ordered, phrases, number)
    due = find_due_date(ordered, phrases, issued)
    if _is_usual(issued, due) or dates.has_month_first(row.text for row in sheet.rows) is not None:
        return issued, due
    turned = replace(ordered, month_first=not ordered.month_first)
    other = find_issue_date(turned, phrases, number)
    later = find_due_date(turned, phrases, other)
    swapped = other and issued and other.value != issued.value
    return (other, later) if swapped and later and _is_usual(other, later) else (issued, due)


def _is_usual(issued: Value | None, due: Value | None) -> bool:
    if not issued or not due:
        return False
    return date.fromisoformat(due.value) - date.fromisoformat(issued.value) <= timedelta(USUAL)


def find_issue_date(sheet: TextSheet, phrases: list[Phrase], number: Value | None) -> Value | None:
    """The day of the invoice: by its label, beside its number, or the first date of the page."""
    found: list[HeaderCandidate] = []
    kinds = ((lexicon.DATE, 1.0), (lexicon.DATE_PLAIN, 0.8), (lexicon.DATE_LOOSE, 0.6))
    for pattern, weight in kinds:
        for phrase in match_labels(phrases, pattern):
            before = "" if phrase.first else labels.squeeze(phrase.cell.text[: phrase.start])
            if weight < 1 and not _is_plain_date(before + (phrase.key if weight < 0.8 else "")):
                continue
            if len(phrase.key) <= BETWEEN and (len(before) > TITLE or not _is_plain_date(before)):
                continue
            found += _date_candidates(sheet, phrase, weight)
    for row in sheet.rows:
        found += _unlabelled_dates(sheet, row, number)
    return choose_best(found, 0.1) or choose_best(_order_dates(sheet, phrases))


def _order_dates(sheet: TextSheet, phrases: list[Phrase]) -> Iterator[HeaderCandidate]:
    """The day of the order: a shop's invoice often has no other."""
    for phrase in match_labels(phrases, lexicon.DATE_LOOSE):
        if lexicon.ORDER_DATE.fullmatch(phrase.key):
            yield from _date_candidates(sheet, phrase, OF_ORDER)


def _is_plain_date(before: str) -> bool:
    """Whether what stands before `date` leaves it the invoice's: nothing, a town or a title."""
    return not lexicon.NOT_DATE.fullmatch(before) and not before.endswith(("nr", "no"))


def _date_candidates(sheet: TextSheet, phrase: Phrase, weight: float) -> Iterator[HeaderCandidate]:
    for spot in find_spots(sheet, phrase):
        found = dates.find_dates(spot.text, month_first=sheet.month_first, packed=weight == 1.0)
        if found and found[0].start <= 12 and not _is_other_date(spot, found[0].start):
            score = weight - PLACES[spot.where] - 0.05 * (spot.cell.page - 1)
            start, end = spot.start + found[0].start, spot.start + found[0].end
            day = found[0].day.isoformat()
            yield make_candidate(day, score, cell=spot.cell, start=start, end=end)
            return
        if spot.where is Where.BEHIND and spot.text.strip(" :()"):
            return


def _is_other_date(spot: ValueSpot, upto: int) -> bool:
    """Whether words between label and date make it another date (`Date de facture associée`)."""
    between = spot.text[:upto]
    return bool(lexicon.NOT_DATE.fullmatch(labels.squeeze(between))) or (
        spot.where is Where.BEHIND and between.rstrip().endswith(":")
    )


def _unlabelled_dates(
    sheet: TextSheet, row: TextRow, number: Value | None
) -> Iterator[HeaderCandidate]:
    """Dates without a label of their own; better high up, and better still beside the number."""
    days = 0
    for column, cell in enumerate(row.cells):
        for found in dates.find_dates(cell.text, month_first=sheet.month_first):
            own = cell.text[: found.start].strip()
            left = row.cells[column - 1].text if column and not own else ""
            before = labels.squeeze(own or left)
            height = cell.box.middle / sheet.height(cell.page) + (cell.page - 1)
            score = 0.4 - 0.3 * min(height, 1)
            if _is_of_number(row, number, own or left):
                score = 0.85 if not days else OF_ANOTHER
            elif re.search(r"[^\W\d_]{3,},\s*(?:den|le|the|li|lì|dnia|dne)?\s*$", own):
                score = 0.75 - 0.2 * min(height, 1)
            elif lexicon.NOT_DATE.fullmatch(before) or len(before) > TITLE:
                score = 0.05
            day = found.day.isoformat()
            days += 1
            yield make_candidate(day, score, cell=cell, start=found.start, end=found.end)


def _is_of_number(row: TextRow, number: Value | None, before: str) -> bool:
    """Whether a day follows the invoice's number, as in `Invoice 12 of 4 May, your order of ..`."""
    if not number or not lexicon.OF_DAY.search(before):
        return False
    return bool(re.search(rf"(?<!\w){re.escape(number.value)}(?!\w)", row.text))


def find_due_date(sheet: TextSheet, phrases: list[Phrase], issued: Value | None) -> Value | None:
    """The day by which to pay, where the page says one or the days that there are."""
    found: list[HeaderCandidate] = []
    for phrase in match_labels(phrases, lexicon.DUE):
        found += _date_candidates(sheet, phrase, 1.0)
    for row in sheet.rows:
        found += _due_in_prose(sheet, row)
    day = date.fromisoformat(issued.value) if issued else None
    if not day:
        return choose_best(found, 0.3)
    found += _due_by_terms(sheet, phrases, day)
    latest = (day + timedelta(LATEST)).isoformat()
    possible = (item for item in found if day.isoformat() <= item.value <= latest)
    return choose_best(possible, 0.3)


def _due_in_prose(sheet: TextSheet, row: TextRow) -> Iterator[HeaderCandidate]:
    """`Zahlbar ... bis 04.04.2018`: a day in a sentence that speaks of paying by it.

    The sentence may go on in the lines below.
    """
    for column, cell in enumerate(row.cells):
        speaks = lexicon.DUE_LOWERED.search(cell.text.lower())  # several times as fast
        wraps = len(cell.text) >= WRAPS
        if not speaks and not (wraps and _may_go_on(sheet, cell)):
            continue
        found = _due_in_text(sheet, cell) if speaks else None
        if not found and wraps:
            found = _due_in_text(sheet, _read_on(sheet, row, cell))
        if found:
            yield found
        elif speaks and len(cell.text) < SHORT and lexicon.BY.search(cell.text):
            yield from _date_beside(sheet, row, column)


def _may_go_on(sheet: TextSheet, cell: TextCell) -> bool:
    """Whether a line without words of paying has a day, or ends right before one."""
    return bool(lexicon.BY.search(cell.text[-LAST_WORD:]) or _find_days(sheet, cell.text))


def _find_days(sheet: TextSheet, text: str) -> list[dates.FoundDate]:
    return dates.find_dates(text, month_first=sheet.month_first)


def _due_in_text(sheet: TextSheet, cell: TextCell) -> HeaderCandidate | None:
    """The first day in a sentence that speaks of paying."""
    words = lexicon.DUE_PROSE.finditer(cell.text)
    found = (_due_beside(sheet, cell, word.start()) for word in words)
    return next(filter(None, found), None)


def _due_beside(sheet: TextSheet, cell: TextCell, word: int) -> HeaderCandidate | None:
    """The first day behind a word of paying; none of a period or for less money."""
    begin = _start_of_due(sheet, cell, word)
    stop = _END.search(cell.text, word)
    text = cell.text[begin : stop.end() if stop else None]
    upto = 0
    for day, behind in _without_periods(_find_days(sheet, text)):
        clause = text[upto : day.start]
        clause += re.split("[,;]", text[day.end : behind])[0] if behind else ""
        if not lexicon.NOT_DUE.search(clause):
            if not lexicon.BY.search(text[: day.start]):
                return None
            start, end = begin + day.start, begin + day.end
            return make_candidate(day.day.isoformat(), 0.8, cell=cell, start=start, end=end)
        upto = day.end
    return None


def _without_periods(
    found: list[dates.FoundDate],
) -> Iterator[tuple[dates.FoundDate, int]]:
    """Days that are neither the first nor the last of a period, with where the next one starts."""
    near = [two.start - one.end < PERIOD for one, two in pairwise(found)]
    for at, day in enumerate(found):
        if not any(near[max(at - 1, 0) : at + 1]):
            yield day, found[at + 1].start if at + 1 < len(found) else 0


def _read_on(sheet: TextSheet, row: TextRow, cell: TextCell) -> TextCell:
    """A line of prose with the lines that go on below it."""
    words, last, edge = list(cell.words), cell, cell.box.x0
    for other in sheet.rows[row.index + 1 : row.index + 1 + LINES]:
        below = next((one for one in other.cells if abs(one.box.x0 - edge) < labels.EDGE), None)
        near = below and below.box.middle - last.box.middle < LEADING * last.box.height
        if not below or not near or other.page != row.page or _LABELLED.match(below.text):
            break
        words += below.words
        last = below
    return make_cell(words, cell.page) if last is not cell else cell


def _start_of_due(sheet: TextSheet, cell: TextCell, word: int) -> int:
    """Where words that tell of paying begin: at a day before them in the same sentence, where
    none follows (`ist bis 04.04.2018 ohne Abzug zahlbar`)."""
    if _find_days(sheet, cell.text[word:]):
        return word
    stops = [match.end() for match in _STOP.finditer(cell.text, 0, word)]
    begin = stops[-1] if stops else 0
    return begin if _find_days(sheet, cell.text[begin:word]) else word


def _date_beside(sheet: TextSheet, row: TextRow, column: int) -> Iterator[HeaderCandidate]:
    """The date next to a short text, or right under it."""
    box = row.cells[column].box
    near = [*row.cells[column + 1 : column + 2], *(cell for _, cell in find_below(sheet, row, box))]
    for cell in near[:2]:
        found = dates.find_dates(cell.text, month_first=sheet.month_first)
        if found and found[0].start < 4:
            day = found[0]
            iso = day.day.isoformat()
            yield make_candidate(iso, 0.7, cell=cell, start=day.start, end=day.end)
            return


def _due_by_terms(
    sheet: TextSheet, phrases: list[Phrase], issued: date
) -> Iterator[HeaderCandidate]:
    """`14 days net`, `zahlbar innerhalb von 30 Tagen`: so many days after the invoice's."""
    for row in sheet.rows:
        for column, cell in enumerate(row.cells):
            left = _label_left(row, column)
            yield from _days_in(cell, left if len(left) < SHORT else "", issued)
    for pattern in (lexicon.DUE, lexicon.TERMS):
        for phrase in match_labels(phrases, pattern):
            below = (spot for spot in find_spots(sheet, phrase) if spot.where is Where.BELOW)
            for spot in list(below)[:1]:
                yield from _days_in(spot.cell, phrase.cell.text, issued)


def _label_left(row: TextRow, column: int) -> str:
    """The words left of a cell; a colon may stand in a cell of its own between them."""
    before = (cell.text for cell in reversed(row.cells[:column]) if cell.text.strip(" :=."))
    return next(before, "")


def _days_in(cell: TextCell, label: str, issued: date) -> Iterator[HeaderCandidate]:
    """The days that a text gives to pay; `label` is what stands before it."""
    if not has_figure(cell.text):
        return
    for match in (*lexicon.DAYS.finditer(cell.text), *_NET.finditer(cell.text)):
        count, clause = int(match[1]), f"{label} {_clause(cell, match)}"
        if not 0 < count <= LATEST // 2 or not _speaks_of_paying(clause, _part(cell, match)):
            continue
        day = issued + timedelta(count)
        if lexicon.MONTH_END.search(clause):
            day = day.replace(day=calendar.monthrange(day.year, day.month)[1])
        start, end = match.span()
        yield make_candidate(day.isoformat(), BY_TERMS, cell=cell, start=start, end=end)


def _clause(cell: TextCell, match: re.Match[str]) -> str:
    """The words around a number of days, in its own sentence."""
    before = _STOP.split(cell.text[max(match.start() - AROUND, 0) : match.start()])[-1]
    behind = _STOP.split(cell.text[match.start() : match.end() + AROUND])[0]
    return before + behind


def _part(cell: TextCell, match: re.Match[str]) -> str:
    """The same up to the commas on both sides."""
    before = cell.text[: match.start()].rpartition(",")[2]
    return before + cell.text[match.start() :].partition(",")[0]


def _speaks_of_paying(clause: str, part: str) -> bool:
    """Whether days are those to pay in: no discount's, and none of what is late or sent back."""
    paying = lexicon.DUE_PROSE.search(clause) or lexicon.TERMS_PROSE.search(clause)
    discount = _DISCOUNT.search(labels.fold(part))
    return bool(paying) and not discount and not lexicon.LATE.search(clause)
