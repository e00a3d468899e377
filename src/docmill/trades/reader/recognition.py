"""Whether pages are a broker's note: whether trades are told of, and of which securities."""

import re
from collections.abc import Sequence
from typing import Final

from docmill.core.plugins import Recognition
from docmill.reading.pages import Page
from docmill.reading.turning import set_upright
from docmill.trades.reader.read import read_trades
from docmill.trades.reader.rows import FoundTrades, make_sheet

_ISIN: Final = re.compile(r"\b[A-Z]{2}[A-Z0-9]{9}[0-9]\b")
_CUSIP: Final = re.compile(r"\bCUSIP\b", re.IGNORECASE)
SURE, LIKELY, POSSIBLE = 0.97, 0.8, 0.4


def recognize_note(pages: Sequence[Page]) -> Recognition:
    """Trades of securities that carry a number leave no doubt."""
    found = read_trades(make_sheet(map(set_upright, pages)))
    text = " ".join(page.text for page in pages)
    numbered = bool(_ISIN.search(text) or _CUSIP.search(text))
    return Recognition(_score(found, numbered=numbered), _write_sentence(found, numbered=numbered))


def _score(found: FoundTrades, *, numbered: bool) -> float:
    if found.trades:
        known = any({"isin", "cusip", "ticker"} & trade.values.keys() for trade in found.trades)
        return SURE if known else LIKELY if numbered else POSSIBLE
    return LIKELY if found.kind and numbered else 0.0


def _write_sentence(found: FoundTrades, *, numbered: bool) -> str:
    count = len(found.trades)
    told = "1 trade" if count == 1 else f"{count} trades"
    parts = [f"it tells of {told}"] if count else ["a broker wrote it"]
    if numbered:
        parts.append("names a security by its number")
    return f"Read as a trade note: {' and '.join(parts)}."
