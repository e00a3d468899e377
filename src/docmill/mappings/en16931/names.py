"""The functions that the UBL and CII mapping files call, by the names they call them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from docmill.mappings.amounts import NOTHING
from docmill.mappings.calling import Function
from docmill.mappings.en16931 import parties
from docmill.mappings.en16931.rows import Row
from docmill.mappings.en16931.sums import Difference, Group, Sums, sums
from docmill.mappings.en16931.totals import Totals, totals
from docmill.mappings.scope import Scope


def _seller(scope: Scope) -> parties.Party:
    return scope.once(parties.seller)


def _buyer(scope: Scope) -> parties.Party:
    return scope.once(parties.buyer)


def _totals(scope: Scope) -> Totals:
    return scope.once(totals)


def _sums(scope: Scope) -> Sums:
    return scope.once(sums)


def _rows(scope: Scope) -> list[Row]:
    return _sums(scope).rows


def _differences(scope: Scope) -> list[Difference]:
    return _sums(scope).differences


def _groups(scope: Scope) -> list[Group]:
    return _sums(scope).groups


def _difference(scope: Scope, is_charge: str) -> Decimal | None:
    found = (each.amount for each in _differences(scope) if each.is_charge == is_charge)
    return sum(found, NOTHING) or None


FUNCTIONS: Final[Mapping[str, Function]] = {
    "seller_vat_id": Function(lambda scope: _seller(scope).vat_id),
    "seller_registration": Function(lambda scope: _seller(scope).registration),
    "seller_country": Function(lambda scope: _seller(scope).country),
    "buyer_vat_id": Function(lambda scope: _buyer(scope).vat_id),
    "buyer_registration": Function(lambda scope: _buyer(scope).registration),
    "buyer_country": Function(lambda scope: _buyer(scope).country),
    "total_lines": Function(lambda scope: _sums(scope).lines),
    "total_allowance": Function(lambda scope: _difference(scope, "false")),
    "total_charge": Function(lambda scope: _difference(scope, "true")),
    "total_net": Function(lambda scope: _totals(scope).net),
    "total_tax": Function(lambda scope: _totals(scope).tax),
    "total_gross": Function(lambda scope: _totals(scope).gross),
    "total_paid": Function(lambda scope: _totals(scope).paid or None),
    "total_due": Function(lambda scope: _totals(scope).due),
    "invoice_lines": Function(_rows, row=Row),
    "document_differences": Function(_differences, row=Difference),
    "vat_groups": Function(_groups, row=Group),
}
