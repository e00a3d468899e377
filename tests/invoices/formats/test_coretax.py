"""pt_simon_invoice_v1: what the Coretax importer wants, element by element."""

from typing import Any

import pytest

from docmill.core.faults import DocmillError
from docmill.invoices import formats, values
from docmill.invoices.formats import Emitted, validators, xml
from docmill.invoices.formats import values as formats_values
from docmill.invoices.profile import Profile
from invoice_samples import CORETAX, indonesian, line

SHAPE = [
    "TaxInvoiceBulk", "TIN", "ListOfTaxInvoice", "TaxInvoice", "TaxInvoiceDate",
    "TaxInvoiceOpt", "TrxCode", "AddInfo", "CustomDoc", "CustomDocMonthYear", "RefDesc",
    "FacilityStamp", "SellerIDTKU", "BuyerTin", "BuyerDocument", "BuyerCountry",
    "BuyerDocumentNumber", "BuyerName", "BuyerAdress", "BuyerEmail", "BuyerIDTKU",
    "ListOfGoodService", "GoodService", "Opt", "Code", "Name", "Unit", "Price", "Qty",
    "TotalDiscount", "TaxBase", "OtherTaxBase", "VATRate", "VAT", "STLGRate", "STLG",
]  # fmt: skip


def emitted(invoice: dict[str, Any], **profile: Any) -> Emitted:
    return formats.emit(formats.load(CORETAX), invoice, Profile(**profile))


def told(invoice: dict[str, Any], **profile: Any) -> dict[str, str]:
    """The texts of a file with one line, by element; and the importer would take it."""
    made = emitted(invoice, **profile)
    assert [
        str(each) for each in validators.check_coretax(made.xml) if each.severity == "fatal"
    ] == []
    return {element.tag: element.text or "" for element in xml.parse(made.xml).iter()}


def first_line(**given: Any) -> dict[str, str]:
    return told(indonesian(lines=[line(**given)], totals={}))


def test_the_worked_example_comes_out_as_the_tax_office_computes_it() -> None:
    found = told(indonesian())
    assert found["TaxBase"] == "120000000"
    assert found["OtherTaxBase"] == "110000000"
    assert (found["VATRate"], found["VAT"]) == ("12", "13200000")
    assert found["RefDesc"] == "INV/2025/03/0017"
    assert found["TaxInvoiceDate"] == "2025-03-14"
    assert (found["Opt"], found["Code"], found["Unit"]) == ("A", "847130", "UM.0021")
    assert emitted(indonesian()).review == ()


def test_elements_stand_in_the_importers_order_and_empty_ones_are_there() -> None:
    root = xml.parse(emitted(indonesian()).xml)
    assert [element.tag for element in root.iter()] == SHAPE
    location = "{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation"
    assert dict(root.attrib) == {location: "TaxInvoice.xsd"}
    assert b"<AddInfo/>" in emitted(indonesian()).xml


def test_the_same_invoice_gives_the_same_bytes_and_pretty_only_adds_blanks() -> None:
    mapping = formats.load(CORETAX)
    plain, pretty = (formats.emit(mapping, indonesian(), pretty=each).xml for each in (False, True))
    assert plain == formats.emit(mapping, indonesian()).xml
    assert plain != pretty
    assert formats.read_back(mapping, plain) == formats.read_back(mapping, pretty)


def test_code_01_taxes_the_whole_base() -> None:
    found = told(indonesian(totals={}), trx_code="01")
    assert (found["OtherTaxBase"], found["VAT"]) == ("120000000", "14400000")


def test_a_printed_tax_of_12_percent_on_the_whole_net_proves_code_01_and_is_flagged() -> None:
    totals = {"net": "120000000", "tax": "14400000", "gross": "134400000"}
    assert told(indonesian(totals=totals))["TrxCode"] == "01"
    assert "trx_code" in emitted(indonesian(totals=totals)).review
    assert told(indonesian(totals=totals), trx_code="04")["TrxCode"] == "04"
    assert "totals.tax" in emitted(indonesian(totals=totals), trx_code="04").review


