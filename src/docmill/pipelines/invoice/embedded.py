"""The invoice that a hybrid PDF carries as XML: Factur-X, ZUGFeRD and XRechnung, CII or UBL.

Names of elements are compared without their namespaces: every version has other ones.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docmill.pipelines.invoice.model import Invoice, Item, Party, Totals, Value, plain
from docmill.reading import dates
from docmill.reading.attachments import attachments
from docmill.reading.cleaning import clean

SURE: Final = 0.99
_CII: Final = frozenset({"CrossIndustryInvoice", "CrossIndustryDocument"})


def embedded(data: bytes) -> Invoice | None:
    """The invoice in a PDF's XML; None where it has none that can be read."""
    for name, content in attachments(data):
        if name.lower().endswith(".xml"):
            found = parsed(content)
            if found:
                return found
    return None


def parsed(content: bytes) -> Invoice | None:
    """An invoice from XML in CII or UBL syntax."""
    try:
        root = ElementTree.fromstring(content)  # noqa: S314  expat stops entity bombs by itself
    except ElementTree.ParseError:
        return None
    if _name(root) in _CII:
        return _cii(root)
    return (
        _ubl(root)
        if _name(root) == "Invoice" and _find(root, "LegalMonetaryTotal") is not None
        else None
    )


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]


def _all(element: Element | None, name: str) -> Iterator[Element]:
    if element is not None:
        yield from (child for child in element.iter() if _name(child) == name)


def _find(element: Element | None, *path: str) -> Element | None:
    """The first element down a path; steps in between may be left out."""
    for name in path:
        element = next(_all(element, name), None)
    return element


def _one_of(element: Element | None, *names: str) -> Element | None:
    return next((found for name in names if (found := _find(element, name)) is not None), None)


def _text(element: Element | None, *path: str) -> Value | None:
    found = _find(element, *path)
    text = clean(" ".join((found.text or "").split())) if found is not None else ""
    return Value(text, SURE, text=text) if text else None


def _number(element: Element | None, *path: str) -> Value | None:
    found = _text(element, *path)
    try:
        number = Decimal(found.value) if found else None
    except InvalidOperation:
        return None
    return (
        Value(plain(number), SURE, text=plain(number))
        if number is not None and number.is_finite()
        else None
    )


def _only(element: Element | None, group: str, name: str) -> Value | None:
    """A number of the one group there is; none where there are several."""
    groups = list(_all(element, group))
    return _number(groups[0], name) if len(groups) == 1 else None


def _date(element: Element | None, *path: str) -> Value | None:
    found = _text(element, *path)
    day = dates.read(found.value[:10].replace("T", " ").strip()) if found else None
    return Value(day.isoformat(), SURE, text=found.value) if day and found else None


def _cii(root: Element) -> Invoice | None:
    head = _one_of(root, "ExchangedDocument", "HeaderExchangedDocument")
    deal = _one_of(root, "ApplicableHeaderTradeAgreement", "ApplicableSupplyChainTradeAgreement")
    money = _one_of(root, "ApplicableHeaderTradeSettlement", "ApplicableSupplyChainTradeSettlement")
    number = _text(head, "ID")
    if money is None or number is None:
        return None
    sums = _one_of(
        money,
        "SpecifiedTradeSettlementHeaderMonetarySummation",
        "SpecifiedTradeSettlementMonetarySummation",
    )
    return Invoice(
        invoice_number=number,
        issue_date=_date(head, "IssueDateTime", "DateTimeString"),
        due_date=_date(money, "DueDateDateTime", "DateTimeString"),
        currency=_text(money, "InvoiceCurrencyCode"),
        seller=_cii_party(_find(deal, "SellerTradeParty")),
        buyer=_cii_party(_find(deal, "BuyerTradeParty")),
        totals=Totals(
            net=_number(sums, "TaxBasisTotalAmount"),
            tax=_number(sums, "TaxTotalAmount"),
            gross=_number(sums, "GrandTotalAmount"),
            paid=_number(sums, "TotalPrepaidAmount"),
            due=_number(sums, "DuePayableAmount"),
            tax_base=_only(money, "ApplicableTradeTax", "BasisAmount"),
            tax_rate=_only(money, "ApplicableTradeTax", "RateApplicablePercent"),
            charges=_number(sums, "ChargeTotalAmount"),
            discounts=_number(sums, "AllowanceTotalAmount"),
        ),
        lines=tuple(_cii_line(line) for line in _all(root, "IncludedSupplyChainTradeLineItem")),
    )


