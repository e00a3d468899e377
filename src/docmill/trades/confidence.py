"""How sure the values of a trade are, by what was seen of them; fitted, not set by hand.

Everything is taken from the result's JSON and the text of the pages. `python -m
eval.fit_trade_confidence --write` fits the weights.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib import resources
from typing import Any, Final

from docmill.core.calibration import SCANNED, Calibration, load_calibration, score_feature
from docmill.reading.dates import find_dates
from docmill.reading.labels import fold
from docmill.reading.numbers import currency_code
from docmill.trades.checks import multiplies
from docmill.trades.reader import lexicon
from docmill.trades.reader.days import SATURDAY
from docmill.trades.reader.facts import ISIN, cusip_in_isin, is_isin

KINDS: Final = {
    "trades.isin": "code",
    "trades.direction": "side",
    "trades.trade_date": "day",
    "trades.quantity": "number",
    "trades.notional": "number",
    "trades.currency": "currency",
}
PROMISED: Final = tuple(field.partition(".")[2] for field in KINDS)
NUMBERS: Final = ("quantity", "price", "notional", "settlement_amount")
FITS: Final = ("exchange", "per cent", "contract", "net")
USUAL_GAP: Final = range(6)  # days from the trade to its settlement
NAMED: Final = 0.95  # the reader's score of a day that words call the trade's
HINTED: Final = 0.79  # under it nothing but its place speaks for a day
BALANCED: Final = 0.9  # under it no costs explain what lies between notional and settled sum
TURNED: Final = 0.93  # under it a rate, a sum after costs or a mere label gives the notional
GUESSED: Final = 0.5  # the reader's word for a day for which next to nothing speaks
REFUSED: Final = 0.45  # less than the promise approves
LEAST_SURE: Final = {"trade_date": HINTED, "notional": TURNED}
UNSURE: Final = 0.89
CLOSE: Final = 10  # days: so near, another date may be the trade's
MASS: Final = 10  # trades: a statement of them
MOST_CODES: Final = 3
UNSAID: Final = 0.6  # the reader's word for a direction that only the money tells
SHORT: Final = 8  # words: more are a sentence
_CODE: Final = re.compile(r"\b[A-Z]{3}\b")
_PATH: Final = re.compile(r"trades\[(\d+)\]\.(\w+)")

Features = dict[str, float]
Json = Mapping[str, Any]


@cache
def load_fitted() -> Calibration:
    kept = resources.files("docmill.trades").joinpath("confidence.json")
    return load_calibration(kept.read_text("utf-8"))


def name_field(path: str) -> str:
    """The field of a path, the same for all trades: `trades.quantity`."""
    found = _PATH.fullmatch(path)
    return f"trades.{found[2]}" if found else path


@dataclass(frozen=True, slots=True)
class TradeDescriber:
    """Tells the features of the values of trades; what the document says is counted once."""

    data: Json
    shared: Features
    codes: Mapping[str, int]
    days: Sequence[date]

    @classmethod
    def of(cls, data: Json, texts: Sequence[str]) -> "TradeDescriber":
        words = [code for text in texts for code in _CODE.findall(text)]
        codes = Counter(code for code in words if currency_code(code))
        days = sorted({each.day for text in texts for each in find_dates(text)})
        plain = [fold(text) for text in texts if len(text.split()) <= SHORT]
        securities = {m[1] for text in texts for m in ISIN.finditer(text) if is_isin(m[1])}
        count = len(data["trades"])
        shared = {
            "many": float(count > 1),
            "mass": float(count >= MASS),
            "securities": float(len(securities) > count),
            "unnamed": float(not securities),
            "buys": float(any(lexicon.BUY.search(text) for text in plain)),
            "sells": float(any(lexicon.SELL.search(text) for text in plain)),
            "currencies": float(min(len(codes), MOST_CODES)) - 1.0,
        }
        return cls(data, shared, codes, days)

    def describe(self, index: int, name: str) -> Features:
        """What is known of one value of one trade."""
        trade, seen = self.data["trades"][index], self._seen(index, name)
        scanned = float(bool(self.data.get("scanned_pages")))
        score = score_feature(seen["confidence"])
        others = [
            score_feature(self._seen(index, each)["confidence"])
            for each in PROMISED
            if each != name and trade.get(each) is not None
        ]
        common = {
            "score": score,
            SCANNED: scanned,
            "scanned_score": scanned * score,
            "others": sum(others) / len(others) if others else -2.0,
            "least": min(others, default=-2.0),
            "absent": (len(PROMISED) - 1 - len(others)) / 2,
            "later": float((seen.get("page") or 1) > 1),
        }
        return {**common, **self.shared, **self._describe_fit(index), **self._own(index, name)}

    def find_limit(self, index: int, name: str) -> float:
        """A code that fails its own check, and a direction that no word tells, are never surer
        than the reader calls them. A day that only its place speaks for, and a notional that no
        product of printed numbers gives or whose money is unknown, are never sure; a day that is a
        guess is not approved."""
        own = self._seen(index, name)["confidence"]
        wrong = name == "isin" and not is_isin(self.data["trades"][index]["isin"])
        if wrong or (name == "direction" and own <= UNSAID):
            return own
        if name == "trade_date" and own <= GUESSED:
            return min(own, REFUSED)
        unknown = name == "notional" and self._is_unknown_money(index)
        return UNSURE if unknown or own < LEAST_SURE.get(name, 0.0) else 1.0

    def _is_unknown_money(self, index: int) -> bool:
        """Whether no currency was found, and costs do not explain what was settled either."""
        told = bool(self.data["trades"][index].get("currency"))
        return not told and self._seen(index, "settlement_amount")["confidence"] < BALANCED

    def _seen(self, index: int, name: str) -> Json:
        evidence: Json = self.data["evidence"]
        return evidence.get(f"trades[{index}].{name}") or {"confidence": 0.0}

    def _describe_fit(self, index: int) -> Features:
        """How quantity, price, notional and what was settled fit together."""
        trade = self.data["trades"][index]
        numbers = {name: parse_number(trade.get(name)) for name in NUMBERS}
        told: Sequence[str] = self.data["checks"].get(f"trades[{index}]") or ()
        paid, notional = numbers["settlement_amount"], numbers["notional"]
        near = bool(paid and notional and notional / 2 <= paid <= 2 * notional)
        fits = multiplies({**trade, **numbers})
        return {
            "fits": float("product" in told and fits),
            "open": float(not fits),
            "unfit": float(not told),
            "priceless": float(numbers["price"] is None),
            "settled": float(near),
            "settled_far": float(paid is not None and not near),
            "converted": float("converted" in told),
            **{f"fit {fit}": float(fit in told) for fit in FITS},
        }

    def _own(self, index: int, name: str) -> Features:
        trade = self.data["trades"][index]
        match name:
            case "trade_date":
                return self._describe_day(trade, self._seen(index, name)["confidence"])
            case "currency":
                share = self.codes.get(trade["currency"], 0) / max(sum(self.codes.values()), 1)
                return {"share": share, "unprinted": float(trade["currency"] not in self.codes)}
            case "isin":
                return {"odd": float(not is_isin(trade["isin"]))}
            case "direction":
                other = "sells" if trade["direction"] == "buy" else "buys"
                return {"other_side": self.shared[other], "sold": float(other == "buys")}
            case _:
                return _describe_number(parse_number(trade[name]), name)

    def _describe_day(self, trade: Json, own: float) -> Features:
        traded, settled = (
            _parse_day(trade.get(each)) for each in ("trade_date", "settlement_date")
        )
        gap = (settled - traded).days if traded and settled else None
        near = [day for day in self.days if traded and abs((day - traded).days) <= CLOSE]
        return {
            "usual_gap": float(gap is not None and gap in USUAL_GAP),
            "no_gap": float(gap == 0),
            "odd_gap": float(gap is not None and gap not in USUAL_GAP),
            "near_days": float(min(max(len(near) - 1, 0), MOST_CODES)),
            "first_day": float(bool(near) and traded == near[0]),
            "last_day": float(bool(self.days) and traded == self.days[-1]),
            "named": float(own >= NAMED),
            "unnamed_day": float(own < HINTED),
            "weekend": float(bool(traded and traded.weekday() >= SATURDAY)),
            "new_year": float(str(trade["trade_date"]).endswith("01-01")),
        }


def _describe_number(value: Decimal | None, name: str) -> Features:
    exponent = value.normalize().as_tuple().exponent if value is not None else 0
    places = -exponent if isinstance(exponent, int) else 0
    counted = name == "quantity"
    return {
        "whole": float(counted and places <= 0),
        "fine": float(counted and places > 2),
        "one": float(counted and value == 1),
        "nought": float(not value),
    }


def parse_number(value: object) -> Decimal | None:
    try:
        return Decimal(str(value)) if value not in (None, "") else None
    except InvalidOperation:
        return None


def _parse_day(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value)) if value else None
    except ValueError:
        return None


def estimate_values(data: Json, texts: Sequence[str], fitted: Calibration) -> dict[str, float]:
    """How sure the values are, by path; and those that hang on one of them."""
    known, found = TradeDescriber.of(data, texts), dict[str, float]()
    for index, trade in enumerate(data["trades"]):
        for name in PROMISED:
            if trade.get(name) is not None:
                field = f"trades.{name}"
                sure = fitted.estimate(KINDS[field], field, known.describe(index, name))
                found[f"trades[{index}].{name}"] = min(sure, known.find_limit(index, name))
        for name, owner in (("cusip", "isin"), ("price", "quantity")):
            sure = found.get(f"trades[{index}].{owner}")
            if sure is not None and _hangs_on(trade, name):
                found[f"trades[{index}].{name}"] = sure
    return found


def _hangs_on(trade: Json, name: str) -> bool:
    """A CUSIP inside the ISIN, and a price that quantity and notional leave no choice."""
    if trade.get(name) is None:
        return False
    if name == "cusip":
        return cusip_in_isin(str(trade["isin"])) == trade["cusip"]
    return multiplies({**trade, **{each: parse_number(trade.get(each)) for each in NUMBERS}})
