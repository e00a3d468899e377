"""Transaction codes, rates of exchange and the tax on one base, as the importer recomputes them."""

from decimal import Decimal
from typing import Final

from docmill.core.faults import Faulted
from docmill.mappings.amounts import HUNDRED, NOTHING, ONE, cents, number, plain
from docmill.mappings.scope import Scope

CODES: Final = tuple(f"{code:02}" for code in range(1, 11))
OTHER_BASE: Final = "04"
FULL_BASE: Final = "01"
WITH_FACILITY: Final = ("07", "08")
VAT_RATE: Final = Decimal(12)
RUPIAH: Final = ("IDR", "RP", "RUPIAH")


def trx_code(scope: Scope) -> str:
    """The document's code, else the owner's; without either what the printed tax proves, or 04."""
    for path in ("trx_code", "profile.trx_code"):
        given = scope.text(path)
        if given.zfill(2) in CODES and given.isascii():
            return given.zfill(2)
        if given:
            scope.findings.flag(path, f"{given!r} is none of {CODES[0]} .. {CODES[-1]}")
    if _is_full_rate(scope):
        scope.findings.flag("trx_code", "01, because the printed tax is 12 % of the whole net")
        return FULL_BASE
    return OTHER_BASE


def _is_full_rate(scope: Scope) -> bool:
    net, tax = scope.number("totals.net"), scope.number("totals.tax")
    if net is None or tax is None or net < HUNDRED:
        return False
    return abs(net * VAT_RATE / HUNDRED - tax) < ONE


def facility(scope: Scope, path: str) -> str:
    """AddInfo and FacilityStamp exist for codes 07 and 08 only."""
    if scope.once(trx_code) not in WITH_FACILITY:
        return ""
    if not scope.text(path):
        scope.findings.flag(path, "codes 07 and 08 need it in the owner's settings")
    return scope.text(path)


def other_base(code: str, base: Decimal) -> Decimal:
    return cents(base * 11 / 12) if code == OTHER_BASE else base


def vat(other: Decimal) -> Decimal:
    return cents(other * VAT_RATE / HUNDRED)


def rate(scope: Scope) -> Decimal:
    """Rupiah for one unit of the invoice's currency; another currency without a rate is refused."""
    currency = scope.text("currency").upper().rstrip(".")
    if currency in RUPIAH:
        return ONE
    if not currency:
        scope.findings.flag("currency", "none is printed; the amounts are taken for rupiah")
        return ONE
    given = scope.number("exchange_rate") or number(scope.profile.rates.get(currency))
    if given is None or given <= NOTHING:
        raise Faulted(
            "GW_4XX",
            f"Coretax takes amounts in IDR, and this invoice is in {currency[:3]}: give the rate"
            f" (rates.{currency[:3]} in the owner's settings), or choose another mapping",
            currency=currency[:3],
        )
    scope.findings.note(f"amounts in {currency} were multiplied by {plain(given)}")
    return given
