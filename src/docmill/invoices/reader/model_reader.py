"""An invoice as a language model reads it: each of its values looked up on the page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from docmill.core.plugins import Tools
from docmill.invoices.fields import FIELDS, GROUPS, LINE_FIELDS
from docmill.reading.labels import TextSheet
from docmill.reading.model_prompt import ModelQuestion, ask_model, make_object, make_text
from docmill.reading.model_values import ModelValue, ModelValues, pick
from docmill.reading.page_search import PageMatch, PageSearch
from docmill.reading.pages import Page

# Printed with a minus or without, they mean the same.
SIGNLESS: Final = frozenset({"totals.withholding", "totals.paid", "discount"})
REACH: Final = 3.0  # of the height: so far under the line's head its values may stand
ABOVE: Final = 0.25  # and so far above it
VERSION: Final = "invoice-1"
TASK: Final = (
    "You read one invoice. Numbers with a point and no grouping, without currency and percent "
    "sign; dates as YYYY-MM-DD; the currency as its ISO code. `seller` issues the invoice, `buyer` "
    "pays it. `totals.net` is before tax, `totals.gross` with it, `totals.due` is left to pay. "
    "`lines` are what is sold, in the order of the page, without sums and carried amounts."
)
_TEXT: Final = {"type": ["string", "null"]}
# Concluded from an address or a number, and seldom printed: it can't be looked up.
CONCLUDED: Final = "country"
READ: Final = tuple(field for field in FIELDS if field.read and field.name != CONCLUDED)
LINE_READ: Final = tuple(field for field in LINE_FIELDS if field.read)


def _make_schema() -> dict[str, Any]:
    groups = {
        group: make_object({field.name: _TEXT for field in READ if field.group == group})
        for group in GROUPS
        if group
    }
    head = {field.name: _TEXT for field in READ if not field.group}
    line = make_object({field.name: _TEXT for field in LINE_READ})
    return make_object({**head, **groups, "lines": {"type": "array", "items": line}})


QUESTION: Final = ModelQuestion("invoice", VERSION, TASK, _make_schema())

CheckedValues = Mapping[str, ModelValue]
LinePlaces = Mapping[str, tuple[ModelValue, list[PageMatch]]]


@dataclass(frozen=True, slots=True)
class ModelInvoice:
    """What a model read. `cut`: it was not sent all pages, so it knows of some lines only.

    `gives_orders`: the document speaks to its reader, so what the model says raises nothing.
    """

    values: CheckedValues
    lines: tuple[CheckedValues, ...] = ()
    model: str = ""
    cut: bool = False
    gives_orders: bool = False


def read_by_model(sheet: TextSheet, pages: Sequence[Page], tools: Tools) -> ModelInvoice:
    """Raises DocmillError where the model can't be asked."""
    sent = make_text([(row.page, row.text) for row in sheet.rows])
    answer = ask_model(tools, QUESTION, sent.text)
    search = PageSearch(pages, sheet.mark, month_first=sheet.month_first)
    known = ModelValues(search, sheet.mark, sheet.month_first)
    value: Any = answer["value"]
    return ModelInvoice(
        _check_head(value, known),
        _check_lines(value.get("lines") or [], known),
        str(answer.get("model", "")),
        sent.cut,
        search.gives_orders,
    )


def _check_head(value: Mapping[str, Any], known: ModelValues) -> CheckedValues:
    found: dict[str, ModelValue] = {}
    for field in READ:
        group: Any = value.get(field.group) if field.group else value
        given = cast("dict[str, Any]", group).get(field.name) if isinstance(group, dict) else None
        if checked := known.check(field.kind, given, signless=field.path in SIGNLESS):
            found[field.path] = checked
    return found


def _check_lines(given: Any, known: ModelValues) -> tuple[CheckedValues, ...]:
    """The values of each line, near its head: over that of the next line, under the one before."""
    listed = cast("list[Any]", given) if isinstance(given, list) else []
    places = [_find_places(one, known) for one in listed if isinstance(one, dict)]
    places = [found for found in places if found]
    heads = _find_heads(places)
    return tuple(
        _pick_values(found, head, _next_head(heads[at + 1 :], head))
        for at, (found, head) in enumerate(zip(places, heads, strict=True))
    )


def _find_places(given: Any, known: ModelValues) -> LinePlaces:
    line = cast("dict[str, Any]", given)
    return {
        field.name: places
        for field in LINE_READ
        if (places := known.find(field.kind, line.get(field.name), signless=field.name in SIGNLESS))
    }


def _find_heads(lines: Sequence[LinePlaces]) -> list[PageMatch | None]:
    """Where each line stands: its text or its amount, the first one under the line before."""
    heads: list[PageMatch | None] = []
    below = (0, 0.0)
    for found in lines:
        head = _find_head(found, below)
        heads.append(head)
        below = (head.page, head.box.middle) if head else below
    return heads


def _find_head(found: LinePlaces, below: tuple[int, float]) -> PageMatch | None:
    for name in ("description", "code", "amount", "unit_price"):
        matches = found[name][1] if name in found else []
        after = [
            match
            for match in matches
            if not match.ordered and (match.page, match.box.middle) > below
        ]
        if after:
            return min(after, key=lambda match: (match.page, match.box.y0, match.box.x0))
    return None


def _next_head(heads: Sequence[PageMatch | None], head: PageMatch | None) -> PageMatch | None:
    later = next((one for one in heads if one), None)
    return later if later and head and later.page == head.page else None


def _pick_values(
    found: LinePlaces, head: PageMatch | None, later: PageMatch | None
) -> CheckedValues:
    if head is None:
        return {name: value for name, (value, _) in found.items()}
    height = head.box.height
    top = head.box.y0 - ABOVE * height
    end = min(head.box.y1 + REACH * height, later.box.y0 - ABOVE * height if later else math.inf)
    return {
        name: pick(
            value, [one for one in matches if one.page == head.page and _is_in(one, top, end)]
        )
        for name, (value, matches) in found.items()
    }


def _is_in(match: PageMatch, top: float, end: float) -> bool:
    return top <= match.box.middle <= end
