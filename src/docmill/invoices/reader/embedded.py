"""The invoice that a hybrid PDF carries as XML: Factur-X, ZUGFeRD and XRechnung, CII or UBL.

Names of elements are compared without their namespaces: every version has other ones.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docmill.invoices.formats.en16931 import SALES_TAX
from docmill.invoices.reader.model import Invoice, InvoiceTax, Values, format_number, keep_found
from docmill.reading import dates
from docmill.reading.cleaning import clean
from docmill.reading.pages import Value
from docmill.reading.pdf import read_attachments

SURE: Final = 0.99
_CII: Final = frozenset({"CrossIndustryInvoice", "CrossIndustryDocument"})


def read_embedded(data: bytes) -> Invoice | None:
    """The invoice in a PDF's XML; None where it has none that can be read."""
    for name, content in read_attachments(data):
        if name.lower().endswith(".xml"):
            found = parse_invoice(content)
            if found:
                return found
    return None


def parse_invoice(content: bytes) -> Invoice | None:
    """An invoice from XML in CII or UBL syntax."""
    try:
        root = ElementTree.fromstring(content)  # noqa: S314  expat stops entity bombs by itself
    except ElementTree.ParseError:
        return None
    if _local_name(root) in _CII:
        return _read_cii(root)
    return (
        _read_ubl(root)
        if _local_name(root) == "Invoice" and _find(root, "LegalMonetaryTotal") is not None
        else None
    )


def _local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]


def _find_all(element: Element | None, name: str) -> Iterator[Element]:
    if element is not None:
        yield from (child for child in element.iter() if _local_name(child) == name)


def _find(element: Element | None, *path: str) -> Element | None:
    """The first element down a path; steps in between may be left out."""
    for name in path:
        element = next(_find_all(element, name), None)
    return element


def _find_any(element: Element | None, *names: str) -> Element | None:
    return next((found for name in names if (found := _find(element, name)) is not None), None)


def _text_value(element: Element | None, *path: str) -> Value | None:
    found = _find(element, *path)
    text = clean(" ".join((found.text or "").split())) if found is not None else ""
    return Value(text, SURE, text=text) if text else None


def _number_value(element: Element | None, *path: str) -> Value | None:
    found = _text_value(element, *path)
    try:
        number = Decimal(found.value) if found else None
    except InvalidOperation:
        return None
    return (
        Value(format_number(number), SURE, text=format_number(number))
        if number is not None and number.is_finite()
        else None
    )


def _single_number(element: Element | None, group: str, name: str) -> Value | None:
    """A number of the one group there is; none where there are several."""
    groups = list(_find_all(element, group))
    return _number_value(groups[0], name) if len(groups) == 1 else None


def _date_value(element: Element | None, *path: str) -> Value | None:
    found = _text_value(element, *path)
    day = dates.read_date(found.value[:10].replace("T", " ").strip()) if found else None
    return Value(day.isoformat(), SURE, text=found.value) if day and found else None


def _read_cii(root: Element) -> Invoice | None:
    head = _find_any(root, "ExchangedDocument", "HeaderExchangedDocument")
    deal = _find_any(root, "ApplicableHeaderTradeAgreement", "ApplicableSupplyChainTradeAgreement")
    money = _find_any(
        root, "ApplicableHeaderTradeSettlement", "ApplicableSupplyChainTradeSettlement"
    )
    number = _text_value(head, "ID")
    if money is None or number is None:
        return None
    sums = _find_any(
        money,
        "SpecifiedTradeSettlementHeaderMonetarySummation",
        "SpecifiedTradeSettlementMonetarySummation",
    )
    values = {
        "invoice_number": number,
        "issue_date": _date_value(head, "IssueDateTime", "DateTimeString"),
        "due_date": _date_value(money, "DueDateDateTime", "DateTimeString"),
        "currency": _text_value(money, "InvoiceCurrencyCode"),
        **_read_cii_party("seller", _find(deal, "SellerTradeParty")),
        **_read_cii_party("buyer", _find(deal, "BuyerTradeParty")),
        "totals.net": _number_value(sums, "TaxBasisTotalAmount"),
        "totals.tax": _number_value(sums, "TaxTotalAmount"),
        "totals.gross": _number_value(sums, "GrandTotalAmount"),
        "totals.paid": _number_value(sums, "TotalPrepaidAmount"),
        "totals.due": _number_value(sums, "DuePayableAmount"),
        "totals.charges": _number_value(sums, "ChargeTotalAmount"),
        "totals.discounts": _number_value(sums, "AllowanceTotalAmount"),
    }
    tax = InvoiceTax(
        rate=_single_number(money, "ApplicableTradeTax", "RateApplicablePercent"),
        base=_single_number(money, "ApplicableTradeTax", "BasisAmount"),
    )
    lines = map(_read_cii_line, _find_all(root, "IncludedSupplyChainTradeLineItem"))
    charges = _find_all(money, "SpecifiedTradeAllowanceCharge")
    values |= _find_sales_tax(values, charges, ("Reason", "ActualAmount"))
    return Invoice(keep_found(values), tuple(lines), (tax,))


def _read_cii_party(side: str, party: Element | None) -> dict[str, Value | None]:
    address = _find(party, "PostalTradeAddress")
    names = ("LineOne", "LineTwo", "LineThree", "PostcodeCode", "CityName", "CountryID")
    return {
        f"{side}.name": _text_value(party, "Name"),
        f"{side}.tax_id": _find_tax_id(party, "SpecifiedTaxRegistration"),
        f"{side}.address": _join_address(address, names),
        f"{side}.country": _text_value(address, "CountryID"),
        f"{side}.email": _text_value(party, "EmailURIUniversalCommunication", "URIID"),
    }


