"""Whether pages are a broker's note: the words of the trade, numbers of securities, and trades."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from docmill.core.plugins import Recognition
from docmill.reading.pages import Page
from docmill.reading.turning import set_upright
from docmill.trades.reader.facts import is_isin
from docmill.trades.reader.read import read_trades
from docmill.trades.reader.rows import make_sheet

_ISIN: Final = re.compile(r"\b[A-Z]{2}[A-Z0-9]{9}[0-9]\b")
# Words that stand on papers of banks and brokers, and seldom several of them elsewhere.
_WORDS: Final = re.compile(
    r"\b(?:isin|cusip|sedol|wkn|valoren?(?:nummer|nr)?|wertpapier\w*|depot\w*|kurs\w*|stk"
    r"|handels(?:tag|platz|zeit|datum)|schluss(?:tag|datum)|ausführung\w*|börse\w*"
    r"|securit(?:y|ies)|shares?|contract note|trade date|transaction date|settlement date"
    r"|deal(?:ing)? date|brokerage|broker|commission|consideration|stock exchange|dividend\w*"
    r"|titres?|bourse|cours|titoli|borsa|valores|bolsa|acciones|azioni|kontoauszug"
    r"|account statement|account summary|portfolio|kauf|verkauf|bought|sold|buy|sell|achat|vente"
    r"|compra|venta|acquisto|vendita|crypto\w*|bitcoin|btc|eth|kontonummer|konto|saldo|zinsen|etf"
    r"|fund|fonds|nominal\w*|trades?|symbol|ticker|xetra|nasdaq|nyse|spot|filled|executed"
    r"|executions?)\b",
    re.IGNORECASE,
)
SURE, LIKELY, POSSIBLE = 0.97, 0.9, 0.7
MANY, SEVERAL, SOME = 6, 4, 3
# Prose as long as this uses such words by the way.
LONG: Final = 6000


@dataclass(frozen=True, slots=True)
class NoteSigns:
    """`words`: how many of the trade's words; `named`: a security by a number that is right."""

    trades: int
    words: int
    named: bool
    speaks_of_isin: bool
    is_long: bool

    @property
    def score(self) -> float:
        if self.trades and (self.named or self.words >= SEVERAL):
            return SURE
        if (self.named and self.words) or (self.speaks_of_isin and self.words >= SOME):
            return SURE - 0.01
        if self.words >= MANY:
            return LIKELY
        if self.words > SEVERAL or (self.trades and self.words >= SOME and not self.is_long):
            return POSSIBLE
        return 0.0

    @property
    def sentence(self) -> str:
        told = "1 trade" if self.trades == 1 else f"{self.trades} trades"
        parts = [f"it tells of {told}"] if self.trades else ["it has the words of a bank or broker"]
        if self.named:
            parts.append("names a security by its number")
        return f"Read as a trade note: {' and '.join(parts)}."


def recognize_note(pages: Sequence[Page]) -> Recognition:
    text = "\n".join(page.text for page in pages)
    words = {match.group().lower() for match in _WORDS.finditer(text)}
    found = read_trades(make_sheet(map(set_upright, pages)))
    signs = NoteSigns(
        trades=len(found.trades),
        words=len(words),
        named=any(is_isin(number) for number in _ISIN.findall(text)),
        speaks_of_isin="isin" in words,
        is_long=len(text) > LONG,
    )
    return Recognition(signs.score, signs.sentence)
