"""The numbers of a document with what the words around them say they are."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise, product
from typing import Final

from docmill.reading.labels import fold
from docmill.reading.numbers import Number, currency_code
from docmill.reading.pages import Box, Word
from docmill.trades.reader import lexicon
from docmill.trades.reader.rows import NoteRow

NEAR_WORDS: Final = 7  # so many words before a number may name it
HEADER_ABOVE: Final = 5
HEADER_FAR: Final = 90  # rows: so far down a table may go on under its head
SPREAD: Final = 1.3  # of the height: gaps so wide set columns apart
BESIDE: Final = 1.0
FAR: Final = 0.7
UNIT: Final = 1.0
UNDER: Final = 0.9
RATE_CHARS: Final = 60  # before a number: longer than any `1.0000 EUR = USD`
UNIT_CHARS: Final = 24  # behind a number: longer than any unit
IN_NAME: Final = 2  # numbers that a name may hold
MOST_CUTS: Final = 5  # numbers of a row that a space may part: two ways each
DAYS: Final = (
    *(pattern for _, pattern in lexicon.TRADE_DAY),
    lexicon.SETTLEMENT_DAY,
    lexicon.NOT_TRADE_DAY,
)
LONG: Final = 7  # figures without a separator: an account, not an amount
MONEY_ROLES: Final = frozenset({"notional", "settlement", "fees", "taxes"})
GAP: Final = "\t"  # between the words of two columns
_APART: Final = re.compile(rf"[ {GAP}]")
_PAIR: Final = re.compile(r"\b([A-Z]{3})(?: ?/ ?| )([A-Z]{3})\)?:?\s*$")
_EQUATION: Final = re.compile(r"\b1(?:[.,]0+)? [A-Z]{3} = (?:[A-Z]{3} )?$")
_LED: Final = re.compile(r"[A-Z]{3} [-+]?\d.* [A-Z]{3} [-+]?\d[\d.,'’]*$")  # codes lead numbers
_NUMBERED: Final = re.compile(r" \d")
_DIGIT: Final = re.compile(r"\d")
_IBAN: Final = re.compile(r"\b(?:iban|bic)\b(?: \w+)?")
_CODE: Final = re.compile(r"\b([A-Z]{3})\b")


@dataclass(frozen=True, slots=True)
class TradeFigure:
    """A number, where it stands, and how far the words speak for each role."""

    number: Number
    row: NoteRow
    roles: dict[str, float]
    currency: str
    order: tuple[str, ...] = ()  # the roles that the nearest head names, from left to right

    @property
    def value(self) -> Decimal:
        return abs(self.number.value)

    @property
    def text(self) -> str:
        return self.row.text[self.number.start : self.number.end]

    @property
    def box(self) -> Box:
        return self.row.place(self.number.start, self.number.end)

    @property
    def bare(self) -> bool:
        """Whether it is a long run of figures alone, or starts with a needless nought."""
        digits = self.text.strip("+-−– ")
        return digits.isdigit() and (len(digits) > LONG or (digits[0] == "0" and len(digits) > 1))

    def role(self, name: str) -> float:
        return self.roles.get(name, 0.0)

    def meets(self, other: "TradeFigure") -> bool:
        """Whether the two share letters."""
        return (
            self.row.index == other.row.index
            and self.number.start < other.number.end
            and other.number.start < self.number.end
        )


def judge_order(quantity: TradeFigure, price: TradeFigure) -> int:
    """Whether two numbers of a row stand as the head above names them: 1, or -1; 0 unknown."""
    order = quantity.order
    if quantity.row.index != price.row.index or not {"quantity", "price"} <= set(order):
        return 0
    first = order.index("quantity") < order.index("price")
    return 1 if first == (quantity.number.start < price.number.start) else -1


class FigureIndex:
    """Figures by the row they stand in, so that long documents cost no more by the row."""

    def __init__(self, figures: Iterable[TradeFigure]) -> None:
        self.all: list[TradeFigure] = sorted(figures, key=lambda figure: figure.row.index)
        self._rows: list[int] = [figure.row.index for figure in self.all]

    def within(self, first: int, last: int) -> list[TradeFigure]:
        """Those of some rows, both ends counted."""
        return self.all[bisect_left(self._rows, first) : bisect_right(self._rows, last)]


@dataclass(frozen=True, slots=True)
class Heading:
    """A word of a table's head: the role of its column and where it stands."""

    role: str
    box: Box
    currency: str
    row: int


