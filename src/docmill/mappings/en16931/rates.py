"""Which rate of VAT stands for a line that prints none: only what the totals leave no doubt of."""

from decimal import Decimal
from typing import Final

from docmill.mappings.amounts import CENT, HUNDRED, NOTHING, cents, number
from docmill.mappings.en16931 import parties
from docmill.mappings.scope import Scope
from docmill.mappings.texts import at

STANDARD: Final = "S"
ZERO: Final = "Z"
OUTSIDE: Final = "O"
_STEP: Final = Decimal("0.1")  # rates in use are whole numbers or tenths
_HIGHEST: Final = Decimal(50)


def printed(line: object) -> Decimal | None:
    rate = number(at(line, "tax_rate"))
    return rate if rate is not None and NOTHING <= rate < HUNDRED else None


def overall(net: Decimal | None, tax: Decimal | None, *, lines: int) -> Decimal | None:
    """The one rate that makes the tax of the net, when it is a rate that somebody could levy."""
    if tax == NOTHING:
        return NOTHING
    if net is None or tax is None or net == NOTHING:
        return None
    rate = (tax / net * HUNDRED).quantize(_STEP)
    close = CENT * max(2, lines)
    sharp = abs(net) * _STEP / HUNDRED > close
    whole = rate.quantize(Decimal(1))
    for each in (whole, rate) if sharp else (whole,):
        if NOTHING < each <= _HIGHEST and abs(cents(net * each / HUNDRED) - tax) <= close:
            return each
    return None


def category(scope: Scope, rate: Decimal | None) -> str:
    """Standard where there is tax. Why there is none is seldom printed: a person should say."""
    if rate is None or rate > NOTHING:
        return STANDARD
    seller = scope.once(parties.seller)
    scope.findings.flag("totals.tax", "a rate of zero: look whether it is zero-rated or exempt")
    return ZERO if seller.vat_id or seller.registration else OUTSIDE
