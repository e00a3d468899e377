"""From a sheet to trades: blocks found, then each block's values taken by label and arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from docmill.pipelines.trades import amounts, days, facts
from docmill.pipelines.trades.anchors import Anchor, anchors_of, kind_of
from docmill.pipelines.trades.blocks import SIGNED, Block, blocks_of
from docmill.pipelines.trades.figures import Figure, figures_of
from docmill.pipelines.trades.model import Reading, Trade, Value, plain, read_from
from docmill.pipelines.trades.rows import Row, Sheet
from docmill.pipelines.trades.search import Deal, best

WHOLE: Final = 2.6
SURE: Final = 7.0
NEAR: Final = 6
MANY: Final = 40
YEARS: Final = 2
TITLED: Final = 0.7
SAID: Final = 0.9
REASONS: Final = {
    "dividend": "It tells of a dividend or another income, not of a trade.",
    "cancellation": "It cancels a trade.",
    "order": "It confirms an order, which is not a trade yet.",
    "statement": "It is a statement without a trade in it.",
    "history": "It is an account's history over years, not a confirmation of trades.",
    "": "No trade was found in it: nothing says what was bought or sold.",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where one trade is looked for: its own rows, and the rows it shares with others."""

    own: Sequence[Row]
    shared: Sequence[Row]
    figures: Sequence[Figure]
    anchor: Anchor
    deal: Deal

    @property
    def near(self) -> int:
        figure = self.deal.quantity or self.deal.notional
        return figure.row.index if figure else self.anchor.row.index


def read(sheet: Sheet) -> Reading:
    """The trades of a document, or why there are none."""
    rows = sheet.rows
    figures = figures_of(rows)
    anchors = anchors_of(rows)
    kind = document_kind(rows, anchors)
    if kind in {"cancellation", "order"}:
        return Reading(reason=REASONS[kind], kind=kind)
    blocks = blocks_of(rows, figures)
    if kind:
        blocks = [block for block in blocks if _surely(block, kind)]
    if not blocks and not kind and anchors:
        blocks = _whole(rows, figures, anchors)
    if not blocks:
        return Reading(reason=REASONS[kind], kind=kind)
    told = any("cusip" in row.plain for row in rows)
    lone = len(blocks) == 1 and not kind
    scopes = [_scope(rows, figures, blocks, at, lone) for at in range(len(blocks))]
    trades = _distinct([_trade(scope, told) for scope in scopes])
    if _history(trades):
        return Reading(reason=REASONS["history"], kind="history")
    return Reading(tuple(trades))


def _history(trades: Sequence[Trade]) -> bool:
    """Whether so many trades over so many years are a history: they were confirmed long ago."""
    days = sorted(trade.text("trade_date") for trade in trades if trade.text("trade_date"))
    return len(trades) > MANY and int(days[-1][:4]) - int(days[0][:4]) >= YEARS if days else False


def document_kind(rows: Sequence[Row], anchors: Sequence[Anchor]) -> str:
    """What a document is, by the first title that says so; a trade's own title comes before."""
    first = next((a.row.index for a in anchors if a.weight >= TITLED), len(rows))
    found = ""
    for row in rows:
        kind = kind_of(row)
        if kind == "cancellation" or (kind and row.index < first and not found):
            found = kind
    return found


def _surely(block: Block, kind: str) -> bool:
    """Whether a paper of another kind tells of a trade all the same: close by, and it adds up."""
    if not block.deal.fit or block.deal.quantity is None:
        return False
    if block.anchor.weight == SIGNED:
        return True
    near = block.deal.quantity.row.index - block.anchor.row.index <= NEAR
    return near and (kind == "statement" or block.deal.score >= SURE)


def _whole(
    rows: Sequence[Row], figures: Sequence[Figure], anchors: Sequence[Anchor]
) -> list[Block]:
    """The document as one block, for a trade whose numbers stand before its title."""
    anchor = max(anchors, key=lambda one: (one.weight, -one.row.index))
    deal = best(figures)
    if anchor.weight < SAID or not deal.complete or deal.score < WHOLE:
        return []
    return [Block(anchor, 0, len(rows) - 1, deal)]


def _scope(
    rows: Sequence[Row], figures: Sequence[Figure], blocks: Sequence[Block], at: int, lone: bool
) -> Scope:
    """A lone trade has the whole document; one of many its block, and the rows above the first."""
    block = blocks[at]
    if lone:
        return Scope(rows, (), figures, block.anchor, block.deal)
    start = blocks[at - 1].last + 1 if at else 0
    own = rows[block.first : block.last + 1]
    inside = [f for f in figures if block.first <= f.row.index <= block.last]
    return Scope(
        own,
        [*rows[start : block.first], *rows[: blocks[0].first]],
        inside,
        block.anchor,
        block.deal,
    )


