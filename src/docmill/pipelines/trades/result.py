"""The canonical JSON of trades: values, evidence, and which trades a person should look at."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from docmill.pipelines.trades.model import FIELDS, Reading, Trade, Value

THRESHOLD: Final = 0.8
NEEDED: Final = ("direction", "trade_date", "quantity", "currency", "notional")
IDENTIFIERS: Final = ("isin", "cusip", "ticker", "name")
MISSING: Final = 0.3
UNIDENTIFIED: Final = 0.5


def data_of(reading: Reading, threshold: float) -> dict[str, Any]:
    """The trades as JSON. A trade below the threshold is listed under `review`."""
    trades = [_trade(trade) for trade in reading.trades]
    evidence = {
        f"trades[{index}].{name}": _evidence(value)
        for index, trade in enumerate(reading.trades)
        for name, value in trade.items()
    }
    return {
        "trades": trades,
        "reason": reading.reason or None,
        "kind": reading.kind or None,
        "evidence": evidence,
        "review": list(_doubtful(reading, threshold)),
        "review_threshold": threshold,
    }


def rows_of(
    reading: Reading, threshold: float, source: str, sizes: Mapping[int, tuple[float, float]]
) -> list[dict[str, Any]]:
    """The trades as their table takes them."""
    return [
        {
            **_trade(trade),
            "position": index,
            "needs_review": confidence(trade) < threshold,
            "raw_extracted_data": {
                "source": source,
                "checks": list(trade.checks),
                "pages": {
                    str(value.page): list(sizes[value.page])
                    for _, value in trade.items()
                    if value.page in sizes
                },
                "evidence": {name: _evidence(value) for name, value in trade.items()},
            },
        }
        for index, trade in enumerate(reading.trades)
    ]


def confidence(trade: Trade) -> float:
    """How sure a trade is: as its weakest needed value, with one name for the security."""
    values = trade.values
    needed = [values[name].confidence if name in values else MISSING for name in NEEDED]
    known = [values[name].confidence for name in IDENTIFIERS if name in values]
    return round(min([*needed, max([UNIDENTIFIED, *known])]), 2)


def _trade(trade: Trade) -> dict[str, Any]:
    plain = {name: trade.values[name].value if name in trade.values else None for name in FIELDS}
    return {**plain, "confidence_score": confidence(trade)}


def _doubtful(reading: Reading, threshold: float) -> Iterator[str]:
    """The paths a person should look at: of doubtful trades those values that make them so."""
    for index, trade in enumerate(reading.trades):
        if confidence(trade) >= threshold:
            continue
        yield f"trades[{index}]"
        for name in NEEDED:
            value = trade.values.get(name)
            if value is None or value.confidence < threshold:
                yield f"trades[{index}].{name}"


def _evidence(value: Value) -> Mapping[str, Any]:
    return {
        "confidence": value.confidence,
        "page": value.page or None,
        "box": value.box.rounded() if value.box else None,
        "text": value.text,
    }
