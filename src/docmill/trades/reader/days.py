"""The days of a trade: when it was done and when it is settled, by words, else by their places."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from docmill.reading.labels import fold
from docmill.reading.pages import Value
from docmill.trades.reader import lexicon
from docmill.trades.reader.rows import Day, NoteRow, make_value

_CLOCK: Final = re.compile(
    r"[\s,T/-]*(?:um |at |às |a las |alle |om |à |o )?"
    r"(?:\d{1,2}:\d{2}(?!\d)|\d{2}\.\d{2}\.\d{2}(?!\d))"
)
TIMED: Final = 2.5  # a day with the time of day: when a deal was done, not when it is paid
IN_ANCHOR: Final = 9.0
UNNAMED: Final = 2.0
REFUSED: Final = -9.0
ABOVE: Final = 5
PROSE: Final = 9
WEAK: Final = 3.0
DISTANCE: Final = 0.04
SURE: Final = ((9.5, 0.96), (8.0, 0.9), (4.5, 0.8), (2.5, 0.65), (0.0, 0.5))
WORDED: Final = 0.9  # how sure a day above several trades is, if words call it that of trades
PLACED: Final = 0.8  # or if it only stands there
_LAST: Final = 40  # letters before a date that may name it
CERTAIN: Final = 10.0  # words name the day on which a deal was done
NAMED: Final = 4.9  # from this score on words say what a day is, and its place says no more
DONE: Final = 6.5  # with the time of day in such a row: more than the day of a booking has
IN_DEAL: Final = 2.0  # in the row of the quantity, the price or the notional
LAGS: Final = {0: -0.8, 1: 0.8, 2: 1.0, 3: 0.8, 4: 0.2, 5: 0.2}  # by working days to settlement
TOLD: Final = 1.1  # of the above, where words name the settlement
LETTER: Final = -1.0  # behind a town, or alone in a row
WEEKEND: Final = -1.5
LONELY: Final = -1.5  # far from all other days: a maturity
NEAR_DAYS: Final = 30
PERIOD: Final = -3.0
SATURDAY: Final = 5
_BETWEEN: Final = re.compile(r"\s*(?:[-–—]|\b[a-zà-ÿ]{1,4}\b)\s*")
_LABEL: Final = re.compile(r"[^\W\d_]{3} [^\W\d_]{2}|[^\W\d_]{6}")  # words that name a day
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
HEADING_WORDS: Final = 4  # beside its day: `Dealt on Tuesday`
HEAD_WORDS: Final = 24  # that the head of a table may have
FOLLOWING: Final = 3  # rows below a record in which its own day would stand
_TOWN: Final = re.compile(r"^[^\W\d_][\w .'-]{2,24},\s*(?:[a-z]{2,3} )?$")


@dataclass(frozen=True, slots=True)
class DateCandidate:
    """A date, how well it does as a trade date, and whether it is named as the settlement's."""

    row: NoteRow
    day: Day
    score: float
    settles: bool


def find_headings(
    rows: Sequence[NoteRow], records: Sequence[range], cores: Sequence[int]
) -> list[NoteRow | None]:
    """For each record the row above that holds the day of all below it, such as `Tuesday, 6 May
    2025`, where records are grouped by days and have none of their own.

    cores: for each record the row of its numbers.
    """
    alone = [row.index for row in rows if _is_heading(row)]
    first = max((at for at in alone if at < min(cores, default=0)), default=-1)
    repeated = {rows[at].plain for at in alone if at < first}  # the head of each page
    heads = [at for at in alone if rows[at].plain not in repeated]
    found = [max((at for at in heads if at < core), default=-1) for core in cores]
    if not found or found[0] < 0 or any(cores[-1] < at <= cores[-1] + FOLLOWING for at in heads):
        return [None] * len(cores)
    several = len({rows[at].days[0].day for at in found}) > 1
    telling = {one.row.index for one in find_day_candidates(rows, None) if _tells_day(one)}
    if not several or any(telling.intersection(record).difference(alone) for record in records):
        return [None] * len(cores)
    return [rows[at] for at in found]


def find_day_names(rows: Sequence[NoteRow], records: Collection[int]) -> dict[int, Sequence[str]]:
    """What the head of a table, however far above, calls the days of each record, where it names
    as many as the record has and more than one."""
    found: dict[int, Sequence[str]] = {}
    head: list[list[str]] = []
    for row in rows:
        if not row.days and not row.numbers and 1 < row.word_count <= HEAD_WORDS:
            ways = [_find_date_names(row.plain), _find_date_names(row.plain, every=True)]
            head = ways if len(ways[1]) > 1 else head
        elif len(row.days) > 1 and row.index in records:
            fitting = (names for names in head if len(names) == len(row.days))
            found[row.index] = next(fitting, ())
    return found


