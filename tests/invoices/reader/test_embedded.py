from docmill.invoices.reader.embedded import parse_invoice, read_embedded
from docmill.invoices.reader.model import Values
from pdfs import make_pdf

CII = b"""<?xml version="1.0"?>
<rsm:CrossIndustryInvoice xmlns:rsm="a" xmlns:ram="b" xmlns:udt="c">
 <rsm:ExchangedDocument><ram:ID>R-1</ram:ID>
  <ram:IssueDateTime><udt:DateTimeString format="102">20250314</udt:DateTimeString>
  </ram:IssueDateTime></rsm:ExchangedDocument>
 <rsm:SupplyChainTradeTransaction>
  <ram:IncludedSupplyChainTradeLineItem>
   <ram:SpecifiedTradeProduct><ram:Name>Thing</ram:Name></ram:SpecifiedTradeProduct>
   <ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice>
    <ram:ChargeAmount>5.00</ram:ChargeAmount></ram:NetPriceProductTradePrice>
   </ram:SpecifiedLineTradeAgreement>
   <ram:BilledQuantity unitCode="H87">2</ram:BilledQuantity>
   <ram:LineTotalAmount>10.00</ram:LineTotalAmount>
  </ram:IncludedSupplyChainTradeLineItem>
  <ram:ApplicableHeaderTradeAgreement>
   <ram:SellerTradeParty><ram:Name>Seller</ram:Name></ram:SellerTradeParty>
   <ram:BuyerTradeParty><ram:Name>Buyer</ram:Name></ram:BuyerTradeParty>
  </ram:ApplicableHeaderTradeAgreement>
  <ram:ApplicableHeaderTradeSettlement>
   <ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
   <ram:SpecifiedTradeSettlementHeaderMonetarySummation>
    <ram:TaxBasisTotalAmount>10.00</ram:TaxBasisTotalAmount>
    <ram:TaxTotalAmount>1.90</ram:TaxTotalAmount>
    <ram:GrandTotalAmount>11.90</ram:GrandTotalAmount>
   </ram:SpecifiedTradeSettlementHeaderMonetarySummation>
  </ram:ApplicableHeaderTradeSettlement>
 </rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>"""

UBL = b"""<Invoice xmlns="u" xmlns:c="v"><c:ID>U-1</c:ID><c:IssueDate>2025-03-14</c:IssueDate>
 <c:DocumentCurrencyCode>EUR</c:DocumentCurrencyCode>
 <c:AccountingSupplierParty><c:RegistrationName>Seller</c:RegistrationName>
 </c:AccountingSupplierParty>
 <c:LegalMonetaryTotal><c:TaxExclusiveAmount>10.00</c:TaxExclusiveAmount>
  <c:TaxInclusiveAmount>11.90</c:TaxInclusiveAmount></c:LegalMonetaryTotal>
 <c:InvoiceLine><c:ID>1</c:ID><c:LineExtensionAmount>10.00</c:LineExtensionAmount>
  <c:Item><c:Name>Thing</c:Name></c:Item></c:InvoiceLine></Invoice>"""


def _texts(values: Values, *names: str) -> list[str]:
    return [values[name].value for name in names]


def test_cii_is_read() -> None:
    found = parse_invoice(CII)

    assert found
    header = _texts(found.values, "invoice_number", "issue_date", "totals.gross")
    assert header == ["R-1", "2025-03-14", "11.90"]
    (line,) = found.lines
    assert _texts(line, "unit_price", "unit", "amount") == ["5.00", "H87", "10.00"]


def test_ubl_is_read() -> None:
    found = parse_invoice(UBL)

    assert found
    header = _texts(found.values, "invoice_number", "seller.name", "totals.net")
    assert header == ["U-1", "Seller", "10.00"]
    assert len(found.lines) == 1


def test_other_xml_is_not_an_invoice() -> None:
    assert parse_invoice(b"<note>hello</note>") is None
    assert parse_invoice(b"<broken") is None


def test_a_pdf_without_files_has_none() -> None:
    assert read_embedded(make_pdf([[(72, 72, "text")]])) is None
    assert read_embedded(b"no pdf") is None