def find_figures(rows: Sequence[NoteRow]) -> list[TradeFigure]:
    """All numbers of these rows, with their roles."""
    found: list[TradeFigure] = []
    heads = {row.index: find_headings(row) for row in rows}
    order: tuple[str, ...] = ()
    for at, row in enumerate(rows):
        order = tuple(one.role for one in heads[row.index]) or order
        if not row.numbers:
            continue
        head = _find_table_head(rows, at, heads)
        cut = _choose_cut(row, [one.role for one in head if one.role != "other"])
        over = _role_from_above(rows, at)
        money = _currencies_from_above(rows, at)
        for number in row.numbers:
            figure = replace(_make_figure(row, number, head, cut), order=order)
            if over and not figure.roles:
                figure = replace(figure, roles={over: UNDER})
            if not figure.currency and number.start in money:
                figure = replace(figure, currency=money[number.start])
            found.append(figure)
    return found


def _currencies_from_above(rows: Sequence[NoteRow], at: int) -> dict[int, str]:
    """The currencies that the row above ends with, for the last numbers of a row without any."""
    row = rows[at]
    if at == 0 or rows[at - 1].numbers or any(number.currency for number in row.numbers):
        return {}
    codes: list[str] = []
    for word in reversed(rows[at - 1].words):
        code = currency_code(word.text.strip("()"))
        if not code or not word.text.strip("()").isupper():
            break
        codes.append(code)
    last = [number.start for number in reversed(list_whole_numbers(row))]
    return dict(zip(last, codes, strict=False))


def _role_from_above(rows: Sequence[NoteRow], at: int) -> str:
    """The role that the row above ends with, for a row whose only number has no label."""
    if at == 0 or len(list_whole_numbers(rows[at])) != 1 or rows[at - 1].numbers:
        return ""
    label = lexicon.ASIDE.sub("", rows[at - 1].plain).strip()
    for role in ("settlement", "notional", "quantity", "price"):
        last = [match.end() for match in lexicon.NUMBERS[role].finditer(label)]
        if last and last[-1] == len(label):
            return role
    return ""


def find_headings(row: NoteRow) -> list[Heading]:
    """The columns a row names, if it is the head of a table: two roles or more, no numbers."""
    codes = all(_is_account(row.text[n.start : n.end]) for n in row.numbers)
    if not codes or not 2 <= len(row.words) <= 40:
        return []
    tokens = [(token, word) for word in row.words for token in fold(word.text).split()]
    text = _join_columns(tokens)
    found: list[tuple[int, int, str]] = []
    for role, pattern in lexicon.NUMBERS.items():
        found += [(match.start(), -match.end(), role) for match in pattern.finditer(text)]
    kept: list[Heading] = []
    end = 0
    days = [m.span() for pattern in DAYS for m in pattern.finditer(text)] if found else []
    for start, stop, role in sorted(found):
        if role == "price" and any(a <= start and -stop <= b for a, b in days):
            continue  # `NAV date` is a column of days
        if _NUMBERED.match(text, -stop):  # `Valor 26729122` is a label with its value
            continue
        if start < end or (kept and kept[-1].role == role and -stop - end < 20 and role != "other"):
            continue
        end = -stop
        word = tokens[len(_APART.findall(text[:start]))][1]
        kept.append(Heading(role, word.box, _currency_in(word.text), row.index))
    return kept if len({heading.role for heading in kept} - {"other"}) > 1 else []


def _join_columns(tokens: Sequence[tuple[str, Word]]) -> str:
    """The text of a head; no phrase goes over the gap between two columns."""
    parts: list[str] = []
    for at, (token, word) in enumerate(tokens):
        before = tokens[at - 1][1] if at else word
        wide = word.box.x0 - before.box.x1 > SPREAD * word.box.height
        parts += [GAP if wide else " ", token] if at else [token]
    return "".join(parts)


def _find_table_head(
    rows: Sequence[NoteRow], at: int, heads: dict[int, list[Heading]]
) -> list[Heading]:
    """The nearest head of a table above a row; from afar only one that names as many numbers."""
    counts: set[int] = set()
    for above in range(at - 1, max(at - 1 - HEADER_FAR, -1), -1):
        head = heads[rows[above].index]
        if not head:
            continue
        counts = counts or {len(cut) for cut in list_cuts(rows[at].numbers)}
        if at - above <= HEADER_ABOVE or _count_roles(head) in counts:
            return head
    return []


def _count_roles(head: Sequence[Heading]) -> int:
    return sum(item.role != "other" for item in head)