def _distinct(trades: Sequence[Trade]) -> list[Trade]:
    """Trades without those that a document tells twice."""
    kept: list[Trade] = []
    seen: set[tuple[str, ...]] = set()
    for trade in trades:
        key = tuple(
            trade.text(name) for name in ("direction", "isin", "quantity", "price", "trade_date")
        )
        if key not in seen or not trade.text("isin"):
            kept.append(trade)
        seen.add(key)
    return kept


def _trade(scope: Scope, cusips: bool) -> Trade:
    rows = [*scope.own, *scope.shared]
    known = facts.isin(scope.own, scope.near) or facts.isin(scope.shared, scope.near)
    named = facts.name(scope.own, known)
    found: dict[str, Value | None] = {
        "isin": known,
        "cusip": facts.cusip(scope.own, known, told=cusips),
        "ticker": facts.ticker(scope.own),
        "name": named,
        "asset_class": facts.asset_class(scope.own, named.value if named else ""),
        "exchange": facts.exchange(scope.own),
        "counterparty": facts.counterparty(rows),
        "direction": _direction(scope),
        **_dates(scope),
        **_numbers(scope),
    }
    values = {name: value for name, value in found.items() if value}
    return Trade(values, (scope.deal.fit,) if scope.deal.fit else ())


def _direction(scope: Scope) -> Value:
    anchor = scope.anchor
    others = {one.direction for one in anchors_of(scope.own) if one.weight >= 0.9}
    sure = 0.97 if anchor.weight >= 0.9 else 0.8
    sure = sure - 0.15 if others - {anchor.direction} else sure
    return read_from(anchor.row, 0, len(anchor.row.text), anchor.direction, sure)


def _dates(scope: Scope) -> dict[str, Value | None]:
    own = days.days_of(scope.own, scope.anchor.row)
    settles = days.settlement_date(own, scope.near)
    traded = days.trade_date(own, scope.near)
    if traded is None:
        shared = days.days_of(sorted(scope.shared, key=lambda row: row.index), scope.anchor.row)
        other = days.trade_date(shared, scope.near)
        traded = other
    return {"trade_date": traded or settles, "settlement_date": settles}


def _numbers(scope: Scope) -> dict[str, Value | None]:
    deal = scope.deal
    settled = amounts.settled(scope.figures, deal, scope.anchor.row.index)
    currency = amounts.currency_of(scope.figures, deal, settled.amount)
    sure = 0.96 if deal.fit else 0.55
    figure = deal.notional or settled.amount
    values: dict[str, Value | None] = {
        "quantity": _number(deal.quantity, plain(deal.quantity_value), sure),
        "price": _number(deal.price, plain(deal.price_value), sure),
        "notional": _notional(scope, settled, currency, sure),
        "settlement_amount": _number(
            settled.amount,
            plain(settled.amount.value) if settled.amount else "",
            0.95 if settled.balanced else 0.7,
        ),
        "fees": _sum(settled.fees, settled.balanced),
        "taxes": _sum(settled.taxes, settled.balanced),
    }
    if currency:
        values["currency"] = _number(figure, currency, 0.95 if figure and figure.currency else 0.6)
    return values


def _turns(scope: Scope, amount: Figure) -> bool:
    """Whether a rate brings the notional nearer to what was settled than it is by itself."""
    turned = amounts.worked_out(scope.figures, scope.deal, amount)
    total = scope.deal.notional_value
    return turned is not None and abs(turned.value - amount.value) < abs(total - amount.value)


def _number(figure: Figure | None, value: str, sure: float) -> Value | None:
    if figure is None:
        return None
    return read_from(figure.row, figure.number.start, figure.number.end, value, sure)


def _sum(parts: Sequence[Figure], balanced: bool) -> Value | None:
    if not parts:
        return None
    total = sum((part.value for part in parts), amounts.ZERO)
    return _number(parts[0], plain(total), 0.93 if balanced else 0.5)


def _notional(scope: Scope, settled: amounts.Settled, currency: str, sure: float) -> Value | None:
    """The notional in the currency of the account."""
    deal, amount = scope.deal, settled.amount
    if deal.notional is None:
        return _number(amount, plain(amount.value) if amount else "", 0.6)
    own = deal.notional.currency
    if not own and amount and _turns(scope, amount):
        own = "other"
    if not own or not currency or own == currency:
        return _number(deal.notional, plain(deal.notional_value), sure)
    turned = amounts.converted(scope.figures, deal, currency)
    if turned and turned.figure:
        return _number(turned.figure, plain(turned.value), 0.9)
    turned = amounts.worked_out(scope.figures, deal, amount)
    if turned:
        return _number(deal.notional, plain(turned.value), 0.75)
    return _number(amount, plain(amount.value) if amount else "", 0.6)
