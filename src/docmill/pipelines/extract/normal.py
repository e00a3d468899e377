"""Values as programs want them: dates in ISO, amounts with a point, ids without spaces."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from docmill.pipelines.extract.kinds import AMOUNT, DATE, EMAIL, ID
from docmill.reading import dates, numbers


@dataclass(frozen=True, slots=True)
class Customs:
    """How one document writes numbers and dates."""

    mark: numbers.Mark = ""
    month_first: bool = False


def customs_of(texts: Iterable[str]) -> Customs:
    known = list(texts)
    return Customs(numbers.mark_of(known), dates.month_first(known) or False)


def normal(value: str, kind: str, customs: Customs) -> dict[str, Any]:
    """What a value of this kind means; nothing where that can't be told."""
    if kind == DATE:
        day = dates.find(value, month_first=customs.month_first)
        return {"date": day[0].day.isoformat()} if len(day) == 1 else {}
    if kind == AMOUNT:
        return _amount(value, customs)
    if kind == EMAIL:
        return {"text": value.lower()}
    return {"text": "".join(value.split())} if kind == ID else {}


def _amount(value: str, customs: Customs) -> dict[str, Any]:
    found = numbers.find(value, customs.mark)
    if len(found) != 1:
        return {}
    money = found[0].currency
    return {"amount": str(found[0].value), **({"currency": money} if money else {})}