def read_heading(row: NoteRow) -> Value:
    """The day of a row that stands above records, as sure as its words make it."""
    (one,) = find_day_candidates([row], None)
    return _date_value(one, WORDED if one.score >= NAMED else PLACED)


def _is_heading(row: NoteRow) -> bool:
    """Whether it holds one day of trades, a few words, and nothing else."""
    if len(row.days) != 1 or row.numbers:
        return False
    (day,) = row.days
    rest = f"{row.text[: day.start]} {row.text[day.end :]}"
    few = len(_WORD.findall(rest)) <= HEADING_WORDS
    return few and all(_tells_day(one) for one in find_day_candidates([row], None))


def _tells_day(one: DateCandidate) -> bool:
    """Whether it may be the day of a trade."""
    return one.score > 0 and not one.settles


def find_day_candidates(
    rows: Sequence[NoteRow],
    anchor: NoteRow | None,
    *,
    named: Mapping[int, Sequence[str]] | None = None,
) -> list[DateCandidate]:
    """All dates of these rows. `named`: what the head of their table calls those of a row."""
    found: list[DateCandidate] = []
    for at, row in enumerate(rows):
        names = named.get(row.index) if named else None
        for index, day in enumerate(row.days):
            label = names[index] if names else _find_day_label(rows, at, index)
            settles = bool(lexicon.SETTLEMENT_DAY.search(label)) and _label_weight(label) < 10
            found.append(
                DateCandidate(row, day, _score_day(label, row, day, anchor, settles), settles)
            )
    return found


def weigh_places(
    candidates: Sequence[DateCandidate], deal_rows: Collection[int]
) -> list[DateCandidate]:
    """The days again; those that no word names gain or lose by where they stand, and by how many
    working days lie between them and the settlement."""
    days = sorted({one.day.day for one in candidates if one.score > REFUSED})
    named = {one.day.day for one in candidates if one.settles}
    settled = named or {day for day in [_find_last(candidates)] if day}
    factor = TOLD if named else 1.0
    found: list[DateCandidate] = []
    for one in candidates:
        if one.settles or not 0 < one.score < NAMED:
            found.append(one)
            continue
        score = one.score + factor * _weigh_lag(one.day.day, settled)
        far = one.score < WEAK and _is_far(one.day.day, days)
        weekend = one.day.day.weekday() >= SATURDAY
        score += (LONELY if far else 0.0) + (WEEKEND if weekend else 0.0)
        score += _weigh_place(one, deal_rows)
        if one.row.index in deal_rows and one.score == UNNAMED + TIMED:
            found.append(replace(one, score=DONE))
            continue
        found.append(replace(one, score=min(score, max(NAMED, one.score + 1))))
    return found


def _find_last(candidates: Sequence[DateCandidate]) -> date | None:
    """The last day printed below another that precedes it as a trade does its settlement."""
    able = [
        (one.day.day, one.row.index)
        for one in candidates
        if one.score > REFUSED and not _is_letter_day(one)
    ]
    followers = (
        day
        for day, at in able
        if any(
            above <= at and 0 < count_working_days(other, day) <= max(LAGS) for other, above in able
        )
    )
    return max(followers, default=None)


def count_working_days(first: date, last: date) -> int:
    """From Monday to Friday, holidays not known; days of a later one count as less than nought."""
    if last < first:
        return -count_working_days(last, first)
    weeks, rest = divmod((last - first).days, 7)
    days = (first + timedelta(days=at + 1) for at in range(rest))
    return 5 * weeks + sum(day.weekday() < SATURDAY for day in days)


def _weigh_lag(day: date, settled: Collection[date]) -> float:
    return max((LAGS.get(count_working_days(day, each), 0.0) for each in settled), default=0.0)


def _is_far(day: date, days: Sequence[date]) -> bool:
    return len(days) > 1 and all(abs((day - o).days) > NEAR_DAYS for o in days if o != day)


def _weigh_place(one: DateCandidate, deal_rows: Collection[int]) -> float:
    row = one.row
    if _is_in_period(row, one.day):
        return PERIOD
    if row.index in deal_rows:
        return IN_DEAL
    return LETTER if _is_letter_day(one) else 0.0


def _is_letter_day(one: DateCandidate) -> bool:
    """Whether it stands alone in its row, or behind a town."""
    before, behind = one.row.text[: one.day.start], one.row.text[one.day.end :]
    return not behind.strip() and (not before.strip() or bool(_TOWN.match(before)))


