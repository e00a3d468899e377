"""ISIN and CUSIP: found by their shape, believed by their check digit."""

import re
from typing import Final

_CODES: Final = """
    AD AE AG AI AL AM AN AO AR AT AU AZ BA BB BD BE BG BH BM BO BR BS BW BY BZ CA CH CI CL CM
    CN CO CR CS CU CW CY CZ DE DK DO DZ EC EE EG ES ET EU FI FJ FO FR GA GB GE GG GH GI GR GT
    HK HN HR HU ID IE IL IM IN IQ IR IS IT JE JM JO JP KE KG KH KN KR KW KY KZ LA LB LC LI LK
    LR LT LU LV MA MC MD ME MG MH MK MM MN MO MT MU MV MW MX MY MZ NA NE NG NI NL NO NP NZ OM
    PA PE PG PH PK PL PR PS PT PY QA RO RS RU RW SA SB SC SE SG SI SK SL SM SN SR SV SZ TC TH
    TN TR TT TW TZ UA UG US UY UZ VC VE VG VI VN XC XD XF XS ZA ZM ZW
"""
_COUNTRIES: Final = frozenset(_CODES.split())
ISIN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Z]{2}[A-Z0-9]{9}\d)(?![A-Za-z0-9])")
GROUPED: Final = re.compile(
    r"(?<![A-Za-z0-9])([A-Z]{2}) ?([A-Z0-9]{3}) ?([A-Z0-9]{3}) ?([A-Z0-9]{3}) ?(\d)(?![A-Za-z0-9])"
)
TORN: Final = re.compile(r"I ?S ?I ?N[\s:]*((?:[A-Z0-9] ?){11}\d)")
CUSIP: Final = re.compile(r"(?<![A-Za-z0-9])([0-9A-Z]{3}[0-9A-Z*@#]{5}\d)(?![A-Za-z0-9])")


def is_isin(code: str) -> bool:
    """Whether the country is one and the last figure checks the others (ISO 6166)."""
    if not ISIN.fullmatch(code) or code[:2] not in _COUNTRIES:
        return False
    digits = "".join(str(int(char, 36)) for char in code)
    doubled = [int(d) * (1 + (at % 2)) for at, d in enumerate(reversed(digits))]
    return sum(value // 10 + value % 10 for value in doubled) % 10 == 0


def looks_like_isin(code: str) -> bool:
    """Whether only the check figure may be wrong: a country and nine characters, some figures."""
    return (
        bool(ISIN.fullmatch(code))
        and code[:2] in _COUNTRIES
        and sum(char.isdigit() for char in code) >= 3
    )


def is_cusip(code: str) -> bool:
    """Whether the last figure checks the first eight characters."""
    if not CUSIP.fullmatch(code):
        return False
    total = 0
    for at, char in enumerate(code[:8]):
        value = 36 + "*@#".index(char) if char in "*@#" else int(char, 36)
        value *= 1 + (at % 2)
        total += value // 10 + value % 10
    return (10 - total % 10) % 10 == int(code[8])


def cusip_of(isin: str) -> str | None:
    """The CUSIP inside an American or Canadian ISIN."""
    inner = isin[2:11]
    return inner if isin[:2] in {"US", "CA"} and is_cusip(inner) else None