def _find_tax_id(party: Element | None, name: str) -> Value | None:
    """The VAT number rather than the local one."""
    ids = [found for one in _find_all(party, name) if (found := _text_value(one, "ID"))]
    return next((found for found in ids if found.value[:2].isalpha()), ids[0] if ids else None)


def _join_address(element: Element | None, names: tuple[str, ...]) -> Value | None:
    parts = [found.value for name in names if (found := _text_value(element, name))]
    text = ", ".join(parts)
    return Value(text, SURE, text=text) if text else None


def _read_cii_line(line: Element) -> Values:
    price = _find_any(line, "NetPriceProductTradePrice", "GrossPriceProductTradePrice")
    product = _find(line, "SpecifiedTradeProduct")
    rate = _number_value(line, "RateApplicablePercent")
    return keep_found(
        {
            "description": _text_value(product, "Name"),
            "quantity": _number_value(line, "BilledQuantity"),
            "unit": _unit_value(line, "BilledQuantity"),
            "unit_price": _number_value(price, "ChargeAmount"),
            "amount": _number_value(line, "LineTotalAmount"),
            "code": _text_value(product, "SellerAssignedID") or _text_value(product, "GlobalID"),
            "tax_rate": rate or _number_value(line, "ApplicablePercent"),
        }
    )


def _unit_value(line: Element, name: str) -> Value | None:
    quantity = _find(line, name)
    unit = quantity.get("unitCode") if quantity is not None else None
    return Value(unit, SURE, text=unit) if unit else None


def _read_ubl(root: Element) -> Invoice:
    sums, taxes = _find(root, "LegalMonetaryTotal"), _find(root, "TaxTotal")
    values = {
        "invoice_number": _child_text(root, "ID"),
        "issue_date": _date_value(root, "IssueDate"),
        "due_date": _date_value(root, "DueDate") or _date_value(root, "PaymentDueDate"),
        "currency": _text_value(root, "DocumentCurrencyCode"),
        **_read_ubl_party("seller", _find(root, "AccountingSupplierParty")),
        **_read_ubl_party("buyer", _find(root, "AccountingCustomerParty")),
        "totals.net": _number_value(sums, "TaxExclusiveAmount"),
        "totals.tax": _number_value(taxes, "TaxAmount"),
        "totals.gross": _number_value(sums, "TaxInclusiveAmount"),
        "totals.paid": _number_value(sums, "PrepaidAmount"),
        "totals.due": _number_value(sums, "PayableAmount"),
        "totals.charges": _number_value(sums, "ChargeTotalAmount"),
        "totals.discounts": _number_value(sums, "AllowanceTotalAmount"),
    }
    tax = InvoiceTax(
        rate=_single_number(taxes, "TaxSubtotal", "Percent"),
        base=_single_number(taxes, "TaxSubtotal", "TaxableAmount"),
    )
    lines = map(_read_ubl_line, _find_all(root, "InvoiceLine"))
    charges = (child for child in root if _local_name(child) == "AllowanceCharge")
    values |= _find_sales_tax(values, charges, ("AllowanceChargeReason", "Amount"))
    return Invoice(keep_found(values), tuple(lines), (tax,))


def _find_sales_tax(
    values: Mapping[str, Value | None], charges: Iterable[Element], names: tuple[str, str]
) -> dict[str, Value | None]:
    """A sales tax is a charge in the XML; to the people who wrote the invoice it is the tax."""
    net = values.get("totals.net")
    for charge in charges:
        reason, amount = _text_value(charge, names[0]), _number_value(charge, names[1])
        if reason and amount and net and reason.value == SALES_TAX:
            rest = format_number(Decimal(net.value) - Decimal(amount.value))
            whole = Value(rest, SURE, text=rest)
            return {"totals.tax": amount, "totals.net": whole, "totals.charges": None}
    return {}


def _child_text(root: Element, name: str) -> Value | None:
    """A child's text; not that of anything further down."""
    child = next((child for child in root if _local_name(child) == name), None)
    return _text_value(child, name)


def _read_ubl_party(side: str, party: Element | None) -> dict[str, Value | None]:
    names = ("StreetName", "AdditionalStreetName", "PostalZone", "CityName", "IdentificationCode")
    name = _text_value(party, "RegistrationName")
    address = _find(party, "PostalAddress")
    return {
        f"{side}.name": name or _text_value(party, "PartyName", "Name"),
        f"{side}.tax_id": _text_value(party, "PartyTaxScheme", "CompanyID"),
        f"{side}.address": _join_address(address, names),
        f"{side}.country": _text_value(address, "IdentificationCode"),
        f"{side}.email": _text_value(party, "ElectronicMail"),
    }


def _read_ubl_line(line: Element) -> Values:
    item = _find(line, "Item")
    return keep_found(
        {
            "description": _text_value(item, "Name") or _text_value(item, "Description"),
            "quantity": _number_value(line, "InvoicedQuantity"),
            "unit": _unit_value(line, "InvoicedQuantity"),
            "unit_price": _number_value(line, "PriceAmount"),
            "amount": _number_value(line, "LineExtensionAmount"),
            "code": _text_value(item, "SellersItemIdentification", "ID"),
            "tax_rate": _number_value(item, "ClassifiedTaxCategory", "Percent"),
        }
    )