def _is_in_period(row: NoteRow, day: Day) -> bool:
    """Whether it is the first or the last of two days of a row that only `-` or `bis` parts."""
    ends = ((one.end, other.start) for one, other in zip(row.days, row.days[1:], strict=False))
    gaps = [(start, end) for start, end in ends if _BETWEEN.fullmatch(row.text[start:end])]
    return not row.numbers and any(day.end == start or day.start == end for start, end in gaps)


def find_trade_date(candidates: Sequence[DateCandidate], near: int) -> Value | None:
    """The date that says best when the trade was done; among equals the nearest to a row."""
    able = [one for one in candidates if one.score > REFUSED / 2]
    if not able:
        return None

    def rank(one: DateCandidate) -> float:
        return one.score - DISTANCE * min(abs(one.row.index - near), 60)

    best = max(able, key=rank)
    sure = next((value for least, value in SURE if best.score >= least), 0.3)
    return _date_value(best, sure)


def find_settlement_date(candidates: Sequence[DateCandidate], near: int) -> Value | None:
    named = [one for one in candidates if one.settles]
    best = min(named, key=lambda one: abs(one.row.index - near), default=None)
    return _date_value(best, 0.9) if best else None


def _date_value(one: DateCandidate, sure: float) -> Value:
    return make_value(one.row, one.day.start, one.day.end, one.day.day.isoformat(), sure)


def _score_day(label: str, row: NoteRow, day: Day, anchor: NoteRow | None, settles: bool) -> float:
    weight = _label_weight(label)
    if lexicon.NOT_TRADE_DAY.search(label):
        return REFUSED
    if settles and weight < 10:
        return REFUSED / 3
    inside = anchor is not None and row.index == anchor.index
    if weight >= 10 and inside:
        return weight + 0.5
    if weight and not (inside and weight == WEAK):
        return weight if row.word_count <= PROSE or weight > WEAK else UNNAMED - 1
    if inside:
        return IN_ANCHOR + (0.5 if day.start < 3 else 0.0)
    timed = bool(_CLOCK.match(row.text, day.end))
    return UNNAMED + (TIMED if timed else 1.0 if lexicon.ON.search(label) else 0.0)


def _label_weight(label: str) -> float:
    """What the words say: those that end nearest to the date, the most of them."""
    found = [
        (match.end(), match.end() - match.start(), weight)
        for weight, pattern in lexicon.TRADE_DAY
        for match in pattern.finditer(label)
    ]
    settles = [match.end() for match in lexicon.SETTLEMENT_DAY.finditer(label)]
    if not found:
        return 0.0
    end, _, weight = max(found)
    return 0.0 if settles and max(settles) > end else float(weight)


def _find_day_label(rows: Sequence[NoteRow], at: int, index: int) -> str:
    """The words before a date in its row; else those over it."""
    row, day = rows[at], rows[at].days[index]
    start = row.days[index - 1].end if index else 0
    before = row.text[start : day.start][-_LAST:]
    label = fold(re.sub(r"\d[\d.,:'/-]*", " ", before))
    if (
        _label_weight(label)
        or lexicon.SETTLEMENT_DAY.search(label)
        or lexicon.NOT_TRADE_DAY.search(label)
    ):
        return label
    own = len(row.days) == 1 and not row.numbers and _LABEL.search(label)
    head = "" if own else next(_names_above(rows, at, index), "")
    return head or label


def _names_above(rows: Sequence[NoteRow], at: int, index: int) -> Iterator[str]:
    """The words of a table's head that name the dates below, counted or by their place."""
    row = rows[at]
    for above in range(at - 1, max(at - 1 - ABOVE, -1), -1):
        if rows[above].days or rows[above].numbers:
            continue
        names = _find_date_names(rows[above].plain)
        if not names:
            continue
        if len(names) == len(row.days):
            yield names[index]
        elif not _are_mixed(names):
            yield names[min(index, len(names) - 1)]


def _are_mixed(names: Sequence[str]) -> bool:
    """Whether some name a settlement and some a trade, so that counting tells nothing."""
    settles = [bool(lexicon.SETTLEMENT_DAY.search(name)) for name in names]
    return any(settles) and not all(settles)


def _find_date_names(text: str, *, every: bool = False) -> list[str]:
    """The words for dates in a head, from left to right; `every`: of days of no trade, too."""
    patterns = [pattern for _, pattern in lexicon.TRADE_DAY] + [lexicon.SETTLEMENT_DAY]
    patterns += [lexicon.NOT_TRADE_DAY] if every else []
    spans = sorted({match.span() for pattern in patterns for match in pattern.finditer(text)})
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return [text[start:end] for start, end in kept]
