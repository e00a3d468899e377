"""From a sheet to trades: blocks found, then each block's values taken by label and arithmetic."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.reading.pages import Value
from docmill.trades.reader import brokers, days, deals, facts, lexicon
from docmill.trades.reader.abreast import unfold_columns
from docmill.trades.reader.blocks import (
    MILDEST,
    SIGNED,
    Anchor,
    TradeBlock,
    find_anchors,
    find_signed_rows,
    find_trade_blocks,
)
from docmill.trades.reader.deals import Deal, find_deal
from docmill.trades.reader.figures import FigureIndex, TradeFigure, find_figures
from docmill.trades.reader.kinds import REASONS, find_document_kind, lists_securities
from docmill.trades.reader.money import BY_MONEY, UNSAID, find_block_by_money, is_proven
from docmill.trades.reader.names import find_name
from docmill.trades.reader.records import TradeRecords, find_records
from docmill.trades.reader.rows import (
    FoundTrade,
    FoundTrades,
    NoteRow,
    NoteSheet,
    format_decimal,
    make_value,
)
from docmill.trades.reader.statements import find_statement_blocks

WHOLE: Final = 2.6
SURE: Final = 7.0
NEAR: Final = 6
FAR: Final = 12
MANY: Final = 40
ENOUGH: Final = 20  # rows that are a table for certain: nothing else is looked for
TITLE_WORDS: Final = 12
HEAD_ROWS: Final = 80  # above the first trade: what all trades share
YEARS: Final = 2
UNLIKE: Final = 3  # so much less is told of what is no trade
TITLED: Final = 0.7
SAID: Final = 0.9
DOUBTFUL: Final = 0.7
CONVERTED: Final = 0.9  # a notional that is printed in the currency of the account
SHARED: Final = 0.8  # an ISIN that stands outside the trade's own rows
FITS: Final = {"product": 0.96, "exchange": 0.92, "per cent": 0.94, "contract": 0.75, "net": 0.75}
UNSAID_SURE: Final = {BY_MONEY: 0.6, UNSAID: 0.3}  # directions that no word tells
LEGS: Final = frozenset({"notional", "settlement", "price"})


@dataclass(frozen=True, slots=True)
class TradeScope:
    """Where one trade is looked for: its own rows, and the rows it shares with others."""

    own: Sequence[NoteRow]
    shared: Sequence[NoteRow]
    figures: Sequence[TradeFigure]
    anchor: Anchor
    deal: Deal
    heading: NoteRow | None = None  # the day of this trade and of others below it
    day_names: Mapping[int, Sequence[str]] | None = None  # by row, from the head of a table

    @property
    def near(self) -> int:
        figure = self.deal.quantity or self.deal.notional
        return figure.row.index if figure else self.anchor.row.index


def read_trades(sheet: NoteSheet) -> FoundTrades:
    """The trades of a document, or why there are none."""
    rows = unfold_columns(sheet).rows
    figures = FigureIndex(find_figures(rows))
    anchors = find_anchors(rows)
    kind = find_document_kind(rows, anchors)
    if kind in {"cancellation", "order"} or (kind == "money" and not lists_securities(rows)):
        return FoundTrades(reason=REASONS[kind], kind=kind)
    blocks = _find_blocks(rows, figures, kind)
    if not blocks and not kind and anchors:
        blocks = _whole_document(rows, figures, anchors)
    if not blocks and not kind:
        blocks = find_block_by_money(rows, figures, anchors)
    if not blocks:
        return FoundTrades(reason=REASONS[kind], kind=kind)
    told = any("cusip" in row.plain for row in rows)
    lone = len(blocks) == 1 and not kind
    scopes = [_make_scope(rows, figures, blocks, at, lone) for at in range(len(blocks))]
    scopes = _give_headings(rows, blocks, scopes)
    trades = _drop_doubles([_read_trade(scope, told) for scope in scopes])
    if _is_history(trades):
        return FoundTrades(reason=REASONS["history"], kind="history")
    return FoundTrades(tuple(trades))


def _find_blocks(rows: Sequence[NoteRow], figures: FigureIndex, kind: str) -> list[TradeBlock]:
    """The trades of a table if there is one that holds as many as are found block by block."""
    listed = find_statement_blocks(rows, figures)
    blocks = _drop_retold(rows, find_trade_blocks(rows, figures))
    if not blocks and not listed:
        blocks = find_signed_rows(rows, figures)
    if kind:
        blocks = [block for block in blocks if _is_sure(block, kind)]
    whole = len(listed) >= len(blocks) and not _is_told(blocks, listed)
    chosen = listed if whole else blocks
    if len(listed) < ENOUGH:
        chosen = _choose_records(chosen, find_records(rows, figures), kind)
    return _drop_unlike(rows, chosen)


def _choose_records(
    found: Sequence[TradeBlock], records: TradeRecords, kind: str
) -> Sequence[TradeBlock]:
    """Records where they are more trades, or the same with what they are above their numbers."""
    able = [one for one in records.blocks if _is_said(one, kind)]
    good = [one for one in found if is_proven(one.deal) or _is_labelled(one.deal)]
    own = {one.deal.quantity.row.index for one in able if one.deal.quantity}
    rest = [one for one in good if one.deal.quantity and one.deal.quantity.row.index not in own]
    if len(able) > len(good) and len(able) + len(rest) >= len(found):
        return sorted([*able, *rest], key=lambda one: one.first)
    same = len(able) == len(found) > 1 and records.above
    told = [one.deal.quantity and one.deal.quantity.row.index for one in found]
    opened = [one.first for one in found]
    cores = [one.last for one in able]
    return able if same and told == cores and opened == cores else found


def _is_said(block: TradeBlock, kind: str) -> bool:
    """Whether a record may be a trade in a document of this kind."""
    if block.anchor.weight == UNSAID:
        return not kind
    return not kind or _is_sure(block, kind)


def _drop_unlike(rows: Sequence[NoteRow], blocks: Sequence[TradeBlock]) -> list[TradeBlock]:
    """The one block that is told as a trade is, where the others are not; else all of them.

    The trades of a statement are told alike. A note's own trade has much that its costs, its lots
    and its small print have not.
    """
    weights = [_weigh_telling(rows, block) for block in blocks]
    told = [b for b, weight in zip(blocks, weights, strict=True) if weight > max(weights) - UNLIKE]
    return told if len(told) == 1 else list(blocks)


def _weigh_telling(rows: Sequence[NoteRow], block: TradeBlock) -> int:
    """How much of a trade a block tells: an ISIN, a day, a named quantity, a product."""
    own = block.rows(rows)
    count = block.deal.quantity
    told = (
        any(row.days for row in own),
        block.deal.fit == "product",
        count is not None and count.role("quantity") > 0,
    )
    return sum(told) + 2 * any(facts.ISIN.search(row.text) for row in own)


def _is_told(blocks: Sequence[TradeBlock], listed: Sequence[TradeBlock]) -> bool:
    """Whether one trade is told in words, and the rows with signs only book its sums."""
    if len(blocks) != 1 or any(block.anchor.weight != SIGNED for block in listed):
        return False
    return _is_labelled(blocks[0].deal) and blocks[0].anchor.weight >= TITLED


def _is_history(trades: Sequence[FoundTrade]) -> bool:
    """Whether so many trades over so many years are a history: they were confirmed long ago."""
    dates = sorted(trade.text("trade_date") for trade in trades if trade.text("trade_date"))
    years = int(dates[-1][:4]) - int(dates[0][:4]) if dates else 0
    return len(trades) > MANY and years >= YEARS


def _is_sure(block: TradeBlock, kind: str) -> bool:
    """Whether a document of another kind tells of a trade: one that is close by, and adds up."""
    if not block.deal.fit or block.deal.quantity is None:
        return False
    if block.anchor.weight == SIGNED:
        return True
    reach = FAR if block.anchor.weight >= SAID else NEAR
    near = block.deal.quantity.row.index - block.anchor.row.index <= reach
    return near and (kind == "statement" or block.deal.score >= SURE)


def _whole_document(
    rows: Sequence[NoteRow], figures: FigureIndex, anchors: Sequence[Anchor]
) -> list[TradeBlock]:
    """The document as one block, for a trade whose numbers stand before its title."""
    anchor = max(anchors, key=lambda one: (one.weight, -one.row.index))
    deal = find_deal(figures.all)
    if anchor.weight < SAID or not deal.complete or deal.score < WHOLE:
        return []
    return [TradeBlock(anchor, 0, len(rows) - 1, deal)]


def _make_scope(
    rows: Sequence[NoteRow],
    figures: FigureIndex,
    blocks: Sequence[TradeBlock],
    at: int,
    lone: bool,
) -> TradeScope:
    """A lone trade has the whole document; one of many its block, and the rows above the first."""
    block = _end_alike(blocks, at)
    if lone:
        last = _find_end(rows, block)
        return TradeScope(rows[: last + 1], (), figures.within(0, last), block.anchor, block.deal)
    own = rows[block.first : block.last + 1]
    inside = figures.within(block.first, block.last)
    start = blocks[at - 1].last + 1 if at else 0
    shared = [*rows[start : block.first], *rows[: blocks[0].first][-HEAD_ROWS:]]
    if block.head is not None:
        own = [*rows[max(block.head - 1, 0) : block.head + 1], *own]
    return TradeScope(own, shared, inside, block.anchor, block.deal)


def _end_alike(blocks: Sequence[TradeBlock], at: int) -> TradeBlock:
    """A block; the last one goes no further than the longest of the others: what stands below all
    trades is none of its own."""
    block = blocks[at]
    if not 0 < at == len(blocks) - 1:
        return block
    longest = max(other.last - other.first for other in blocks[:at])
    own = [f.row.index for f in (block.deal.quantity, block.deal.price, block.deal.notional) if f]
    return replace(block, last=min(block.last, max([block.first + longest, *own])))


def _give_headings(
    rows: Sequence[NoteRow], blocks: Sequence[TradeBlock], scopes: Sequence[TradeScope]
) -> list[TradeScope]:
    """Trades that are grouped by days know the day they stand under, those of a table what its
    head calls their days."""
    records = [range(block.first, block.last + 1) for block in blocks]
    cores = [scope.near for scope in scopes]
    heads = days.find_headings(rows, records, cores)
    names = days.find_day_names(rows, set(cores)) if len(scopes) > 1 else None
    return [
        replace(one, heading=head, day_names=names) for one, head in zip(scopes, heads, strict=True)
    ]


def _find_end(rows: Sequence[NoteRow], block: TradeBlock) -> int:
    """The last row of a lone trade's document before an appendix about taxes or costs."""
    used = [f.row.index for f in (block.deal.quantity, block.deal.price, block.deal.notional) if f]
    for index in range(max([block.anchor.row.index, *used]) + 1, len(rows)):
        row = rows[index]
        if lexicon.APPENDIX.search(row.plain) and row.word_count < TITLE_WORDS and not row.numbers:
            return index - 1
    return len(rows) - 1


