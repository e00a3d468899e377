"""Whether a profile can be meant: told at once, not found out in the first file that is refused."""

import re
from collections.abc import Iterator
from typing import Final

from docmill.mappings import npwp
from docmill.mappings.amounts import NOTHING, number
from docmill.mappings.coretax.tax import CODES
from docmill.mappings.profile import Profile

_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_OPTS: Final = ("A", "B")
LONGEST: Final = 1000


def mistakes(profile: Profile) -> list[tuple[str, str]]:
    """Names and what is wrong with them."""
    return [*_identity(profile), *_defaults(profile), *_rates(profile)]


def _identity(profile: Profile) -> Iterator[tuple[str, str]]:
    if profile.tin and not npwp.tin(profile.tin):
        yield "tin", "not an NPWP of 15 or 16 digits"
    if profile.idtku and not npwp.idtku(profile.idtku):
        yield "idtku", "not an IDTKU of 22 digits"
    tin, idtku = npwp.tin(profile.tin), npwp.idtku(profile.idtku)
    if tin and idtku and not idtku.startswith(tin):
        yield "idtku", "does not begin with the tin"


def _defaults(profile: Profile) -> Iterator[tuple[str, str]]:
    if profile.trx_code and profile.trx_code not in CODES:
        yield "trx_code", f"not one of {', '.join(CODES)}"
    if profile.opt and profile.opt not in _OPTS:
        yield "opt", "neither A (goods) nor B (services)"
    for name in ("add_info", "facility_stamp", "country", "payment_terms"):
        if len(getattr(profile, name)) > LONGEST:
            yield name, f"longer than {LONGEST} characters"


def _rates(profile: Profile) -> Iterator[tuple[str, str]]:
    for currency, rate in profile.rates.items():
        worth = number(rate)
        if not _CURRENCY.fullmatch(currency):
            yield "rates", "a currency has three letters, such as USD"
        elif worth is None or worth <= NOTHING:
            yield f"rates.{currency}", "not a number of rupiah, such as 16250"
