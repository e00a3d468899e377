"""Trades held against their truth, value by value, as the shared corpus tells it."""

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from docmill.core.scoring import JudgedValue

COMPARED: Final = ("isin", "direction", "trade_date", "quantity", "currency", "notional")
KEYS: Final = ("direction", "trade_date", "quantity")
NUMBERS: Final = frozenset({"quantity", "notional"})
NEAR: Final = Decimal("0.011")

Truth = Mapping[str, Any]


def judge_trades(record: Truth, data: Truth) -> Iterator[JudgedValue]:
    """Each value of each trade that the truth knows; a trade it does not know is one wrong value.

    Of one trade the values are compared. Of several, a trade is found by what tells it apart.
    """
    found: list[Truth] = list(data.get("trades") or ())
    left = dict(enumerate(found))
    for truth in record["trades"]:
        index = _find_trade(record["kind"], truth, left)
        if index is None:
            yield from _list_missing(record, truth)
            continue
        trade = left.pop(index)
        for name in COMPARED:
            if truth.get(name) is not None:
                yield _judge(record, data, f"trades[{index}].{name}", truth, trade.get(name))
    for index in left:
        path = f"trades[{index}].direction"
        yield _judge(record, data, path, {}, left[index].get("direction"))


def _find_trade(kind: str, truth: Truth, left: Mapping[int, Truth]) -> int | None:
    if kind == "single":
        return next(iter(left), None)
    for index, trade in left.items():
        if all(_is_right(name, truth, trade.get(name)) for name in KEYS):
            return index
    return None


def _list_missing(record: Truth, truth: Truth) -> Iterator[JudgedValue]:
    names = COMPARED if record["kind"] == "single" else ("direction",)
    for name in names:
        if truth.get(name) is not None:
            want = str(truth[name])
            yield JudgedValue(record["file"], "trades", f"trades.{name}", right=False, wanted=want)


def _judge(record: Truth, data: Truth, path: str, truth: Truth, value: object) -> JudgedValue:
    name = path.rpartition(".")[2]
    evidence: Any = data.get("evidence") or {}
    seen: Any = evidence.get(path) or {}
    wanted = truth.get(name)
    return JudgedValue(
        document=record["file"],
        path=path,
        field=f"trades.{name}",
        right=wanted is not None and _is_right(name, truth, value),
        wanted=None if wanted is None else str(wanted),
        value=value,
        confidence=seen.get("confidence", 0.0),
        page=seen.get("page"),
        box=seen.get("box"),
    )


def _is_right(name: str, truth: Truth, value: object) -> bool:
    wants = [truth.get(name), *([truth.get("settlement_amount")] if name == "notional" else ())]
    return any(_is_same(name, want, value) for want in wants if want is not None)


def _is_same(name: str, wanted: object, value: object) -> bool:
    if value is None:
        return False
    if name not in NUMBERS:
        return str(wanted).lower() == str(value).lower()[: 10 if name == "trade_date" else 99]
    one, other = _parse(wanted), _parse(value)
    return one is not None and other is not None and abs(one - other) <= max(NEAR, one / 1_000_000)


def _parse(value: object) -> Decimal | None:
    """Without its sign: what is sold may be printed as less than nothing."""
    try:
        found = abs(Decimal(str(value)))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None
