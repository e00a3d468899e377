"""Requested fields: candidates are collected by label page by page, and chosen at the end."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from docmill.core.field_request import RequestedField
from docmill.core.fields import ValueKind
from docmill.extract.reader.labels import LabelledField
from docmill.extract.reader.likeness import ALIKE, find_meanings, is_label_like, rate_label
from docmill.extract.reader.pairs import LabelValue, find_pairs, words_between
from docmill.extract.reader.parties import SURE, WHY, find_parties
from docmill.extract.reader.values import TEXT, Conventions, FittedValue, fit_value, kind_of
from docmill.reading import numbers
from docmill.reading.blocks import Block
from docmill.reading.pages import Box, Line, Page, make_line

KEPT: Final = 100  # of each field, the likeliest
NEAR: Final = 0.06  # candidates closer than this are alike
DOUBTED: Final = 0.6
LATER: Final = 0.02  # a page that comes later is less likely to be the one
BY_TYPE: Final = 0.55
SHOWN: Final = 60
OTHERS: Final = 5

_KIN: Final = {
    "ow": ("total", "due"), "in": ("issue", "document"), "is": ("invoice",), "gr": ("total",),
    "do": ("invoice",),
}  # fmt: skip


PlaceBox = Callable[[int | None, Box | None], list[float] | None]


@dataclass(frozen=True, slots=True)
class FieldCandidate:
    """A pair whose label is like the field's name."""

    pair: LabelValue
    like: float
    fit: FittedValue | None = None

    @property
    def rank(self) -> float:
        sure = self.fit.sure if self.fit else 0
        return self.like * sure + 0.1 * self.pair.sure - LATER * min(self.pair.page - 1, 5)

    @property
    def confidence(self) -> float:
        return min(self.like, 1) * self.pair.sure * (self.fit.sure if self.fit else 0)


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """What was found for one field: its value and where that stands, or why there is none."""

    fit: FittedValue | None = None
    confidence: float = 0
    page: int | None = None
    box: Box | None = None
    text: str | None = None
    label: str = ""
    why: str = ""
    others: tuple["FieldAnswer", ...] = ()

    def to_json(self, kind: ValueKind, place: PlaceBox) -> dict[str, Any]:
        value = self.fit.value if self.fit else None
        shape: dict[str, Any] = {
            "value": value,
            "type": str(kind),
            "confidence": round(self.confidence, 2),
            "page": self.page,
            "box": place(self.page, self.box),
            "text": self.text,
            "label": self.label or None,
        }
        if self.fit and self.fit.currency:
            shape["currency"] = self.fit.currency
        if self.why:
            shape["why"] = self.why
        if self.others:
            shape["others"] = [other.to_json(kind, place) for other in self.others]
        return shape


class LabelSearch:
    """Holds what may answer each field, and nothing else of the pages."""

    def __init__(self, asked: Sequence[RequestedField]) -> None:
        self.asked: Sequence[RequestedField] = asked
        self._held: list[dict[tuple[int, Box], FieldCandidate]] = [{} for _ in asked]
        self._money: dict[str, LabelValue] = {}
        self._parties: Mapping[str, Line] = {}
        self._by_stem: dict[str, set[int]] = {}
        for index, field in enumerate(asked):
            words = find_meanings(f"{field.name} {field.title} {field.description}")
            for word in words:
                self._by_stem.setdefault(word[:2], set()).add(index)

    def look(self, page: Page, fields: Sequence[LabelledField], blocks: Sequence[Block]) -> None:
        for pair in find_pairs(page, fields, blocks):
            for index in self._near(pair.label):
                self._take(index, pair)
        if any(field.kind is ValueKind.CURRENCY for field in self.asked):
            self._look_for_money(page)
        if page.number == 1 and any(_requested_party(field) for field in self.asked):
            self._parties = find_parties(page)

    def _near(self, label: str) -> set[int]:
        """The fields that share the beginning of a word with a label; the others can't be meant."""
        stems = {word[:2] for word in find_meanings(label)}
        stems |= {word[:2] for stem in stems for word in _KIN.get(stem, ())}
        return {index for stem in stems for index in self._by_stem.get(stem, ())}

    def _take(self, index: int, pair: LabelValue) -> None:
        field = self.asked[index]
        like = rate_label(field, pair.label)
        if like < ALIKE or (field.kind is ValueKind.TEXT and is_label_like(pair.text)):
            return
        if _requested_party(field) and kind_of(pair.text) != TEXT:
            return
        held = self._held[index]
        place, candidate = (pair.page, pair.box), FieldCandidate(pair, like)
        if place not in held or _is_better(candidate, held[place]):
            held[place] = candidate
        if len(held) > 2 * KEPT:
            best = sorted(held.items(), key=lambda item: (-item[1].like, -item[1].pair.sure))
            self._held[index] = dict(best[:KEPT])

    def _look_for_money(self, page: Page) -> None:
        for line in page.lines:
            for number in numbers.find_numbers(line.text):
                if number.currency and number.currency not in self._money:
                    words = make_line(words_between(line.words, number.start, number.end))
                    pair = LabelValue("", words.text, page.number, words.box, BY_TYPE)
                    self._money[number.currency] = pair

    def answer(self, conventions: Conventions) -> list[FieldAnswer]:
        """An answer for each field, in the order they were asked."""
        fitting = [
            [
                FieldCandidate(
                    one.pair, one.like, fit_value(one.pair.text, field.kind, conventions)
                )
                for one in held
            ]
            for field, held in zip(self.asked, (each.values() for each in self._held), strict=True)
        ]
        best = _best_claims(fitting)
        return [
            self._answer(field, _rank_unclaimed(all_of, best), all_of)
            for field, all_of in zip(self.asked, fitting, strict=True)
        ]

    def _answer(
        self,
        field: RequestedField,
        left: Sequence[FieldCandidate],
        all_of: Sequence[FieldCandidate],
    ) -> FieldAnswer:
        if left:
            return _choose(_largest_first(left) if _is_total(field) else left)
        if field.kind is ValueKind.CURRENCY and len(self._money) == 1:
            ((code, pair),) = self._money.items()
            return _to_answer(
                FieldCandidate(pair, 1.0, FittedValue(code)), "the only currency of its amounts"
            )
        if name := self._parties.get(_requested_party(field)):
            return FieldAnswer(FittedValue(name.text), SURE, 1, name.box, name.text, why=WHY)
        return FieldAnswer(why=_explain_nothing(field, all_of))


