"""Fields somebody asks for, sought by their labels while the pages pass, chosen at the end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from docmill.core.asked import Asked, Kind
from docmill.pipelines.extract.evidence import between
from docmill.pipelines.extract.fields import Field
from docmill.pipelines.extract.fitting import Fit, fit
from docmill.pipelines.extract.kinds import TEXT, kind
from docmill.pipelines.extract.likeness import ALIKE, alike
from docmill.pipelines.extract.meanings import is_label_like, meanings
from docmill.pipelines.extract.normal import Customs
from docmill.pipelines.extract.pairing import Pair, pairs_of
from docmill.pipelines.extract.parties import SURE, WHY, parties
from docmill.reading import numbers
from docmill.reading.blocks import Block
from docmill.reading.pages import Box, Line, Page, line_of

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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair whose label is like the field's name."""

    pair: Pair
    like: float
    fit: Fit | None = None

    @property
    def rank(self) -> float:
        sure = self.fit.sure if self.fit else 0
        return self.like * sure + 0.1 * self.pair.sure - LATER * min(self.pair.page - 1, 5)

    @property
    def confidence(self) -> float:
        return min(self.like, 1) * self.pair.sure * (self.fit.sure if self.fit else 0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for one field: its value and where that stands, or why there is none."""

    fit: Fit | None = None
    confidence: float = 0
    page: int | None = None
    box: Box | None = None
    text: str | None = None
    label: str = ""
    why: str = ""
    others: tuple["Answer", ...] = ()

    def shown(self, kind: Kind, *, boxed: bool) -> dict[str, Any]:
        value = self.fit.value if self.fit else None
        shape: dict[str, Any] = {
            "value": value,
            "type": str(kind),
            "confidence": round(self.confidence, 2),
            "page": self.page,
            "box": self.box.rounded() if self.box and boxed else None,
            "text": self.text,
            "label": self.label or None,
        }
        if self.fit and self.fit.currency:
            shape["currency"] = self.fit.currency
        if self.why:
            shape["why"] = self.why
        if self.others:
            shape["others"] = [other.shown(kind, boxed=boxed) for other in self.others]
        return shape


class Seeker:
    """Holds what may answer each field, and nothing else of the pages."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.asked: Sequence[Asked] = asked
        self._held: list[dict[tuple[int, Box], Candidate]] = [{} for _ in asked]
        self._money: dict[str, Pair] = {}
        self._parties: Mapping[str, Line] = {}
        self._by_stem: dict[str, set[int]] = {}
        for index, field in enumerate(asked):
            words = meanings(f"{field.name} {field.title} {field.description}")
            for word in words:
                self._by_stem.setdefault(word[:2], set()).add(index)

    def look(self, page: Page, fields: Sequence[Field], blocks: Sequence[Block]) -> None:
        for pair in pairs_of(page, fields, blocks):
            for index in self._near(pair.label):
                self._take(index, pair)
        if any(field.kind is Kind.CURRENCY for field in self.asked):
            self._look_for_money(page)
        if page.number == 1 and any(_party(field) for field in self.asked):
            self._parties = parties(page)

    def _near(self, label: str) -> set[int]:
        """The fields that share the beginning of a word with a label; the others can't be meant."""
        stems = {word[:2] for word in meanings(label)}
        stems |= {word[:2] for stem in stems for word in _KIN.get(stem, ())}
        return {index for stem in stems for index in self._by_stem.get(stem, ())}

    def _take(self, index: int, pair: Pair) -> None:
        field = self.asked[index]
        like = alike(field, pair.label)
        if like < ALIKE or (field.kind is Kind.TEXT and is_label_like(pair.text)):
            return
        if _party(field) and kind(pair.text) != TEXT:
            return
        held = self._held[index]
        place, candidate = (pair.page, pair.box), Candidate(pair, like)
        if place not in held or _better(candidate, held[place]):
            held[place] = candidate
        if len(held) > 2 * KEPT:
            best = sorted(held.items(), key=lambda item: (-item[1].like, -item[1].pair.sure))
            self._held[index] = dict(best[:KEPT])

    def _look_for_money(self, page: Page) -> None:
        for line in page.lines:
            for number in numbers.find(line.text):
                if number.currency and number.currency not in self._money:
                    words = line_of(between(line.words, number.start, number.end))
                    pair = Pair("", words.text, page.number, words.box, BY_TYPE)
                    self._money[number.currency] = pair

    def found(self, customs: Customs) -> list[Answer]:
        """An answer for each field, in the order they were asked."""
        fitting = [
            [Candidate(one.pair, one.like, fit(one.pair.text, field.kind, customs)) for one in held]
            for field, held in zip(self.asked, (each.values() for each in self._held), strict=True)
        ]
        best = _claims(fitting)
        return [
            self._answer(field, _left(all_of, best), all_of)
            for field, all_of in zip(self.asked, fitting, strict=True)
        ]

    def _answer(
        self, field: Asked, left: Sequence[Candidate], all_of: Sequence[Candidate]
    ) -> Answer:
        if left:
            return _chosen(_largest_first(left) if _is_total(field) else left)
        if field.kind is Kind.CURRENCY and len(self._money) == 1:
            ((code, pair),) = self._money.items()
            return _said(Candidate(pair, 1.0, Fit(code)), "the only currency of its amounts")
        if name := self._parties.get(_party(field)):
            return Answer(Fit(name.text), SURE, 1, name.box, name.text, why=WHY)
        return Answer(why=_why(field, all_of))


def _party(field: Asked) -> str:
    """`seller` or `buyer`, if that is who is asked for."""
    words = {*meanings(field.name)} - {"name"}
    return words.pop() if field.kind is Kind.TEXT and words in ({"seller"}, {"buyer"}) else ""


def _better(one: Candidate, other: Candidate) -> bool:
    return (one.like, one.pair.sure) > (other.like, other.pair.sure)


Place = tuple[int, Box]


def _claims(fitting: Iterable[Sequence[Candidate]]) -> dict[Place, float]:
    """How like the best label for each place is: nothing less like may have it."""
    best: dict[Place, float] = {}
    for candidates in fitting:
        for one in candidates:
            place = (one.pair.page, one.pair.box)
            if one.fit and one.like > best.get(place, 0):
                best[place] = one.like
    return best


def _left(candidates: Sequence[Candidate], best: Mapping[Place, float]) -> list[Candidate]:
    """Those that fit and that no other field has a better claim to, best first."""
    kept = [
        one
        for one in candidates
        if one.fit and one.like >= best[one.pair.page, one.pair.box] - NEAR
    ]
    return sorted(kept, key=lambda one: -one.rank)


def _is_total(field: Asked) -> bool:
    return field.kind is Kind.AMOUNT and "total" in meanings(field.name)


def _largest_first(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Of totals that are as likely, the one that holds the others."""
    near = [one for one in ranked if one.rank >= ranked[0].rank - NEAR]
    rest = ranked[len(near) :]
    return [*sorted(near, key=lambda one: -Decimal(one.fit.value if one.fit else 0)), *rest]


def _chosen(ranked: Sequence[Candidate]) -> Answer:
    first = ranked[0]
    others = [*_others(first, ranked[1:])][:OTHERS]
    if not others:
        return _said(first)
    why = f"{len(others) + 1} labels are as like it"
    return _said(first, why, tuple(_said(one) for one in others))


def _others(first: Candidate, rest: Iterable[Candidate]) -> Iterator[Candidate]:
    """What might as well be the value, and is another."""
    seen = {str(first.fit and first.fit.value)}
    for one in rest:
        value = str(one.fit and one.fit.value)
        if one.rank >= first.rank - NEAR and value not in seen:
            seen.add(value)
            yield one


def _said(one: Candidate, why: str = "", others: tuple[Answer, ...] = ()) -> Answer:
    pair = one.pair
    confidence = one.confidence * (DOUBTED if others else 1)
    return Answer(
        one.fit, confidence, pair.page, pair.box, pair.text, _name(pair.label), why, others
    )


def _why(field: Asked, candidates: Sequence[Candidate]) -> str:
    if not candidates:
        return "no label like it was found"
    unfit = [one for one in candidates if one.fit is None]
    if not unfit:
        return "what was found under such a label belongs to another field"
    pair = max(unfit, key=lambda one: (one.like, one.pair.sure)).pair
    said = pair.text if len(pair.text) <= SHOWN else pair.text[: SHOWN - 1] + "…"
    return f"{_name(pair.label)!r} on page {pair.page} says {said!r}, which is no {field.kind}"


def _name(label: str) -> str:
    return label.rstrip(" :")
