"""The lines of an invoice as GoodService rows, with the arithmetic that the importer checks."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from docmill.core.faults import Faulted
from docmill.mappings.amounts import NOTHING, cents
from docmill.mappings.coretax import tax
from docmill.mappings.coretax.kinds import kind
from docmill.mappings.coretax.prices import CLOSE, Priced, priced, without_negatives
from docmill.mappings.figures import Figures, figures
from docmill.mappings.scope import Scope
from docmill.mappings.texts import at, clean


@dataclass(frozen=True, slots=True)
class Good:
    index: int
    opt: str
    code: str
    description: str
    unit: str
    unit_price: Decimal
    quantity: Decimal
    discount: Decimal
    base: Decimal
    other_base: Decimal
    vat: Decimal


def goods(scope: Scope) -> list[Good]:
    rate = scope.once(tax.rate)
    rows = _lines(scope)
    proven = _is_proven(scope, rows)
    made = [priced(scope, row, rate=rate, proven=proven) for row in rows]
    found = [_good(scope, row) for row in without_negatives(scope, made)]
    _compare(scope, found, "totals.net", sum((good.base for good in found), NOTHING))
    _compare(scope, found, "totals.tax", sum((good.vat for good in found), NOTHING))
    return found


def _lines(scope: Scope) -> list[Figures]:
    printed = scope.lines()
    if printed:
        return [figures(line, index) for index, line in enumerate(printed)]
    net = scope.number("totals.net")
    if net is None:
        raise Faulted("GW_4XX", "the invoice has neither lines nor a net total: nothing to write")
    scope.findings.flag("lines", "none was read: the net total is written as one")
    return [Figures(None, None, NOTHING, net)]


def _is_proven(scope: Scope, rows: list[Figures]) -> bool:
    """The printed amounts are all there and add up to the printed net."""
    amounts = [row.amount for row in rows if row.amount is not None]
    net = scope.number("totals.net")
    return len(amounts) == len(rows) and net is not None and abs(sum(amounts) - net) < CLOSE


def _good(scope: Scope, row: Priced) -> Good:
    line: Any = dict(enumerate(scope.lines())).get(row.index)
    other = tax.other_base(scope.once(tax.trx_code), row.base)
    return Good(
        index=row.index,
        opt=kind(scope, line),
        code=clean(at(line, "code")),
        description=clean(at(line, "description")),
        unit=clean(at(line, "unit")),
        unit_price=row.price,
        quantity=row.quantity,
        discount=row.discount,
        base=row.base,
        other_base=other,
        vat=tax.vat(other),
    )


def _compare(scope: Scope, found: list[Good], path: str, made: Decimal) -> None:
    """Every line may lose a rupiah to rounding; more than that, a person should look."""
    printed = scope.number(path)
    if printed is None:
        return
    if abs(cents(printed * scope.once(tax.rate)) - made) > CLOSE * max(1, len(found)):
        scope.findings.flag(path, f"the file's lines come to {made}")