def _drop_doubles(trades: Sequence[FoundTrade]) -> list[FoundTrade]:
    """Trades without those that a document tells twice."""
    kept: list[FoundTrade] = []
    seen: set[tuple[str, ...]] = set()
    for trade in trades:
        key = tuple(
            trade.text(name) for name in ("direction", "isin", "quantity", "price", "trade_date")
        )
        if key not in seen or not trade.text("isin"):
            kept.append(trade)
        seen.add(key)
    return kept


def _drop_retold(rows: Sequence[NoteRow], blocks: Sequence[TradeBlock]) -> list[TradeBlock]:
    """Blocks without those that go on with a trade told before: the same title again on another
    page, or an appendix about taxes and costs, with no security but that of the trade."""
    kept: list[TradeBlock] = []
    known: set[str] = set()
    counts: set[Decimal] = set()
    titles: dict[str, int] = {}
    for block in blocks:
        codes = {m[1] for row in block.rows(rows) for m in facts.ISIN.finditer(row.text)}
        if not codes and _is_exchange(block) and len(blocks) > 1:
            continue
        own = block.deal.quantity_value not in counts and _is_labelled(block.deal)
        title = block.anchor.row
        goes_on = titles.get(title.plain, title.index) != title.index and not codes
        if kept and not own and codes <= known and (goes_on or _is_appendix(rows, block)):
            continue
        kept.append(block)
        known |= codes
        counts.add(block.deal.quantity_value)
        titles.setdefault(title.plain, title.index)
    return kept


