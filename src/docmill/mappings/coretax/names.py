"""The functions that Coretax's mapping file calls, by the names it calls them."""

from collections.abc import Mapping
from typing import Final

from docmill.mappings.calling import Function
from docmill.mappings.coretax import parties, tax
from docmill.mappings.coretax.goods import Good, goods
from docmill.mappings.scope import Scope


def _code(scope: Scope) -> str:
    return scope.once(tax.trx_code)


def _buyer(scope: Scope) -> parties.Buyer:
    return scope.once(parties.buyer)


FUNCTIONS: Final[Mapping[str, Function]] = {
    "coretax_seller_tin": Function(lambda scope: scope.once(parties.seller).tin),
    "coretax_seller_idtku": Function(lambda scope: scope.once(parties.seller).idtku),
    "coretax_trx_code": Function(_code),
    "coretax_add_info": Function(lambda scope: tax.facility(scope, "profile.add_info")),
    "coretax_stamp": Function(lambda scope: tax.facility(scope, "profile.facility_stamp")),
    "coretax_buyer_tin": Function(lambda scope: _buyer(scope).tin),
    "coretax_buyer_document": Function(lambda scope: _buyer(scope).document),
    "coretax_buyer_country": Function(lambda scope: _buyer(scope).country),
    "coretax_buyer_number": Function(lambda scope: _buyer(scope).document_number),
    "coretax_buyer_idtku": Function(lambda scope: _buyer(scope).idtku),
    "coretax_goods": Function(goods, row=Good),
}
