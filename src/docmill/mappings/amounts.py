"""Numbers of an invoice: decimal strings with a point, in Decimal from first to last."""

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

# Wide enough that no product or quotient of two numbers read here is rounded before we round it.
CONTEXT: Final = Context(prec=160, rounding=ROUND_HALF_UP)
NOTHING: Final = Decimal(0)
ONE: Final = Decimal(1)
CENT: Final = Decimal("0.01")
HUNDRED: Final = Decimal(100)

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{0,18})?")


def number(value: object) -> Decimal | None:
    """The number a JSON value holds, or None; never from a word that only looks like one."""
    text = "" if value is None or isinstance(value, bool) else str(value).strip()
    return Decimal(text) + NOTHING if _NUMBER.fullmatch(text) else None


def cents(value: Decimal) -> Decimal:
    """Two decimals, half up (away from zero, as on paper)."""
    return value.quantize(CENT, rounding=ROUND_HALF_UP, context=CONTEXT) + NOTHING


def fits_cents(value: Decimal) -> bool:
    return cents(value) == value


def plain(value: Decimal) -> str:
    """Digits and a point: no exponent, no zeros at the end, no minus before zero."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("", "-0") else text