@pytest.mark.parametrize("code", ["07", "08"])
def test_add_info_and_stamp_are_for_codes_07_and_08(code: str) -> None:
    given = {"add_info": "TD.00501", "facility_stamp": "TD.01101"}
    found = told(indonesian(), trx_code=code, **given)
    assert (found["AddInfo"], found["FacilityStamp"]) == ("TD.00501", "TD.01101")
    assert "profile.add_info" in emitted(indonesian(), trx_code=code).review
    found = told(indonesian(), **given)
    assert (found["AddInfo"], found["FacilityStamp"]) == ("", "")


@pytest.mark.parametrize(
    ("printed", "tin", "idtku"),
    [
        ("01.234.567.8-901.000", "0012345678901000", "0012345678901000000000"),
        ("012345678901000", "0012345678901000", "0012345678901000000000"),
        ("NPWP: 0012 3456 7890 1000", "0012345678901000", "0012345678901000000000"),
        ("0012345678901000000003", "0012345678901000", "0012345678901000000003"),
        ("DE123456789", "", ""),
        ("0000000000000000", "", ""),
        ("٠١٢٣٤٥٦٧٨٩٠١٢٣٤٥", "", ""),
        (None, "", ""),
    ],
)
def test_an_npwp_becomes_16_digits_and_its_idtku_22(printed: Any, tin: str, idtku: str) -> None:
    assert (values.parse_tin(printed), values.parse_idtku(printed)) == (tin, idtku)


def test_the_seller_is_the_printed_one_then_the_owners_and_never_made_up() -> None:
    without = indonesian(seller={"name": "PT Simon"})
    own = {"tin": "01.111.111.1-111.000", "idtku": "0011111111111000000002"}
    found = told(without, **own)
    assert (found["TIN"], found["SellerIDTKU"]) == ("0011111111111000", "0011111111111000000002")
    found = told(indonesian(), **own)
    assert (found["TIN"], found["SellerIDTKU"]) == ("0012345678901000", "0012345678901000000000")
    assert "seller.tax_id" in emitted(indonesian(), **own).review
    found = told(without)
    assert (found["TIN"], found["SellerIDTKU"]) == ("", "")
    assert "seller.tax_id" in emitted(without).review


@pytest.mark.parametrize(
    ("buyer", "expected"),
    [
        ({"tax_id": "09.876.543.2-109.000"}, ("0098765432109000", "TIN", "-", "IDN")),
        ({}, ("0" * 16, "Other ID", "", "IDN")),
        ({"tax_id": "-"}, ("0" * 16, "Other ID", "", "IDN")),
        (
            {"tax_id": "201912345K", "address": "1 Raffles Place, Singapore"},
            ("0" * 16, "Other ID", "201912345K", "SGP"),
        ),
        ({"tax_id": "Passport X1234567"}, ("0" * 16, "Passport", "X1234567", "IDN")),
        ({"tax_id": "NIK 3174012345678901"}, ("0" * 16, "National ID", "3174012345678901", "IDN")),
    ],
)
def test_a_buyer_has_a_tin_or_another_document(
    buyer: dict[str, str], expected: tuple[str, ...]
) -> None:
    found = told(indonesian(buyer={"name": "Budi", **buyer}))
    names = ("BuyerTin", "BuyerDocument", "BuyerDocumentNumber", "BuyerCountry")
    assert tuple(found[name] for name in names) == expected
    wanted = f"{expected[0]}000000" if expected[1] == "TIN" else "000000"
    assert found["BuyerIDTKU"] == wanted


def test_a_buyer_without_any_number_is_flagged() -> None:
    assert "buyer.tax_id" in emitted(indonesian(buyer={"name": "Budi"})).review


