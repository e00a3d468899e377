"""A language model as second reader of trades: its values are looked up, and held against ours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, cast

from docmill.core.fields import ValueKind
from docmill.core.plugins import Tools
from docmill.reading.model_prompt import ModelQuestion, ask_model, make_object, make_text
from docmill.reading.model_values import Comparison, ModelValue, ModelValues, compare, pick
from docmill.reading.page_search import PageMatch, PageSearch
from docmill.reading.pages import Page, Value
from docmill.reading.second_opinion import Dispute, Pair, Terms, decide, weaken
from docmill.trades.fields import FIELDS, TradeField
from docmill.trades.reader.blocks import find_anchors
from docmill.trades.reader.facts import is_cusip, is_isin
from docmill.trades.reader.rows import FoundTrade, FoundTrades, NoteSheet

VERSION: Final = "trades-1"
TASK: Final = (
    "You read one document of a broker. List the executed trades that it confirms; dividends, "
    "holdings, cancellations, costs before a deal and mere orders are no trades. Dates as "
    "YYYY-MM-DD, numbers with a point and no grouping, the currency as its ISO code."
)
_TEXT: Final = {"type": ["string", "null"]}
_TRADE: Final = make_object(
    {field.name: _TEXT for field in FIELDS}
    | {"direction": {"type": "string", "enum": ["buy", "sell"]}}
)
_SCHEMA: Final = make_object({"trades": {"type": "array", "items": _TRADE}})
QUESTION: Final = ModelQuestion("trades", VERSION, TASK, _SCHEMA)
# Two trades are one when so many of these say the same.
TELLING: Final = ("isin", "cusip", "ticker", "name", "quantity", "price", "notional", "trade_date")
LEAST_TELLING: Final = 2
IDENTIFYING: Final = frozenset(field.name for field in FIELDS if field.identifies)
CLOSE: Final = Decimal("0.01")  # of the notional: what rounding and a price's places explain
_VALID: Final = {"isin": is_isin, "cusip": is_cusip}

ModelTrade = Mapping[str, ModelValue]
TradePlaces = Mapping[str, tuple[ModelValue, list[PageMatch]]]


@dataclass(frozen=True, slots=True)
class ModelTrades:
    trades: tuple[ModelTrade, ...]
    model: str = ""
    cut: bool = False
    gives_orders: bool = False
    scanned: frozenset[int] = frozenset()

    @property
    def unseen(self) -> int:
        """How many of its trades the pages do not show."""
        return sum(not is_shown(trade) for trade in self.trades)


def is_shown(trade: ModelTrade) -> bool:
    """Whether a security and how much of it stand on the page, for a person to decide on it."""
    seen = {name for name, value in trade.items() if value.is_seen}
    return bool(seen & IDENTIFYING) and bool(seen & {"quantity", "notional"})


def read_by_model(sheet: NoteSheet, pages: Sequence[Page], tools: Tools) -> ModelTrades:
    """Raises DocmillError where the model can't be asked."""
    sent = make_text([(row.page, row.text) for row in sheet.rows])
    answer = ask_model(tools, QUESTION, sent.text)
    search = PageSearch(pages, sheet.mark, month_first=sheet.month_first)
    known = ModelValues(search, sheet.mark, sheet.month_first)
    given: Any = answer["value"].get("trades") or []
    listed = [cast("dict[str, Any]", one) for one in given if isinstance(one, dict)]
    trades = tuple(_check_trade(one, known, sheet, lone=len(listed) == 1) for one in listed)
    model, scanned = str(answer.get("model", "")), {page.number for page in pages if page.scanned}
    return ModelTrades(trades, model, sent.cut, search.gives_orders, frozenset(scanned))


def _check_trade(
    given: Mapping[str, Any], known: ModelValues, sheet: NoteSheet, *, lone: bool
) -> ModelTrade:
    found: dict[str, tuple[ModelValue, list[PageMatch]]] = {}
    for field in FIELDS:
        if places := _find_places(field, given.get(field.name), known, sheet):
            found[field.name] = places
    head = None if lone else _find_head(found)
    return {name: pick(value, _near(matches, head)) for name, (value, matches) in found.items()}


def _find_places(
    field: TradeField, given: Any, known: ModelValues, sheet: NoteSheet
) -> tuple[ModelValue, list[PageMatch]] | None:
    found = known.find(field.kind, given, signless=True)
    if found is None:
        return None
    value, _ = found
    if field.name == "direction":
        return _find_direction(value, known, sheet)
    valid = _VALID.get(field.name)
    return (replace(value, value=""), []) if valid and not valid(value.value.upper()) else found


def _find_direction(
    value: ModelValue, known: ModelValues, sheet: NoteSheet
) -> tuple[ModelValue, list[PageMatch]]:
    """The rows whose words say so."""
    side = value.value.lower()
    rows = [one.row for one in find_anchors(sheet.rows) if one.direction == side]
    matches: list[PageMatch] = []
    for row in rows:
        box = row.place(0, len(row.text))
        ordered = known.search.is_ordered(row.page, box)
        matches.append(PageMatch(side, row.page, box, row.text, ordered=ordered))
    return replace(value, value=side), matches


