"""What an owner has told about itself, for what its documents do not print."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from docmill.invoices import values
from docmill.invoices.values import NOTHING, clean, is_object, parse_number

_RATES: Final = "rates"


@dataclass(frozen=True, slots=True)
class Profile:
    """The seller's identity and defaults. All empty means: nothing is known, nothing is made up."""

    tin: str = ""
    idtku: str = ""
    trx_code: str = ""
    add_info: str = ""
    facility_stamp: str = ""
    opt: str = ""  # A goods, B services, for lines that do not say
    country: str = ""
    payment_terms: str = ""
    rates: Mapping[str, str] = field(default_factory=dict[str, str])  # rupiah for one unit of USD..


PROFILE_NAMES: Final = tuple(each.name for each in fields(Profile))


def parse_profile(data: Mapping[str, Any]) -> Profile:
    """A profile from JSON; a name that means nothing here is an error, not a silence."""
    if unknown := sorted(set(data) - set(PROFILE_NAMES)):
        raise ValueError(f"unknown: {', '.join(unknown)}; allowed: {', '.join(PROFILE_NAMES)}")
    rates: Any = data.get(_RATES) or {}
    if not is_object(rates):
        raise ValueError('rates is an object such as {"USD": "16250"}')
    words = {name: clean(value) for name, value in data.items() if name != _RATES}
    return Profile(**words, rates={str(key).upper(): clean(rates[key]) for key in rates})


_CURRENCY: Final = re.compile(r"[A-Z]{3}")
OPTS: Final = ("A", "B")
LONGEST_TEXT: Final = 1000


def find_mistakes(profile: Profile) -> list[tuple[str, str]]:
    """Names and what is wrong with them."""
    return [*_check_identity(profile), *_check_defaults(profile), *_check_rates(profile)]


def _check_identity(profile: Profile) -> Iterator[tuple[str, str]]:
    if profile.tin and not values.parse_tin(profile.tin):
        yield "tin", "not an NPWP of 15 or 16 digits"
    if profile.idtku and not values.parse_idtku(profile.idtku):
        yield "idtku", "not an IDTKU of 22 digits"
    tin, idtku = values.parse_tin(profile.tin), values.parse_idtku(profile.idtku)
    if tin and idtku and not idtku.startswith(tin):
        yield "idtku", "does not begin with the tin"


def _check_defaults(profile: Profile) -> Iterator[tuple[str, str]]:
    if profile.trx_code and profile.trx_code not in TRX_CODES:
        yield "trx_code", f"not one of {', '.join(TRX_CODES)}"
    if profile.opt and profile.opt not in OPTS:
        yield "opt", "neither A (goods) nor B (services)"
    for name in ("add_info", "facility_stamp", "country", "payment_terms"):
        if len(getattr(profile, name)) > LONGEST_TEXT:
            yield name, f"longer than {LONGEST_TEXT} characters"


def _check_rates(profile: Profile) -> Iterator[tuple[str, str]]:
    for currency, rate in profile.rates.items():
        worth = parse_number(rate)
        if not _CURRENCY.fullmatch(currency):
            yield "rates", "a currency has three letters, such as USD"
        elif worth is None or worth <= NOTHING:
            yield f"rates.{currency}", "not a number of rupiah, such as 16250"


TRX_CODES: Final = tuple(f"{code:02}" for code in range(1, 11))