def list_whole_numbers(row: NoteRow) -> list[Number]:
    """The numbers of a row that are amounts, none of them a part of another."""
    return [n for n in row.numbers if not n.percent and not _is_inside(n, row.numbers)]


def list_cuts(numbers: Sequence[Number]) -> list[tuple[Number, ...]]:
    """The ways to cut a row into numbers: a space may group the figures of one, or part two."""
    plain = [n for n in numbers if not n.percent]
    ways = [_list_ways(n, plain) for n in plain if not _is_inside(n, plain)]
    if sum(len(one) > 1 for one in ways) > MOST_CUTS:
        return [tuple(n for one in ways for n in one[at]) for at in (0, -1)]
    return [tuple(n for part in cut for n in part) for cut in product(*ways)]


def _list_ways(number: Number, others: Sequence[Number]) -> list[tuple[Number, ...]]:
    """A number as a whole, and its parts where there are several."""
    inside = [n for n in others if n is not number and _is_inside(n, [number])]
    parts = tuple(n for n in inside if not any(_is_inside(o, [n]) for o in inside if o is not n))
    return [(number,), parts] if len(parts) > 1 else [(number,)]


def _choose_cut(row: NoteRow, roles: Sequence[str]) -> tuple[Number, ...]:
    """The numbers that stand under a head of so many roles, best those that multiply."""
    able = [cut for cut in list_cuts(row.numbers) if len(cut) == len(roles)] if roles else []
    return next((cut for cut in able if _multiplies(cut, roles)), able[0] if able else ())


def _multiplies(cut: Sequence[Number], roles: Sequence[str]) -> bool:
    named = {role: number.value for role, number in zip(roles, cut, strict=True)}
    if not named.keys() >= {"quantity", "price", "notional"}:
        return False
    total = abs(named["notional"])
    return abs(abs(named["quantity"] * named["price"]) - total) <= total / 200


def _make_figure(
    row: NoteRow, number: Number, head: Sequence[Heading], cut: Sequence[Number]
) -> TradeFigure:
    roles = {"fx": BESIDE} if _is_rate(row, number) else dict(_roles_from_left(row, number))
    behind = fold(row.text[number.end : number.end + UNIT_CHARS])
    if not number.currency and lexicon.UNITS.match(behind):
        roles["quantity"] = roles.get("quantity", 0.0) + UNIT
        roles.pop("other", None)  # `on your account 644 shares`
    if number.currency and MONEY_ROLES.intersection(roles):
        roles.pop("other", None)  # `Valor R$ 226,02`: where amounts are money, no Swiss number
    if lexicon.PER_UNIT.match(behind):
        roles["price"] = roles.get("price", 0.0) + UNIT
    column = _find_column(row, number, head, cut)
    if column and not roles.get("other") and not roles.get("fx"):
        roles[column.role] = max(roles.get(column.role, 0.0), UNDER)
    money = number.currency or _currency_before(row, number) or (column.currency if column else "")
    if number.currency and _LED.search(row.text):
        money = _currency_before(row, number) or money
    return TradeFigure(number, row, roles, money)


def _roles_from_left(row: NoteRow, number: Number) -> list[tuple[str, float]]:
    """The roles that the words before a number name, the nearest word first."""
    label = _label_before(row, number)
    found: list[tuple[int, int, str]] = []
    for role, pattern in lexicon.NUMBERS.items():
        spans = [match.span() for match in pattern.finditer(label)]
        found += [(end, end - start, role) for start, end in spans]
    if not found:
        return [("fx", BESIDE)] if not label and lexicon.NUMBERS["fx"].match(row.plain) else []
    last, length, _ = max(found)
    far = label[last:].count(" ") > 3
    best = [item for item in found if item[0] == last and item[1] >= length - 1]
    return [(role, FAR if far else BESIDE) for _, _, role in best]


def _label_before(row: NoteRow, number: Number) -> str:
    """The words before a number, back to the last amount; accounts and dates are stepped over."""
    before = [n for n in row.numbers if n.end <= number.start and not n.percent]
    start = max((n.end for n in before if not _is_account(row.text[n.start : n.end])), default=0)
    days = [day for day in row.days if start <= day.end <= number.start]
    since = max((day.end for day in days), default=start)
    text = fold(row.text[since : number.start])
    if before and since == start and _has_unit(row, before, start):
        text = lexicon.UNITS.sub("", text, count=1)
    if not lexicon.MONEY_FILLERS.sub("", text).strip() and days:
        text = " ".join(fold(row.text[start : day.start]) for day in days)
    late = [n for n in before if n.end >= since]
    rate = max((n for n in late if _is_rate(row, n)), key=lambda n: n.end, default=None)
    if rate is not None and rate.end == since and not lexicon.MONEY_FILLERS.sub("", text).strip():
        text = lexicon.RATE_WORDS.sub(" ", fold(row.text[: rate.start]))
    text = _IBAN.sub(" konto ", lexicon.ACCOUNT.sub(" konto ", text))
    return lexicon.ASIDE.sub("", " ".join(text.split()[-NEAR_WORDS:]))


