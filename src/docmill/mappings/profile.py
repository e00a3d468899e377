"""What an owner has told about itself, for what its documents do not print."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from docmill.mappings.texts import clean, is_object

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


NAMES: Final = tuple(each.name for each in fields(Profile))


def profile_of(data: Mapping[str, Any]) -> Profile:
    """A profile from JSON; a name that means nothing here is an error, not a silence."""
    if unknown := sorted(set(data) - set(NAMES)):
        raise ValueError(f"unknown: {', '.join(unknown)}; allowed: {', '.join(NAMES)}")
    rates: Any = data.get(_RATES) or {}
    if not is_object(rates):
        raise ValueError('rates is an object such as {"USD": "16250"}')
    words = {name: clean(value) for name, value in data.items() if name != _RATES}
    return Profile(**words, rates={str(key).upper(): clean(rates[key]) for key in rates})
