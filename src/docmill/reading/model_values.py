"""Values that a language model gives: each is believed as far as the page shows it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from docmill.core.fields import ValueKind
from docmill.core.texts import strip_invisible
from docmill.reading import dates, numbers
from docmill.reading.numbers import DecimalMark, currency_code
from docmill.reading.page_search import PageMatch, PageSearch, compact
from docmill.reading.pages import Value

SEEN: Final = 0.85  # by itself on the page, and nothing speaks against it
WEAK: Final = 0.6  # on the page, but in a sentence, or nothing says what it is
UNSEEN: Final = 0.3  # nowhere on the page, or only in a sentence that gives orders
GAIN: Final = 0.5  # of the doubt that is left goes where both readers agree
MOST_AGREED: Final = 0.97  # both read the same letters, which may be wrong
SHORTEST: Final = 3  # letters: less stands on every page
LONGEST: Final = 500
SHOWN: Final = 80
NOT_FOUND: Final = "which was not found on the page"
NUMBERS: Final = frozenset({ValueKind.AMOUNT, ValueKind.NUMBER, ValueKind.INTEGER})
_PLAIN: Final = re.compile(r"[+-]?\d{1,24}(?:\.\d{1,12})?")
_AROUND: Final = " \t,;:·|"


class Comparison(Enum):
    """How two readings of a value are to each other."""

    SAME = "same"
    ALIKE = "alike"  # one is part of the other
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class ModelValue:
    """What a model gave. `value` is empty where it is none of its kind; `match` is its place."""

    text: str
    kind: ValueKind
    value: str
    match: PageMatch | None = None

    @property
    def is_seen(self) -> bool:
        return self.match is not None and not self.match.ordered

    @property
    def is_plain(self) -> bool:
        """Whether it stands by itself on the page, and is not so short that anything would do."""
        match = self.match
        if match is None or match.ordered or match.told or not match.sure:
            return False
        return self.kind in NUMBERS or len(compact(self.value)) >= SHORTEST

    @property
    def confidence(self) -> float:
        return (SEEN if self.is_plain else WEAK) if self.is_seen else UNSEEN

    def to_value(self, confidence: float | None = None) -> Value:
        sure = self.confidence if confidence is None else confidence
        if self.match is None:
            return Value(self.value, sure)
        return Value(self.value, sure, self.match.page, self.match.box, self.match.text)

    def explain(self) -> str:
        """A sentence on what the model says, and what is wrong with it."""
        if self.is_seen:
            return f"The model reads {quote(self.text)}"
        if not self.value:
            return f"The model says {quote(self.text)}, which is no {self.kind}"
        if self.match:
            told = "which stands only in a sentence that gives orders to its reader"
            return f"The model says {quote(self.text)}, {told}"
        return f"The model says {quote(self.text)}, {NOT_FOUND}"


def quote(text: str) -> str:
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return f"“{cut}”"


@dataclass(frozen=True, slots=True)
class ModelValues:
    """Looks values up on the pages of one document."""

    search: PageSearch
    mark: DecimalMark = ""
    month_first: bool = False

    def check(self, kind: ValueKind, given: Any, *, signless: bool = False) -> ModelValue | None:
        """The value with the best of its places; None where nothing was given."""
        found = self.find(kind, given, signless=signless)
        return found and pick(*found)

    def find(
        self, kind: ValueKind, given: Any, *, signless: bool = False
    ) -> tuple[ModelValue, list[PageMatch]] | None:
        """The value, and all places where it stands."""
        if given is None or isinstance(given, (dict, list, bool)):
            return None
        text = " ".join(strip_invisible(str(given)).split())[:LONGEST]
        if not text:
            return None
        if kind in NUMBERS:
            return self._find_number(kind, text, signless=signless)
        if kind is ValueKind.DATE:
            return self._find_date(text)
        if kind is ValueKind.CURRENCY:
            code = currency_code(text)
            return ModelValue(text, kind, code), self.search.find_currency(code) if code else []
        value = text.strip(_AROUND)
        return ModelValue(text, kind, value), self.search.find_text(value)

    def _find_number(
        self, kind: ValueKind, text: str, *, signless: bool
    ) -> tuple[ModelValue, list[PageMatch]]:
        readings = read_numbers(text, self.mark)
        if not readings:
            return ModelValue(text, kind, ""), []
        first = abs(readings[0]) if signless else readings[0]
        found = self.search.find_number(readings, signless=signless)
        return ModelValue(text, kind, f"{first:f}"), found

    def _find_date(self, text: str) -> tuple[ModelValue, list[PageMatch]]:
        day = _read_iso(text) or dates.read_date(text, month_first=self.month_first)
        if day is None:
            return ModelValue(text, ValueKind.DATE, ""), []
        return ModelValue(text, ValueKind.DATE, day.isoformat()), self.search.find_date(day)


def pick(value: ModelValue, matches: Sequence[PageMatch]) -> ModelValue:
    """The value at the best of these places; as good as another, the later one."""
    if not matches:
        return value
    best = min(reversed(matches), key=lambda match: match.rank)
    shown = best.value.strip(_AROUND) if value.kind in {ValueKind.TEXT, ValueKind.ID} else ""
    return replace(value, value=shown or best.value, match=best)


def read_numbers(text: str, mark: DecimalMark) -> list[Decimal]:
    """What a model's number may be: as it was told to write, or as documents print them."""
    plain = [Decimal(text)] if _PLAIN.fullmatch(text) else []
    printed = numbers.read_number(text, mark)
    return list(dict.fromkeys([*plain, *(printed.readings if printed else ())]))


def _read_iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def compare(kind: ValueKind, one: str, other: str, *, signless: bool = False) -> Comparison:
    """How two values of a kind are to each other, both as results have them."""
    if kind in NUMBERS:
        first, second = Decimal(one), Decimal(other)
        same = abs(first) == abs(second) if signless else first == second
        return Comparison.SAME if same else Comparison.DIFFERENT
    left, right = compact(one), compact(other)
    if left == right:
        return Comparison.SAME
    texts = kind in {ValueKind.TEXT, ValueKind.ID} and left and right
    return Comparison.ALIKE if texts and (left in right or right in left) else Comparison.DIFFERENT


def agree(confidence: float) -> float:
    """How sure a value is when a second reader has read the same; never quite sure."""
    return max(confidence, min(MOST_AGREED, confidence + GAIN * (1 - confidence)))
