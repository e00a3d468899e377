"""What of a trade a person should look at, and why."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from docmill.trades.fields import FIELDS, NAMES
from docmill.trades.reader.facts import cusip_in_isin, is_cusip, is_isin

THRESHOLD: Final = 0.8  # where nobody has said how sure is sure enough
NEEDED: Final = tuple(field.name for field in FIELDS if field.needed)
PRODUCT: Final = ("quantity", "price", "notional")
RATED: Final = frozenset({"exchange", "converted"})  # a rate that is printed explains the notional
IDENTIFIERS: Final = tuple(field.name for field in FIELDS if field.identifies)
# Bonds are priced in percent of their nominal; a contract of options stands for a hundred pieces.
ONE: Final = Decimal(1)
SCALES: Final = {"bond": (ONE, Decimal("0.01")), "option": (ONE, Decimal(100))}
ANY_SCALE: Final = (ONE, Decimal("0.01"), Decimal(100))
CENT: Final = Decimal("0.011")
MOST_SLACK: Final = 200  # of the notional: no rounding is larger than half a percent

Values = Mapping[str, Any]
Evidence = Mapping[str, Any]


def find_doubts(values: Values, evidence: Evidence, threshold: float = THRESHOLD) -> dict[str, str]:
    """A sentence for each value that is missing, unsure or does not fit the others."""
    found: dict[str, str] = {}
    for name, reason in (
        *_find_missing(values, evidence),
        *_find_broken(values),
        *_find_wrong_product(values, evidence, threshold),
        *_find_unsure(values, evidence, threshold),
    ):
        found.setdefault(name, reason)
    return {name: found[name] for name in NAMES if name in found and not is_checked(evidence, name)}


def find_certain(values: Values, evidence: Evidence, told: Sequence[str]) -> dict[str, str]:
    """What is missing or does not fit the others, however sure it is.

    `told`: how the reader says that the numbers fit: through a rate of exchange, or not at all.
    """
    found: dict[str, str] = {}
    for name, reason in (
        *_find_missing(values, evidence),
        *_find_broken(values),
        *_find_open_product(values, evidence, told),
    ):
        found.setdefault(name, reason)
    return {name: found[name] for name in NAMES if name in found and not is_checked(evidence, name)}


def is_checked(evidence: Evidence, name: str) -> bool:
    """Whether a person said that it is right as it is."""
    seen: Mapping[str, Any] = evidence.get(name) or {}
    return bool(seen.get("checked"))


def find_weakest(values: Values, evidence: Evidence) -> dict[str, str]:
    """Of a trade that waits although nothing is in doubt: the value that was read least surely."""
    sure = {
        name: confidence
        for name in (*NEEDED, *IDENTIFIERS)
        if values.get(name) is not None
        and not is_edited(evidence, name)
        and not is_checked(evidence, name)
        and (confidence := find_confidence(evidence, name)) is not None
    }
    name = min(sure, key=lambda each: sure[each], default=None)
    return {name: say_confidence(sure[name])} if name else {}


def _find_missing(values: Values, evidence: Evidence) -> Iterator[tuple[str, str]]:
    for name in NEEDED:
        if values.get(name) is None:
            yield name, "Missing" if is_edited(evidence, name) else "Not found on the page"
    if all(values.get(name) is None for name in IDENTIFIERS):
        yield "isin", "Nothing names the security"


def _find_broken(values: Values) -> Iterator[tuple[str, str]]:
    isin, cusip = values.get("isin"), values.get("cusip")
    if isin and not is_isin(isin):
        yield "isin", "The check digit does not fit"
    if cusip and not is_cusip(cusip):
        yield "cusip", "The check digit does not fit"
    inner = cusip_in_isin(isin) if isin else None
    if cusip and inner and cusip != inner:
        yield "cusip", f"The ISIN has {inner}"
    traded, settled = values.get("trade_date"), values.get("settlement_date")
    if isinstance(traded, date) and isinstance(settled, date) and settled < traded:
        yield "settlement_date", "Before the trade date"


def _find_wrong_product(
    values: Values, evidence: Evidence, threshold: float
) -> Iterator[tuple[str, str]]:
    """A reader that is sure knows why: an exchange rate may stand between price and notional."""
    edited = any(is_edited(evidence, name) for name in PRODUCT)
    if multiplies(values) or (
        not edited and (find_confidence(evidence, "notional") or 0) >= threshold
    ):
        return
    yield "notional", _say_product(values)


def _find_open_product(
    values: Values, evidence: Evidence, told: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """A rate of exchange may stand between price and notional; a person's word ends that."""
    edited = any(is_edited(evidence, name) for name in PRODUCT)
    if not multiplies(values) and (edited or not RATED & set(told)):
        yield "notional", _say_product(values)


def _say_product(values: Values) -> str:
    return f"Quantity times price is {(values['quantity'] * values['price']).normalize():,f}"


def multiplies(values: Values) -> bool:
    """Whether the notional is quantity times price, as far as rounding and scales explain."""
    quantity, price, notional = (values.get(name) for name in PRODUCT)
    if quantity is None or price is None or notional is None:
        return True
    kind = values.get("asset_class")
    scales = SCALES.get(kind.lower(), (ONE,)) if kind else ANY_SCALE
    return any(
        abs(quantity * price * scale - notional) <= _find_slack(quantity * scale, price, notional)
        for scale in scales
    )


def _find_slack(quantity: Decimal, price: Decimal, notional: Decimal) -> Decimal:
    """What rounding explains: half a step of the price for each piece, and a cent."""
    exponent = price.as_tuple().exponent
    step = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
    return max(CENT, min(abs(quantity) * step / 2, notional / MOST_SLACK))


def _find_unsure(values: Values, evidence: Evidence, threshold: float) -> Iterator[tuple[str, str]]:
    """Needed values, and what names the security where nothing names it surely."""
    unsure = {
        name: confidence
        for name in evidence
        if values.get(name) is not None
        and (confidence := find_confidence(evidence, name)) is not None
        and confidence < threshold
    }
    known = [name for name in IDENTIFIERS if values.get(name) is not None]
    watched = NEEDED if any(name not in unsure for name in known) else (*NEEDED, *known)
    settled = PRODUCT if is_settled(values, evidence) else ()
    for name in watched:
        if name in unsure and name not in settled:
            yield name, say_confidence(unsure[name])


def is_settled(values: Values, evidence: Evidence) -> bool:
    """Whether quantity times price is the notional now that a person has set one of them."""
    return (
        all(values.get(name) is not None for name in PRODUCT)
        and any(is_edited(evidence, name) for name in PRODUCT)
        and multiplies(values)
    )


def say_confidence(sure: float | None) -> str:
    return f"Read with {sure:.0%} confidence" if sure else "Nobody has said it: please choose"


def find_confidence(evidence: Evidence, name: str) -> float | None:
    seen: Mapping[str, Any] = evidence.get(name) or {}
    sure = seen.get("confidence")
    return float(sure) if isinstance(sure, int | float) else None


def is_edited(evidence: Evidence, name: str) -> bool:
    seen: Mapping[str, Any] = evidence.get(name) or {}
    return bool(seen.get("edited"))