@pytest.mark.parametrize("code", [unit.coretax for unit in formats_values.UNITS])
def test_every_unit_is_found_by_its_name_and_by_each_synonym(code: str) -> None:
    rows = [unit for unit in formats_values.UNITS if unit.coretax == code]
    for unit in rows:
        for word in (unit.name, *unit.synonyms):
            assert formats_values.coretax_code(word.upper()) == code, word
            assert formats_values.coretax_code(f" {word}. ") == code, word
    assert formats_values.coretax_code(formats_values.name_of_coretax(code)) == code


def test_no_word_means_two_units_and_an_unknown_one_is_other() -> None:
    words = [
        word for unit in formats_values.UNITS for word in {unit.name.casefold(), *unit.synonyms}
    ]
    assert len(words) == len(set(words))
    assert {unit.coretax for unit in formats_values.UNITS} == {f"UM.00{n:02}" for n in range(1, 40)}
    assert formats_values.coretax_code("kodi") == formats_values.coretax_code("") == "UM.0033"


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        ("8471.30", "847130"),
        ("8471", "847100"),
        ("8471.30.10.00", "847130"),
        ("HS 8471 30", "847130"),
        ("TB100A4", "000000"),
        ("4012345001235", "000000"),
        ("001", "000000"),
        (None, "000000"),
    ],
)
def test_an_hs_code_becomes_six_digits_and_an_article_number_does_not(
    printed: Any, code: str
) -> None:
    assert formats_values.write_goods_code(printed) == code


@pytest.mark.parametrize(
    ("given", "opt"),
    [
        ({"description": "Jasa konsultasi pajak", "unit": None}, "B"),
        ({"description": "Server rental", "unit": "unit"}, "B"),
        ({"description": "Teknisi", "unit": "jam"}, "B"),
        ({"description": "Kertas A4", "unit": "rim"}, "A"),
    ],
)
def test_services_are_told_from_goods(given: dict[str, Any], opt: str) -> None:
    assert first_line(**given)["Opt"] == opt


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"quantity": None, "unit_price": None, "amount": "500"}, ("500", "1", "0", "500")),
        ({"quantity": "4", "unit_price": None, "amount": "500"}, ("125", "4", "0", "500")),
        ({"quantity": None, "unit_price": "125", "amount": "500"}, ("125", "4", "0", "500")),
        ({"quantity": "2", "unit_price": "300", "discount": "-100", "amount": "500"},
         ("300", "2", "100", "500")),
        ({"quantity": "2", "unit_price": "500", "discount": "10", "amount": "900"},
         ("500", "2", "100", "900")),
        ({"quantity": "10000", "unit_price": "0.0520", "amount": "520"}, ("520", "1", "0", "520")),
        ({"quantity": "0.125", "unit_price": "1000000", "amount": "125000"},
         ("125000", "1", "0", "125000")),
        ({"quantity": "3", "unit_price": "3.3333", "amount": "10.00"}, ("3.33", "3", "0", "9.99")),
        ({"quantity": "1", "unit_price": "0.005", "amount": None}, ("0.01", "1", "0", "0.01")),
    ],
)  # fmt: skip
def test_price_quantity_and_discount_always_make_the_base(
    given: dict[str, Any], written: tuple[str, ...]
) -> None:
    found = first_line(**given)
    assert tuple(found[name] for name in ("Price", "Qty", "TotalDiscount", "TaxBase")) == written


def test_an_amount_that_disagrees_with_its_line_is_flagged_and_wins_if_the_net_proves_it() -> None:
    wrong = [line(quantity="10", unit_price="100", amount="900")]
    doubtful, proven = (
        indonesian(lines=wrong, totals={}),
        indonesian(lines=wrong, totals={"net": "900"}),
    )
    assert told(doubtful)["TaxBase"] == "1000"
    assert told(proven)["TaxBase"] == "900"
    for invoice in (doubtful, proven):
        assert "lines.0.amount" in emitted(invoice).review