def _cii_party(party: Element | None) -> Party:
    address = _find(party, "PostalTradeAddress")
    names = ("LineOne", "LineTwo", "LineThree", "PostcodeCode", "CityName", "CountryID")
    return Party(
        name=_text(party, "Name"),
        tax_id=_tax_id(party, "SpecifiedTaxRegistration"),
        address=_joined(address, names),
    )


def _tax_id(party: Element | None, name: str) -> Value | None:
    """The VAT number rather than the local one."""
    ids = [found for one in _all(party, name) if (found := _text(one, "ID"))]
    return next((found for found in ids if found.value[:2].isalpha()), ids[0] if ids else None)


def _joined(element: Element | None, names: tuple[str, ...]) -> Value | None:
    parts = [found.value for name in names if (found := _text(element, name))]
    text = ", ".join(parts)
    return Value(text, SURE, text=text) if text else None


def _cii_line(line: Element) -> Item:
    price = _one_of(line, "NetPriceProductTradePrice", "GrossPriceProductTradePrice")
    quantity = _find(line, "BilledQuantity")
    unit = quantity.get("unitCode") if quantity is not None else None
    product = _find(line, "SpecifiedTradeProduct")
    return Item(
        description=_text(product, "Name"),
        quantity=_number(line, "BilledQuantity"),
        unit=Value(unit, SURE, text=unit) if unit else None,
        unit_price=_number(price, "ChargeAmount"),
        amount=_number(line, "LineTotalAmount"),
        code=_text(product, "SellerAssignedID") or _text(product, "GlobalID"),
        tax_rate=_number(line, "RateApplicablePercent") or _number(line, "ApplicablePercent"),
    )


def _ubl(root: Element) -> Invoice:
    sums = _find(root, "LegalMonetaryTotal")
    return Invoice(
        invoice_number=_own(root, "ID"),
        issue_date=_date(root, "IssueDate"),
        due_date=_date(root, "DueDate") or _date(root, "PaymentDueDate"),
        currency=_text(root, "DocumentCurrencyCode"),
        seller=_ubl_party(_find(root, "AccountingSupplierParty")),
        buyer=_ubl_party(_find(root, "AccountingCustomerParty")),
        totals=Totals(
            net=_number(sums, "TaxExclusiveAmount"),
            tax=_number(_find(root, "TaxTotal"), "TaxAmount"),
            gross=_number(sums, "TaxInclusiveAmount"),
            paid=_number(sums, "PrepaidAmount"),
            due=_number(sums, "PayableAmount"),
            tax_base=_only(_find(root, "TaxTotal"), "TaxSubtotal", "TaxableAmount"),
            tax_rate=_only(_find(root, "TaxTotal"), "TaxSubtotal", "Percent"),
            charges=_number(sums, "ChargeTotalAmount"),
            discounts=_number(sums, "AllowanceTotalAmount"),
        ),
        lines=tuple(_ubl_line(line) for line in _all(root, "InvoiceLine")),
    )


def _own(root: Element, name: str) -> Value | None:
    """A child's text; not that of anything further down."""
    child = next((child for child in root if _name(child) == name), None)
    return _text(child, name)


def _ubl_party(party: Element | None) -> Party:
    names = ("StreetName", "AdditionalStreetName", "PostalZone", "CityName", "IdentificationCode")
    return Party(
        name=_text(party, "RegistrationName") or _text(party, "PartyName", "Name"),
        tax_id=_text(party, "PartyTaxScheme", "CompanyID"),
        address=_joined(_find(party, "PostalAddress"), names),
    )


def _ubl_line(line: Element) -> Item:
    quantity = _find(line, "InvoicedQuantity")
    unit = quantity.get("unitCode") if quantity is not None else None
    item = _find(line, "Item")
    return Item(
        description=_text(item, "Name") or _text(item, "Description"),
        quantity=_number(line, "InvoicedQuantity"),
        unit=Value(unit, SURE, text=unit) if unit else None,
        unit_price=_number(line, "PriceAmount"),
        amount=_number(line, "LineExtensionAmount"),
        code=_text(item, "SellersItemIdentification", "ID"),
        tax_rate=_number(item, "ClassifiedTaxCategory", "Percent"),
    )
