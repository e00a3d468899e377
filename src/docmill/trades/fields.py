"""What a trade is: one row for each of its values, in the order of the API and of CSV.

Readers, database, API, CSV, pages and checks follow from this table. A new field is a row here, a
column in a migration, and the line of `reader/read.py` that finds it.
"""

from dataclasses import dataclass
from typing import Final

from docmill.core.fields import ValueKind


@dataclass(frozen=True, slots=True)
class TradeField:
    """One value of a trade. All can be edited and are exported.

    `needed`: a trade is not sure without it. `identifies`: one of these must name the security.
    `searched`: the text search of lists looks at it. `guessed`: a service may name it in words of
    its own. `always`: there is no trade without it.
    """

    name: str
    label: str
    kind: ValueKind = ValueKind.TEXT
    needed: bool = False
    identifies: bool = False
    searched: bool = False
    guessed: bool = False
    always: bool = False
    example: str = ""


FIELDS: Final = (
    TradeField("ticker", "Ticker", identifies=True, searched=True),
    TradeField("isin", "ISIN", ValueKind.ID, identifies=True, searched=True),
    TradeField("cusip", "CUSIP", ValueKind.ID, identifies=True, searched=True),
    TradeField("name", "Security", identifies=True, searched=True),
    TradeField("quantity", "Quantity", ValueKind.AMOUNT, needed=True),
    TradeField("price", "Price", ValueKind.AMOUNT),
    TradeField("notional", "Notional", ValueKind.AMOUNT, needed=True),
    TradeField("fees", "Fees", ValueKind.AMOUNT),
    TradeField("taxes", "Taxes", ValueKind.AMOUNT),
    TradeField("settlement_amount", "Settled", ValueKind.AMOUNT),
    TradeField("currency", "Currency", ValueKind.CURRENCY, needed=True),
    TradeField("trade_date", "Trade date", ValueKind.DATE, needed=True),
    TradeField("settlement_date", "Settlement date", ValueKind.DATE),
    TradeField("counterparty", "Counterparty", searched=True, guessed=True),
    TradeField("direction", "Side", needed=True, always=True, example="buy"),
    TradeField("asset_class", "Kind", guessed=True),
    TradeField("exchange", "Exchange", guessed=True),
)
NAMES: Final = tuple(field.name for field in FIELDS)
LABELS: Final = {field.name: field.label for field in FIELDS}