def _is_exchange(block: TradeBlock) -> bool:
    """Whether what is bought or sold is money: a currency for another."""
    deal = block.deal
    count = deal.quantity
    if count is None or not count.currency or count.role("quantity"):
        return False
    return deal.price is None or not deal.price.number.percent


def _is_labelled(deal: deals.Deal) -> bool:
    """Whether a number that words call the quantity multiplies as it should."""
    return (
        deal.fit == "product" and deal.quantity is not None and deal.quantity.role("quantity") > 0
    )


def _is_appendix(rows: Sequence[NoteRow], block: TradeBlock) -> bool:
    """Whether a block stands under a heading about taxes or costs, or is one."""
    above = rows[max(block.anchor.row.index - NEAR, 0) : block.anchor.row.index + 1]
    return any(lexicon.APPENDIX.search(row.plain) and row.word_count < TITLE_WORDS for row in above)


def _read_trade(scope: TradeScope, cusips: bool) -> FoundTrade:
    rows = [*scope.own, *scope.shared]
    known = facts.find_isin(scope.own, scope.near)
    if known is None and (shared := facts.find_isin(scope.shared, scope.near)):
        known = shared.sure(min(shared.confidence, SHARED))
    party = brokers.find_counterparty(rows)
    named = find_name(scope.own, known, scope.near, broker=party.value if party else "")
    found: dict[str, Value | None] = {
        "isin": known,
        "cusip": facts.find_cusip(scope.own, known, told=cusips),
        "ticker": facts.find_ticker(scope.own),
        "name": named,
        "asset_class": facts.find_asset_class(scope.own, named.value if named else ""),
        "exchange": facts.find_exchange(scope.own),
        "counterparty": party,
        "direction": _read_direction(scope),
        **_read_dates(scope),
        **_read_numbers(scope),
    }
    values = {name: value for name, value in found.items() if value}
    return FoundTrade(values, tuple(_list_checks(scope, values)))


