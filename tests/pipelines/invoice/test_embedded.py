from docmill.pipelines.invoice.embedded import embedded, parsed
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


def test_cii_is_read() -> None:
    found = parsed(CII)

    assert found
    assert found.invoice_number
    assert found.issue_date
    assert found.totals.gross
    assert (found.invoice_number.value, found.issue_date.value) == ("R-1", "2025-03-14")
    assert found.totals.gross.value == "11.90"
    (line,) = found.lines
    assert line.unit_price
    assert line.unit
    assert line.amount
    assert (line.unit_price.value, line.unit.value, line.amount.value) == ("5.00", "H87", "10.00")


def test_ubl_is_read() -> None:
    found = parsed(UBL)

    assert found
    assert found.invoice_number
    assert found.seller.name
    assert found.totals.net
    assert (found.invoice_number.value, found.seller.name.value) == ("U-1", "Seller")
    assert found.totals.net.value == "10.00"
    assert len(found.lines) == 1


def test_other_xml_is_not_an_invoice() -> None:
    assert parsed(b"<note>hello</note>") is None
    assert parsed(b"<broken") is None


def test_a_pdf_without_files_has_none() -> None:
    assert embedded(make_pdf([[(72, 72, "text")]])) is None
    assert embedded(b"no pdf") is None