def _requested_party(field: RequestedField) -> str:
    """`seller` or `buyer`, if that is who is asked for."""
    words = {*find_meanings(field.name)} - {"name"}
    return words.pop() if field.kind is ValueKind.TEXT and words in ({"seller"}, {"buyer"}) else ""


def _is_better(one: FieldCandidate, other: FieldCandidate) -> bool:
    return (one.like, one.pair.sure) > (other.like, other.pair.sure)


PageBox = tuple[int, Box]


def _best_claims(fitting: Iterable[Sequence[FieldCandidate]]) -> dict[PageBox, float]:
    """How like the best label for each place is: nothing less like may have it."""
    best: dict[PageBox, float] = {}
    for candidates in fitting:
        for one in candidates:
            place = (one.pair.page, one.pair.box)
            if one.fit and one.like > best.get(place, 0):
                best[place] = one.like
    return best


def _rank_unclaimed(
    candidates: Sequence[FieldCandidate], best: Mapping[PageBox, float]
) -> list[FieldCandidate]:
    """Those that fit and that no other field has a better claim to, best first."""
    kept = [
        one
        for one in candidates
        if one.fit and one.like >= best[one.pair.page, one.pair.box] - NEAR
    ]
    return sorted(kept, key=lambda one: -one.rank)


def _is_total(field: RequestedField) -> bool:
    return field.kind is ValueKind.AMOUNT and "total" in find_meanings(field.name)


def _largest_first(ranked: Sequence[FieldCandidate]) -> list[FieldCandidate]:
    """Of totals that are as likely, the one that holds the others."""
    near = [one for one in ranked if one.rank >= ranked[0].rank - NEAR]
    rest = ranked[len(near) :]
    return [*sorted(near, key=lambda one: -Decimal(one.fit.value if one.fit else 0)), *rest]


def _choose(ranked: Sequence[FieldCandidate]) -> FieldAnswer:
    first = ranked[0]
    others = [*_find_alternatives(first, ranked[1:])][:OTHERS]
    if not others:
        return _to_answer(first)
    why = f"{len(others) + 1} labels are as like it"
    return _to_answer(first, why, tuple(_to_answer(one) for one in others))


def _find_alternatives(
    first: FieldCandidate, rest: Iterable[FieldCandidate]
) -> Iterator[FieldCandidate]:
    """What might as well be the value, and is another."""
    seen = {str(first.fit and first.fit.value)}
    for one in rest:
        value = str(one.fit and one.fit.value)
        if one.rank >= first.rank - NEAR and value not in seen:
            seen.add(value)
            yield one


def _to_answer(
    one: FieldCandidate, why: str = "", others: tuple[FieldAnswer, ...] = ()
) -> FieldAnswer:
    pair = one.pair
    confidence = one.confidence * (DOUBTED if others else 1)
    return FieldAnswer(
        one.fit, confidence, pair.page, pair.box, pair.text, _trim_label(pair.label), why, others
    )


def _explain_nothing(field: RequestedField, candidates: Sequence[FieldCandidate]) -> str:
    if not candidates:
        return "no label like it was found"
    unfit = [one for one in candidates if one.fit is None]
    if not unfit:
        return "what was found under such a label belongs to another field"
    pair = max(unfit, key=lambda one: (one.like, one.pair.sure)).pair
    said = pair.text if len(pair.text) <= SHOWN else pair.text[: SHOWN - 1] + "…"
    return (
        f"{_trim_label(pair.label)!r} on page {pair.page} says {said!r}, which is no {field.kind}"
    )


def _trim_label(label: str) -> str:
    return label.rstrip(" :")