def _find_head(found: TradePlaces) -> PageMatch | None:
    """Where a trade of several stands: by what is printed least often."""
    known = [found[name][1] for name in TELLING if name in found and found[name][1]]
    return min(known, key=len)[0] if known else None


def _near(matches: Sequence[PageMatch], head: PageMatch | None) -> list[PageMatch]:
    """The nearest of the places; as good as another, `pick` takes the later."""
    if head is None:
        return [*matches]
    return sorted(
        matches,
        key=lambda one: (abs(one.page - head.page), abs(one.box.middle - head.box.middle)),
        reverse=True,
    )


def combine(own: FoundTrades, model: ModelTrades, *, mode: str) -> FoundTrades:
    """The trades of both readers: those of one alone need a person."""
    # What the rules take for something else than a trade is no trade on a model's word.
    plain = not model.gives_orders and not (own.kind and not own.trades)
    made: list[FoundTrade] = []
    for ours, theirs in _match_trades(own.trades, model.trades):
        if theirs is None and ours and model.cut:
            made.append(ours)  # it stands behind what the model was sent
            continue
        if ours is None and theirs and mode == "both" and not is_shown(theirs):
            continue
        told = replace(model, gives_orders=not plain)
        trade = _combine_trade(len(made), (ours, theirs), told, mode=mode)
        if trade.values.get("direction"):
            made.append(trade)
    reason = "" if made else own.reason or "The model found no trade in it."
    return replace(own, trades=tuple(made), reason=reason)


def _match_trades(
    own: Sequence[FoundTrade], theirs: Sequence[ModelTrade]
) -> Iterator[tuple[FoundTrade | None, ModelTrade | None]]:
    """Each of ours with the most similar of theirs, then theirs that are left."""
    left = list(theirs)
    for ours in own:
        rated = [(_count_same(ours, one), -at) for at, one in enumerate(left)]
        score, at = max(rated, default=(0, 0))
        yield ours, left.pop(-at) if score >= LEAST_TELLING else None
    for one in left:
        yield None, one


def _count_same(ours: FoundTrade, theirs: ModelTrade) -> int:
    return sum(
        compare(field.kind, ours.values[field.name].value, theirs[field.name].value, signless=True)
        is not Comparison.DIFFERENT
        for field in FIELDS
        if field.name in TELLING and field.name in ours.values and _has_value(theirs, field.name)
    )


def _has_value(trade: ModelTrade, name: str) -> bool:
    return name in trade and bool(trade[name].value)


def _combine_trade(
    index: int, pair: tuple[FoundTrade | None, ModelTrade | None], model: ModelTrades, *, mode: str
) -> FoundTrade:
    path, (ours, theirs) = f"trades[{index}]", pair
    if theirs is None:
        assert ours
        says = Dispute(path, ours.text("direction"), None, "The model reads no such trade")
        return replace(ours, disputes=(says,))
    values: dict[str, Value] = {}
    disputes: list[Dispute] = []
    for field in FIELDS:
        rules = ours.values.get(field.name) if ours else None
        # A model that is sent what OCR has read makes no letter of it surer.
        plain = not model.gives_orders and not (rules and rules.page in model.scanned)
        terms = Terms(plain=plain, alone=ours is None, doubted=not field.guessed, signless=True)
        both = Pair(f"{path}.{field.name}", field.kind, rules, theirs.get(field.name), terms)
        value, dispute = decide(both, mode=mode)
        values |= {field.name: value} if value else {}
        disputes += [dispute] if dispute else []
    if ours is None and mode == "both":
        disputes.append(Dispute(path, None, None, "Only the model reads this trade"))
    checks = ours.checks if ours else ()
    made = FoundTrade(values, checks, tuple(disputes))
    return _weigh_numbers(made, ours) if mode == "model" else made


def _weigh_numbers(trade: FoundTrade, ours: FoundTrade | None) -> FoundTrade:
    """Numbers of the model alone that come to nothing are no surer than weak."""
    numbers = {field.name for field in FIELDS if field.kind is ValueKind.AMOUNT}
    if _is_closed(trade):
        numbers -= {"quantity", "price", "notional"}
    values = {
        name: weaken(value) if name in numbers and not _is_same(ours, name, value) else value
        for name, value in trade.values.items()
    }
    return replace(trade, values=values)


def _is_same(ours: FoundTrade | None, name: str, value: Value) -> bool:
    return ours is not None and ours.text(name) == value.value


def _is_closed(trade: FoundTrade) -> bool:
    """Whether quantity times price is the notional."""
    if not {"quantity", "price", "notional"} <= trade.values.keys():
        return False
    quantity, price, notional = (
        abs(Decimal(trade.values[name].value)) for name in ("quantity", "price", "notional")
    )
    return abs(quantity * price - notional) <= CLOSE * notional