def _list_checks(scope: TradeScope, values: dict[str, Value]) -> Iterator[str]:
    """How the numbers fit together, and whether a printed rate stands behind the notional."""
    deal, shown = scope.deal, values.get("notional")
    if deal.fit:
        yield deal.fit
    turned = shown is not None and shown.value != format_decimal(deal.notional_value)
    if turned and shown and shown.confidence >= CONVERTED and deal.notional:
        yield "converted"


def _read_direction(scope: TradeScope) -> Value:
    anchor = scope.anchor
    others = {one.direction for one in find_anchors(scope.own) if one.weight >= 0.9}
    sure = 0.97 if anchor.weight >= 0.9 else UNSAID_SURE.get(anchor.weight, 0.8)
    sure = sure - 0.15 if others - {anchor.direction} else sure
    return make_value(anchor.row, 0, len(anchor.row.text), anchor.direction, sure)


def _read_dates(scope: TradeScope) -> dict[str, Value | None]:
    deal = scope.deal
    used = {f.row.index for f in (deal.quantity, deal.price, deal.notional) if f}
    opening = _find_opening(scope, used)
    own = days.find_day_candidates(scope.own, opening, named=scope.day_names)
    own = days.weigh_places(own, used)
    settles = days.find_settlement_date(own, scope.near)
    traded = days.find_trade_date(own, scope.near)
    if scope.heading:
        traded = days.read_heading(scope.heading)
    if traded is None:
        shared = sorted(scope.shared, key=lambda row: row.index)
        found = days.find_day_candidates(shared, scope.anchor.row)
        traded = days.find_trade_date(days.weigh_places(found, used), scope.near)
    return {"trade_date": traded or settles, "settlement_date": settles}


