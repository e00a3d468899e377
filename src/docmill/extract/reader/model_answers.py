"""Fields read by a language model, where one is set up: believed when the page shows them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.field_request import RequestedField
from docmill.core.fields import ValueKind
from docmill.core.json_values import as_object
from docmill.core.plugins import Tools
from docmill.extract.reader.field_search import FieldAnswer
from docmill.extract.reader.pairs import words_between
from docmill.extract.reader.values import (
    MAX_TEXT,
    Conventions,
    FittedValue,
    find_conventions,
    fit_value,
)
from docmill.reading import dates, model_prompt, numbers
from docmill.reading.labels import fold_accents
from docmill.reading.model_prompt import MOST_TEXT, ModelQuestion, make_object, make_text
from docmill.reading.orders import find_ordering_lines
from docmill.reading.page_search import compact
from docmill.reading.pages import Line, Page, Word, make_line
from docmill.reading.second_opinion import CONTESTED, ORDERS

_AROUND: Final = ".,;:()[]'\"“”"


@dataclass(frozen=True, slots=True)
class Evidence:
    page: int
    words: Line


def find_evidence(
    pages: Iterable[Page], text: str, kind: ValueKind, value: FittedValue, conventions: Conventions
) -> Evidence | None:
    """The first place; none for yes and no, which are printed for many things."""
    if kind is ValueKind.YES_NO:
        return None
    for page in pages:
        if kind in {ValueKind.TEXT, ValueKind.ID}:
            found = _find_run(page.words, text)
        else:
            found = next(_find_figures(page, kind, value, conventions), None)
        if found:
            return Evidence(page.number, found)
    return None


def _find_run(words: Sequence[Word], text: str) -> Line | None:
    """The words of a text one after the other, whatever their case and the marks around them."""
    wanted = [part for word in text.split() if (part := _fold_word(word))]
    shown = [_fold_word(word.text) for word in words]
    for at in range(len(shown) - len(wanted) + 1) if wanted else ():
        if shown[at] == wanted[0] and shown[at : at + len(wanted)] == wanted:
            return make_line(words[at : at + len(wanted)])
    return None


def _fold_word(word: str) -> str:
    return fold_accents(word).strip(_AROUND)


def _find_figures(
    page: Page, kind: ValueKind, value: FittedValue, conventions: Conventions
) -> Iterator[Line]:
    for line in page.lines:
        for start, end in _find_spans(line.text, kind, value, conventions):
            yield make_line(words_between(line.words, start, end))


def _find_spans(
    text: str, kind: ValueKind, value: FittedValue, conventions: Conventions
) -> Iterator[tuple[int, int]]:
    if kind is ValueKind.DATE:
        for day in dates.find_dates(text, month_first=conventions.month_first, packed=True):
            if day.day.isoformat() == value.value:
                yield day.start, day.end
        return
    for number in numbers.find_numbers(text, conventions.mark):
        if kind is ValueKind.CURRENCY:
            same = number.currency == value.value
        else:
            same = Decimal(str(value.value)) in number.readings
        if same:
            yield number.start, number.end
    if kind is ValueKind.CURRENCY and value.value in text.split():
        at = text.index(value.value)
        yield at, at + len(value.value)


SERVICE: Final = model_prompt.SERVICE
RULES, MODEL, BOTH = "rules", "model", "both"
VERSION: Final = "fields-1"
SHOWN_SURE: Final = 0.85
AGREED_SURE: Final = 0.97
UNSHOWN_SURE: Final = 0.3
ORDERED_SURE: Final = 0.6  # shown by a document that gives orders to its reader
ALONE: Final = 0.7  # how much a label's word is worth when the model says there is nothing
TASK: Final = (
    "You read a document and give the values of the fields that are asked for, each without its "
    "label; yes or no for a yes/no field."
)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model says of one field, what that is, and where the page shows it."""

    text: str = ""
    value: FittedValue | None = None
    seen: Evidence | None = None


