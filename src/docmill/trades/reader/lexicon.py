"""Patterns of the words that broker notes use; the words are in `reading/lexicon`."""

import re
from typing import Final

from docmill.reading.lexicon import lexicon

_WORDS: Final = lexicon()


def _whole(topic: str, concept: str) -> re.Pattern[str]:
    """Any phrase of a concept, as whole words of a folded text."""
    return re.compile(rf"\b{_WORDS.pattern(topic, concept)}\b")


def _any(concept: str) -> str:
    return _WORDS.pattern("trade", concept)


BUY: Final = _whole("trade", "buy")
SELL: Final = _whole("trade", "sell")
MILD: Final = _whole("trade", "mild")
TORN_BUY: Final = re.compile(_any("torn_buy"))
TORN_SELL: Final = re.compile(_any("torn_sell"))
RIGHTS: Final = re.compile(_any("rights"))
STATEMENT_VERB: Final = _whole("trade", "statement_verb")
NOT_DIRECTION: Final = _whole("trade", "not_direction")
HOLDINGS: Final = _whole("trade", "holdings")
SUM_ROW: Final = re.compile(rf"{_any('sum_row')}\b")
VALUED: Final = _whole("trade", "valued")
APPENDIX: Final = _whole("trade", "appendix")
LOTS: Final = _whole("trade", "lots")
BUY_CODES: Final = frozenset(_WORDS.phrases("trade", "buy_code"))
SELL_CODES: Final = frozenset(_WORDS.phrases("trade", "sell_code"))
DEBIT: Final = _whole("trade", "debit")
CREDIT: Final = _whole("trade", "credit")
DEBIT_HEAD: Final = _whole("trade", "debit_head")
CREDIT_HEAD: Final = _whole("trade", "credit_head")
SECURITY_CODE: Final = _whole("trade", "security_code")
ANY_SIDE: Final = _whole("trade", "side")
NO_TRADE_ROW: Final = _whole("trade", "no_trade_row")
ESTIMATED: Final = _whole("trade", "estimated")

NUMBERS: Final = {role: _whole("trade number", role) for role in _WORDS.names("trade number")}
UNITS: Final = re.compile(rf"{_any('unit')}\b")
PER_UNIT: Final = re.compile(rf"(?:eur |usd |chf |gbp )?{_any('per_unit')}\b")
ASIDE: Final = _whole("trade", "aside")
RATE_WORDS: Final = _whole("trade", "rate_word")
MONEY_FILLERS: Final = _whole("trade", "money_filler")
ACCOUNT: Final = re.compile(
    rf"\b{_any('account')}(?: {_any('account_number')})*(?: \w*(?:\d|dd|xx)\w*)+"
)

# How surely words name the day of a trade.
TRADE_DAY: Final = (
    *((weight, _whole("trade day", str(weight))) for weight in (10, 6, 5)),
    (
        3,
        re.compile(
            rf"^{_WORDS.pattern('trade day', 'first')}\b|\b{_WORDS.pattern('trade day', 'last')}$"
        ),
    ),
    (1, _whole("trade day", "1")),
)
SETTLEMENT_DAY: Final = _whole("trade day", "settlement")
NOT_TRADE_DAY: Final = _whole("trade day", "none")
ON: Final = re.compile(rf"\b{_any('on')}$")

# Documents that tell of no trade, and kinds of securities: the first that matches counts.
DOCUMENT_KINDS: Final = [
    (kind, _whole("trade document", kind))
    for kind in ("dividend", "cancellation", "order", "corporate", "money", "statement")
]
ASSETS: Final = [
    (kind, _whole("trade asset", kind))
    for kind in ("etf", "option", "certificate", "bond", "crypto", "fund", "equity")
]

# In texts as they are printed.
EXCHANGE: Final = _whole("trade", "exchange")
TICKER: Final = re.compile(rf"(?i:\b{_any('ticker')}\b)[\s:]*([A-Z][A-Z0-9.]{{0,5}})\b")
SECURITY: Final = re.compile(rf"^{_any('security')}\b[\s:.]*", re.IGNORECASE)
BROKER: Final = _whole("trade", "broker")
ANY_BROKER: Final = _whole("trade", "any_broker")
COLUMN: Final = re.compile(rf"\b{_any('not_a_name')}\b")
COST: Final = re.compile(rf"\b{_any('cost')}\b", re.IGNORECASE)
# One word of a label, a title or a unit: no name of a security is made of these.
NAME_LABEL: Final = re.compile(
    "|".join(
        [
            *(pattern.pattern for pattern in NUMBERS.values()),
            *(pattern.pattern for pattern in (BUY, SELL, SETTLEMENT_DAY, NOT_TRADE_DAY)),
            *(pattern.pattern for _, pattern in TRADE_DAY),
            _any("unit"),
            _any("name_label"),
        ]
    )
)
NOT_NAMES: Final = _whole("trade", "not_names")
