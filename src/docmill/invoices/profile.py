"""What an owner has told about itself, for what its documents do not print."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from typing import Any, Final

from docmill.core.json_values import is_object
from docmill.invoices import values
from docmill.invoices.values import NOTHING, clean, parse_iso_date, parse_number

_RATES: Final = "rates"
_DAILY: Final = "daily_rates"
DailyRates = Mapping[str, Mapping[str, str]]


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
    name: str = ""
    other_names: str = ""  # as they stand on documents, with semicolons between
    rates: Mapping[str, str] = field(default_factory=dict[str, str])  # rupiah for one unit of USD..
    # The same by day: {"USD": {"2025-03-14": "16250"}}. They go before those without a day.
    daily_rates: DailyRates = field(default_factory=dict[str, Mapping[str, str]])

    @property
    def names(self) -> list[str]:
        return [name for name in map(clean, (self.name, *self.other_names.split(";"))) if name]


PROFILE_NAMES: Final = tuple(each.name for each in fields(Profile))


def parse_profile(data: Mapping[str, Any]) -> Profile:
    """A profile from JSON; a name that means nothing here is an error, not a silence."""
    if unknown := sorted(set(data) - set(PROFILE_NAMES)):
        raise ValueError(f"unknown: {', '.join(unknown)}; allowed: {', '.join(PROFILE_NAMES)}")
    rates: Any = data.get(_RATES) or {}
    if not is_object(rates):
        raise ValueError('rates is an object such as {"USD": "16250"}')
    words = {name: clean(data[name]) for name in data if name not in (_RATES, _DAILY)}
    return Profile(
        **words,
        rates={str(key).upper(): clean(rates[key]) for key in rates},
        daily_rates=_parse_daily(data.get(_DAILY) or {}),
    )


def _parse_daily(given: Any) -> dict[str, dict[str, str]]:
    """By currency, and by day, the newest first; a currency without a day is none."""
    if not is_object(given) or not all(map(is_object, given.values())):
        raise ValueError('daily_rates is an object such as {"USD": {"2025-03-14": "16250"}}')
    found: dict[str, dict[str, str]] = {}
    for currency in sorted(given):
        days = sorted(given[currency], reverse=True)
        if days:
            found[currency.upper()] = {day: clean(given[currency][day]) for day in days}
    return found


def complete_profile(taken: Mapping[str, Any] | None, now: Mapping[str, Any]) -> Profile:
    """What a job took along when it came; what that does not say, as the owner's settings are now.

    So a rate that was missing can be given afterwards.
    """
    own, today = parse_profile(taken or {}), parse_profile(now)
    words = {name: getattr(own, name) or getattr(today, name) for name in PROFILE_NAMES}
    days = {
        currency: {**today.daily_rates.get(currency, {}), **own.daily_rates.get(currency, {})}
        for currency in {*today.daily_rates, *own.daily_rates}
    }
    return parse_profile({**words, _RATES: {**today.rates, **own.rates}, _DAILY: days})


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """Rupiah for one unit; `day` is empty for a rate of every day, `age` in days."""

    rupiah: Decimal
    day: str = ""
    age: int = 0


def find_rate(profile: Profile, currency: str, on: str) -> ExchangeRate | None:
    """The rate of that day, or of the newest day before it; else the one of every day.

    Without a date, or where all days come after it, the nearest counts if there is nothing else.
    """
    days = {
        day: rate
        for day, text in profile.daily_rates.get(currency, {}).items()
        if (rate := parse_number(text)) is not None and rate > NOTHING
    }
    if before := [day for day in days if day <= on]:
        return _rate_of(max(before), days, on)
    always = parse_number(profile.rates.get(currency))
    if always is not None and always > NOTHING:
        return ExchangeRate(always)
    nearest = (min(days) if on else max(days)) if days else ""
    return _rate_of(nearest, days, on) if nearest else None


def _rate_of(day: str, days: Mapping[str, Decimal], on: str) -> ExchangeRate:
    age = (date.fromisoformat(on) - date.fromisoformat(day)).days if on else 0
    return ExchangeRate(days[day], day, age)


_CURRENCY: Final = re.compile(r"[A-Z]{3}")
OPTS: Final = ("A", "B")
LONGEST_TEXT: Final = 1000
_TEXTS: Final = ("name", "other_names", "add_info", "facility_stamp", "country", "payment_terms")
# A rate for every day of ten years would go with every job.
MOST_DAYS: Final = 2000


def find_mistakes(profile: Profile) -> list[tuple[str, str]]:
    """Names and what is wrong with them."""
    return [
        *_check_identity(profile),
        *_check_defaults(profile),
        *_check_rates(profile),
        *_check_daily(profile),
    ]


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
    for name in _TEXTS:
        if len(getattr(profile, name)) > LONGEST_TEXT:
            yield name, f"longer than {LONGEST_TEXT} characters"


def _check_rates(profile: Profile) -> Iterator[tuple[str, str]]:
    for currency, rate in profile.rates.items():
        worth = parse_number(rate)
        if not _CURRENCY.fullmatch(currency):
            yield "rates", "a currency has three letters, such as USD"
        elif worth is None or worth <= NOTHING:
            yield f"rates.{currency}", "not a number of rupiah, such as 16250"


def _check_daily(profile: Profile) -> Iterator[tuple[str, str]]:
    for currency, days in profile.daily_rates.items():
        if not _CURRENCY.fullmatch(currency):
            yield _DAILY, "a currency has three letters, such as USD"
        for day, rate in days.items():
            worth = parse_number(rate)
            if not parse_iso_date(day):
                yield f"{_DAILY}.{currency}", "a day is written as 2025-03-14"
            elif worth is None or worth <= NOTHING:
                yield f"{_DAILY}.{currency}.{day}", "not a number of rupiah, such as 16250"
    if sum(map(len, profile.daily_rates.values())) > MOST_DAYS:
        yield _DAILY, f"more than {MOST_DAYS} days; take old ones out"


TRX_CODES: Final = tuple(f"{code:02}" for code in range(1, 11))