class PromptPages:
    """The first pages, as many as a model is sent."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.left: int = MOST_TEXT

    def take(self, page: Page) -> None:
        if self.left > 0:
            self.pages.append(page)
            self.left -= len(page.text)


def ask_model(
    asked: Sequence[RequestedField],
    found: Sequence[FieldAnswer],
    pages: Sequence[Page],
    tools: Tools,
    mode: str | None = None,
) -> tuple[list[FieldAnswer], list[str]]:
    """The answers with what the model adds to them, and what went wrong.

    A fault that passes ends the run, which is tried again; any other leaves what labels told. With
    `both` no fault of the model ends a run, with `model` every fault does.
    """
    rows = [(page.number, line.text) for page in pages for line in page.lines]
    try:
        answer = model_prompt.ask_model(tools, _build_question(asked), make_text(rows).text)
    except DocmillError as exc:
        if mode == MODEL or (exc.fault.retried and mode != BOTH):
            raise
        return [*found], [f"the language model was not asked for fields: {exc.fault.final}"]
    plain = [_leave_out_orders(page) for page in pages]
    ordered = any(one is not other for one, other in zip(plain, pages, strict=True))
    weigher = AnswerWeigher(for_model=mode == MODEL, ordered=ordered)
    merged = _merge_answers((asked, found), plain, answer["value"], weigher)
    return merged, [ORDERS] if ordered else []


def _leave_out_orders(page: Page) -> Page:
    """The page without sentences that give orders: what stands in them proves nothing."""
    ordering = find_ordering_lines(page)
    kept = tuple(line for at, line in enumerate(page.lines) if at not in ordering)
    return replace(page, lines=kept) if ordering else page


def _build_question(asked: Sequence[RequestedField]) -> ModelQuestion:
    properties = {
        field.name: {"type": ["string", "null"], "description": _describe_field(field)}
        for field in asked
    }
    return ModelQuestion("fields", VERSION, TASK, make_object(properties))


def _describe_field(field: RequestedField) -> str:
    return ". ".join(part for part in (str(field.kind), field.title, field.description) if part)


def _merge_answers(
    fields: tuple[Sequence[RequestedField], Sequence[FieldAnswer]],
    pages: Sequence[Page],
    value: Any,
    weigher: "AnswerWeigher",
) -> list[FieldAnswer]:
    given = as_object(value)
    conventions = find_conventions(page.text for page in pages)
    return [
        weigher.weigh(
            field.kind,
            before,
            _read_model_value(given.get(field.name), field.kind, pages, conventions),
        )
        for field, before in zip(*fields, strict=True)
    ]


def _read_model_value(
    said: Any, kind: ValueKind, pages: Sequence[Page], conventions: Conventions
) -> ModelAnswer:
    if said is None or isinstance(said, (dict, list)):
        return ModelAnswer()
    text = " ".join(str(said).split())[:MAX_TEXT]
    value = fit_value(text, kind, conventions)
    return ModelAnswer(
        text, value, find_evidence(pages, text, kind, value, conventions) if value else None
    )


@dataclass(frozen=True, slots=True)
class AnswerWeigher:
    """`for_model`: its value stands where the two differ. `ordered`: the document gives orders."""

    for_model: bool = False
    ordered: bool = False

    def weigh(self, kind: ValueKind, before: FieldAnswer, model: ModelAnswer) -> FieldAnswer:
        """What the label and the model say together; what the page shows goes first."""
        if not model.text:
            return _without_model(before)
        says = f"the language model says {model.text!r}"
        if model.value is None:
            return replace(before, why=f"{says}, which is no {kind}")
        if before.fit and _are_equal(before.fit.value, model.value.value):
            sure = before.confidence if self.ordered else max(before.confidence, AGREED_SURE)
            return replace(before, confidence=sure, why="", others=())
        if model.seen:
            return self._settle(before, model, says)
        if before.fit:
            return replace(before, why=f"{says}, which was not found on the page")
        return FieldAnswer(
            model.value, UNSHOWN_SURE, why="told by the language model; not found on the page"
        )

    def _settle(self, before: FieldAnswer, model: ModelAnswer, says: str) -> FieldAnswer:
        """Where the page shows both, one stands, the other is beside it, and a person decides."""
        assert model.seen
        line, sure = model.seen.words, ORDERED_SURE if self.ordered else SHOWN_SURE
        theirs = FieldAnswer(model.value, sure, model.seen.page, line.box, line.text)
        if before.fit is None:
            return theirs
        plain = replace(before, others=())
        if self.for_model:
            why = f"its label says {before.text!r}"
            return replace(theirs, confidence=CONTESTED, why=why, others=(plain,))
        sure = min(before.confidence, CONTESTED)
        return replace(before, confidence=sure, why=says, others=(theirs, *before.others))


def _without_model(before: FieldAnswer) -> FieldAnswer:
    if before.fit is None:
        return before
    why = before.why or "the language model did not find it"
    return replace(before, confidence=before.confidence * ALONE, why=why)


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        try:
            return Decimal(one) == Decimal(other)
        except InvalidOperation:
            return compact(one) == compact(other)
    return one == other