def _has_unit(row: NoteRow, before: Sequence[Number], start: int) -> bool:
    """Whether a unit behind the number that ends here is its own, and no label of the next."""
    last = next((n for n in before if n.end == start), None)
    if last is None or not lexicon.UNITS.match(fold(row.text[start : start + UNIT_CHARS])):
        return False
    return {role for role, _ in _roles_from_left(row, last)} <= {"quantity"}


def _is_rate(row: NoteRow, number: Number) -> bool:
    """Whether a number stands behind `EUR/USD` or in `1 EUR = 1,08 USD`."""
    first = _DIGIT.search(row.text, number.start)
    end = first.start() if first else number.start
    before = row.text[max(end - RATE_CHARS, 0) : end]
    pair = _PAIR.search(before)
    known = pair is not None and all(currency_code(code) for code in pair.groups())
    return (known or bool(_EQUATION.search(before))) and not number.percent


def _is_account(text: str) -> bool:
    digits = text.strip("+-−– ")
    return digits.isdigit() and (len(digits) > 5 or (digits[0] == "0" and len(digits) > 1))


def _currency_before(row: NoteRow, number: Number) -> str:
    """A currency code among the two words before a number."""
    near = row.text[: number.start].split()[-2:]
    if near and any(char.islower() for char in near[-1]):
        near = near[-1:]
    codes = [code for word in near for code in _CODE.findall(word) if currency_code(code)]
    return currency_code(codes[-1]) if codes else ""


def _find_column(
    row: NoteRow, number: Number, head: Sequence[Heading], cut: Sequence[Number]
) -> Heading | None:
    """The column a number stands in: by its place, or by counting where places say nothing."""
    columns = [item for item in head if item.role != "other"]
    if not columns:
        return None
    if tail := _find_tail(row, columns):
        held = [number is one or _is_inside(number, [one]) for one in tail]
        return columns[held.index(True)] if any(held) else None
    same = [number == one or _is_same(number, one) for one in cut]
    if any(same):
        return columns[same.index(True)]
    box = row.place(number.start, number.end)
    if number.percent or not _is_spread(columns):
        return None
    over = [c for c in columns if c.box.x0 - 12 < box.x1 and box.x0 < c.box.x1 + 12]
    return over[0] if len(over) == 1 else None


def _find_tail(row: NoteRow, columns: Sequence[Heading]) -> list[Number]:
    """The last numbers of the row under a head, one for each column: figures in the name of the
    security stand before them, and a price may be in per cent."""
    numbers = [n for n in row.numbers if not _is_inside(n, row.numbers)]
    led = bool(numbers) and any(char.isalpha() for char in row.text[: numbers[0].start])
    roles = [column.role for column in columns]
    if not led or row.days or row.index - columns[0].row != 1 or roles[-1] not in MONEY_ROLES:
        return []
    if not 0 < len(numbers) - len(columns) <= IN_NAME or roles[:2] != ["quantity", "price"]:
        return []
    tail = numbers[-len(columns) :]
    kinds = zip(tail, columns, strict=True)
    fits = all(not n.percent or c.role == "price" for n, c in kinds)
    return tail if fits else []


def _is_spread(columns: Sequence[Heading]) -> bool:
    """Whether the head is set in columns, so that places mean something."""
    pairs = list(pairwise(columns))
    wide = [b.box.x0 - a.box.x1 > SPREAD * a.box.height for a, b in pairs]
    return bool(wide) and 2 * sum(wide) > len(wide)


def _is_inside(number: Number, others: Sequence[Number]) -> bool:
    """Whether a number is only a part of a longer one."""
    return any(
        other is not number and other.start <= number.start and number.end <= other.end
        for other in others
    )


def _is_same(number: Number, other: Number) -> bool:
    """Whether a number is another one without the currency beside it."""
    return number.readings == other.readings and _is_inside(number, [other])


def _currency_in(text: str) -> str:
    codes = [currency_code(part) for part in re.split(r"[^A-Za-z€$£]+", text) if part]
    return next((code for code in codes if code), "")
