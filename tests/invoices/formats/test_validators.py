"""The checkers see what is wrong: each rule is broken once, and named."""

import resource
import subprocess
import sys

import pytest

from docmill.invoices import formats
from docmill.invoices.formats import validators
from docmill.invoices.formats.validators import has_passed
from invoice_samples import CORETAX, european, indonesian

GOOD = formats.emit(formats.load(CORETAX), indonesian()).xml.decode()
DAMAGE = {
    "an element is missing": ("<CustomDoc/>", "", "CT-ORDER"),
    "two elements changed places": ("<AddInfo/><CustomDoc/>", "<CustomDoc/><AddInfo/>", "CT-ORDER"),
    "an element is misspelt": ("BuyerAdress", "BuyerAddress", "CT-ORDER"),
    "a short TIN": ("<TIN>0012345678901000", "<TIN>012345678901000", "CT-VALUE"),
    "a date of another kind": ("2025-03-14", "14-03-2025", "CT-VALUE"),
    "no such code": ("<TrxCode>04", "<TrxCode>11", "CT-VALUE"),
    "India for Indonesia": ("<BuyerCountry>IDN", "<BuyerCountry>IND", "CT-VALUE"),
    "no such unit": ("UM.0021", "UM.0040", "CT-VALUE"),
    "three decimals": ("<Qty>10", "<Qty>10.000", "CT-VALUE"),
    "a negative number": ("<Qty>10", "<Qty>-10", "CT-VALUE"),
    "other digits": ("<Qty>10", "<Qty>١٠", "CT-VALUE"),
    "a short code": ("<Code>847130", "<Code>8471", "CT-VALUE"),
    "a wrong base": ("<TaxBase>120000000", "<TaxBase>120000001", "CT-SUM"),
    "a wrong other base": ("<OtherTaxBase>110000000", "<OtherTaxBase>120000000", "CT-SUM"),
    "a wrong tax": ("<VAT>13200000", "<VAT>13200000.01", "CT-SUM"),
    "an empty price": ("<Price>12000000</Price>", "<Price/>", "CT-EMPTY"),
    "a zero TIN of a TIN buyer": (
        "<BuyerTin>0987654321098765",
        "<BuyerTin>" + "0" * 16,
        "CT-BUYER",
    ),
    "a number beside a TIN": ("<BuyerDocumentNumber>-", "<BuyerDocumentNumber>5", "CT-BUYER"),
    "another's branch": ("<BuyerIDTKU>0987", "<BuyerIDTKU>1987", "CT-BUYER"),
    "a stamp for code 04": (
        "<FacilityStamp/>",
        "<FacilityStamp>TD.1</FacilityStamp>",
        "CT-FACILITY",
    ),
    "no schema": ("TaxInvoice.xsd", "Other.xsd", "CT-ROOT"),
    "a stranger in a list": ("</ListOfTaxInvoice>", "<A/></ListOfTaxInvoice>", "CT-LIST"),
    "no XML": ("</TIN>", "", "CT-XML"),
    "an entity": (
        "<TaxInvoiceBulk",
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><TaxInvoiceBulk',
        "CT-XML",
    ),
}


def test_the_good_file_is_good() -> None:
    assert validators.check_coretax(GOOD.encode()) == []


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_to_a_coretax_file_is_seen(name: str) -> None:
    old, new, rule = DAMAGE[name]
    damaged = GOOD.replace(old, new)
    assert damaged != GOOD
    problems = validators.check_coretax(damaged.encode())
    assert rule in {each.rule for each in problems if each.severity == "fatal"}, problems
    assert not has_passed(problems)


def test_what_a_person_fills_in_is_a_warning_with_the_field() -> None:
    problems = validators.check_coretax(
        GOOD.replace("<Name>Laptop 14 inci</Name>", "<Name/>").encode()
    )
    assert [(each.rule, each.field) for each in problems] == [("CT-EMPTY", "lines.0.description")]
    assert has_passed(problems)


@pytest.mark.parametrize("syntax", ["ubl", "cii"])
def test_an_xml_bomb_or_a_foreign_document_is_no_invoice(syntax: validators.Syntax) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>'
    assert [each.rule for each in validators.check_en16931(bomb, syntax)] == ["XML"]
    assert "XSD" in {each.rule for each in validators.check_en16931(b"<a/>", syntax)}


def test_a_broken_rule_is_told_with_its_sentence_its_place_and_its_value() -> None:
    made = formats.emit(formats.load("ubl_invoice_v1"), european()).xml.decode()
    wrong = made.replace(">529.87</cbc:TaxInclusiveAmount>", ">529.88</cbc:TaxInclusiveAmount>")
    found = {each.rule: each for each in validators.check_en16931(wrong.encode(), "ubl")}
    assert "BR-CO-15" in found
    problem = found["BR-CO-15"]
    assert problem.sentence.startswith("Invoice total amount with VAT (BT-112)")
    assert problem.field == "totals.gross"
    assert "529.88" in found["BR-CO-16"].value
    assert found["BR-CO-16"].place == "Invoice/LegalMonetaryTotal"


def test_a_mapping_names_its_checker() -> None:
    for name in formats.list_names():
        mapping = formats.load(name)
        invoice = indonesian() if name == CORETAX else european()
        assert has_passed(validators.validate(mapping, formats.emit(mapping, invoice).xml)), name


def test_under_an_address_limit_schematron_says_so_and_the_process_lives() -> None:
    script = (
        "import resource\n"
        "from docmill.invoices.formats import validators\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "try: validators.check_en16931(b'<a/>', 'cii')\n"
        "except validators.ValidatorUnavailableError as exc: print(exc)\n"
    )
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert "address-space limit" in done.stdout


@pytest.mark.parametrize("missing", ["facturx", "saxonche"])
def test_without_the_extra_the_message_says_what_to_install(missing: str) -> None:
    script = (
        f"import sys\nsys.modules[{missing!r}] = None\n"
        "from docmill.invoices.formats import validators\n"
        "try: validators.check_en16931(b'<a/>', 'ubl')\n"
        "except validators.ValidatorUnavailableError as exc: print(exc)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert "`make extras`" in done.stdout
    assert "its extra `einvoice`" in done.stdout