def _find_opening(scope: TradeScope, used: Collection[int]) -> NoteRow:
    """The row whose day is the trade's: the title's, or that of the one record below a mild title,
    since `Sparplan vom 1.3.` tells when the plan was made."""
    opening = scope.anchor.row
    record = [row for row in scope.own if row.index in used]
    mild = scope.anchor.weight <= MILDEST and opening.index not in used
    return record[0] if mild and len(record) == 1 and record[0].days else opening


def _read_numbers(scope: TradeScope) -> dict[str, Value | None]:
    deal = scope.deal
    settled = deals.find_settlement(scope.figures, deal, scope.anchor.row.index)
    currency = deals.find_currency(scope.figures, deal, settled.amount) or _find_printed(scope)
    sure = _judge_fit(deal)
    figure = deal.notional or settled.amount
    values: dict[str, Value | None] = {
        "quantity": _figure_value(deal.quantity, format_decimal(deal.quantity_value), sure),
        "price": _figure_value(deal.price, format_decimal(deal.price_value), sure),
        "notional": _read_notional(scope, settled, currency, sure),
        "settlement_amount": _figure_value(
            settled.amount,
            format_decimal(settled.amount.value) if settled.amount else "",
            0.95 if settled.balanced else 0.7,
        ),
        "fees": _sum_value(settled.fees, settled.balanced),
        "taxes": _sum_value(settled.taxes, settled.balanced),
    }
    if currency:
        clear = figure is not None and bool(figure.currency) and not _has_open_legs(scope, values)
        values["currency"] = _figure_value(figure, currency, 0.95 if clear else 0.7)
    return values


def _find_printed(scope: TradeScope) -> str:
    """The one currency that the rows of a trade print, as heads such as `Amount/EUR` do."""
    for rows in (scope.own, scope.shared):
        codes = deals.count_currencies(rows)
        if len(codes) == 1:
            return next(iter(codes))
    return ""


def _judge_fit(deal: deals.Deal) -> float:
    """How sure the numbers are by how they multiply."""
    if deal.fit == "per cent" and deal.price and not deal.price.number.percent:
        return DOUBTFUL
    return FITS.get(deal.fit, 0.55)


def _has_open_legs(scope: TradeScope, values: dict[str, Value | None]) -> bool:
    """Whether amounts stand in two currencies, and no rate says which is the notional's."""
    money = {f.currency for f in scope.figures if f.currency and f.roles.keys() & LEGS}
    notional = values.get("notional")
    return len(money) > 1 and (notional is None or notional.confidence < CONVERTED)


def _is_converted(scope: TradeScope, amount: TradeFigure) -> bool:
    """Whether a rate brings the notional nearer to what was settled than it is by itself."""
    turned = deals.convert_notional(scope.figures, scope.deal, amount)
    total = scope.deal.notional_value
    return turned is not None and abs(turned - amount.value) < abs(total - amount.value)


def _figure_value(figure: TradeFigure | None, value: str, sure: float) -> Value | None:
    if figure is None:
        return None
    return make_value(figure.row, figure.number.start, figure.number.end, value, sure)


def _sum_value(parts: Sequence[TradeFigure], balanced: bool) -> Value | None:
    if not parts:
        return None
    total = sum((part.value for part in parts), deals.ZERO)
    return _figure_value(parts[0], format_decimal(total), 0.93 if balanced else 0.5)


def _read_notional(
    scope: TradeScope, settled: deals.TradeSettlement, currency: str, sure: float
) -> Value | None:
    """The notional in the currency of the account."""
    deal, amount = scope.deal, settled.amount
    if deal.notional is None:
        return _figure_value(amount, format_decimal(amount.value) if amount else "", 0.6)
    own = deal.notional.currency
    if not own and amount and _is_converted(scope, amount):
        own = "other"
    if not own or not currency or own == currency:
        return _figure_value(deal.notional, format_decimal(deal.notional_value), sure)
    shown = deals.find_converted_notional(scope.figures, deal, currency)
    if shown:
        return _figure_value(shown, format_decimal(shown.value), CONVERTED)
    return _figure_value(amount, format_decimal(amount.value) if amount else "", 0.6)