def test_a_line_below_zero_becomes_a_discount_and_a_credit_note_is_refused() -> None:
    back = line(description="Uang muka", quantity="1", unit_price="-20", amount="-20")
    invoice = indonesian(
        lines=[line(quantity="1", unit_price="100", amount="100"), back], totals={}
    )
    found = told(invoice)
    assert (found["TotalDiscount"], found["TaxBase"]) == ("20", "80")
    assert "lines.1.amount" in emitted(invoice).review
    with pytest.raises(DocmillError, match="less than nothing") as caught:
        emitted(indonesian(lines=[back]))
    assert caught.value.fault.code == "GW_4XX"


def test_another_currency_needs_a_rate() -> None:
    dollars = indonesian(currency="USD", lines=[line(quantity="1", unit_price="10", amount="10")])
    dollars["totals"] = {"net": "10", "tax": "1.1"}
    with pytest.raises(DocmillError, match=r"in IDR.* USD.*rates\.USD") as caught:
        emitted(dollars)
    assert caught.value.fault.code == "GW_4XX"
    assert caught.value.facts["currency"] == "USD"
    assert caught.value.reason == (
        "Coretax takes amounts in IDR, this invoice is in USD. Give a rate in Settings, or download"
        " as UBL."
    )
    found = told(dollars, rates={"USD": "16250.50"})
    assert (found["Price"], found["VAT"]) == ("162505", "17875.55")
    assert told({**dollars, "exchange_rate": "15000"})["TaxBase"] == "150000"


def test_an_invoice_without_lines_is_its_net_in_one_and_without_both_is_refused() -> None:
    found = told(indonesian(lines=[]))
    assert (found["TaxBase"], found["Name"]) == ("120000000", "")
    assert {"lines", "lines.0.description"} <= {*emitted(indonesian(lines=[])).review}
    with pytest.raises(DocmillError, match="neither lines nor a net"):
        emitted(indonesian(lines=[], totals={}))


def test_what_is_missing_is_an_empty_element_and_a_flag() -> None:
    empty = {"currency": "IDR", "lines": [{"amount": "100"}]}
    wanted = {"issue_date", "invoice_number", "buyer.name", "buyer.address", "lines.0.description"}
    assert wanted <= {*emitted(empty).review}
    assert told(empty)["TaxInvoiceDate"] == ""


def test_values_that_are_none_of_their_kind_are_flagged_and_not_guessed() -> None:
    odd = indonesian(issue_date="14/03/2025", lines=[line(quantity="sepuluh", amount="1.000,50")])
    assert {"issue_date", "lines.0.quantity", "lines.0.amount"} <= {*emitted(odd).review}


def test_several_invoices_of_one_seller_make_one_file() -> None:
    mapping = formats.load(CORETAX)
    second = indonesian(invoice_number="INV/2", buyer={"name": "Lain", "address": "Jl. B"})
    made = formats.emit_all(mapping, [indonesian(), second])
    assert [each for each in validators.check_coretax(made.xml) if each.severity == "fatal"] == []
    assert len(xml.parse(made.xml).findall("ListOfTaxInvoice/TaxInvoice")) == 2
    assert made.review == ("invoices.1.buyer.tax_id",)
    found = formats.read_back_all(mapping, made.xml)
    assert [each["invoice_number"] for each in found] == ["INV/2025/03/0017", "INV/2"]
    assert {each["seller"]["tax_id"] for each in found} == {"0012345678901000"}


def test_invoices_of_two_sellers_do_not_fit_one_file() -> None:
    other = indonesian(seller={"tax_id": "1111111111111111"})
    with pytest.raises(DocmillError, match="one file has one TIN, and these invoices have 2"):
        formats.emit_all(formats.load(CORETAX), [indonesian(), other])
    with pytest.raises(DocmillError, match="writes one invoice, not 2"):
        formats.emit_all(formats.load("ubl_invoice_v1"), [indonesian(), other])
