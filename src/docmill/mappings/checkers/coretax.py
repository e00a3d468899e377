"""A Coretax bulk file against the importer's rules: names, order, lengths, codes, arithmetic.

Written from the rules alone: it shares nothing with what writes such files.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from docmill.mappings import xml
from docmill.mappings.checkers.coretax_sums import wrong_sums
from docmill.mappings.checkers.problems import Problem, Severity

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
_SCHEMA: Final = "{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation"
_DATE: Final = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_NUMBER: Final = r"\d+(?:\.\d{1,2})?"
_UNIT: Final = r"UM\.00(?:0[1-9]|[12]\d|3\d)"
_SHAPES: Final[Mapping[str, tuple[str, str]]] = {
    "TIN": (r"\d{16}", "16 digits"),
    "TaxInvoiceDate": (_DATE, "a date as YYYY-MM-DD"),
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
    "Unit": (_UNIT, "UM.0001 to UM.0039"),
    **dict.fromkeys(("Price", "Qty", "TotalDiscount"), (_NUMBER, "a number of two decimals")),
    **dict.fromkeys(("TaxBase", "OtherTaxBase", "VAT"), (_NUMBER, "a number of two decimals")),
    **dict.fromkeys(("STLGRate", "STLG"), (_NUMBER, "a number of two decimals")),
    "VATRate": (r"12(?:\.0{1,2})?", "12"),
}
_OPTIONAL: Final = ("AddInfo", "CustomDoc", "CustomDocMonthYear", "FacilityStamp", "BuyerEmail")
_FIELDS: Final[Mapping[str, str]] = {
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


def check(document: bytes) -> list[Problem]:
    """What the importer would refuse (fatal), and what a person still has to fill in (warning)."""
    try:
        root = xml.parse(document)
    except xml.NotXml as exc:
        return [Problem("CT-XML", str(exc))]
    return list(_bulk(root))


def _bulk(root: xml.Element) -> Iterator[Problem]:
    if root.tag != "TaxInvoiceBulk" or root.get(_SCHEMA) != "TaxInvoice.xsd":
        yield Problem("CT-ROOT", "The root is TaxInvoiceBulk with TaxInvoice.xsd", root.tag)
    yield from _shape(root, BULK, "")
    yield from _list(root.find("ListOfTaxInvoice"), "TaxInvoice", _invoice, "")


def _list(
    parent: xml.Element,
    name: str,
    check_one: Callable[[xml.Element, str], Iterator[Problem]],
    at: str,
) -> Iterator[Problem]:
    if parent is None:
        return
    place = f"{at}{parent.tag}"
    parts = list(parent)
    if not parts or any(part.tag != name for part in parts):
        yield Problem("CT-LIST", f"{parent.tag} has one or more {name}, and nothing else", place)
    for index, part in enumerate(parts, start=1):
        yield from check_one(part, f"{at}{name}[{index}]/")


def _shape(element: xml.Element, names: tuple[str, ...], at: str) -> Iterator[Problem]:
    """Exactly these elements in this order, each with a text of its kind."""
    told = tuple(part.tag for part in element)
    if told != names:
        place = next(
            (i for i, pair in enumerate(zip(told, names, strict=False)) if len({*pair}) > 1), 0
        )
        wanted = ", ".join(names[place : place + 3])
        yield Problem(
            "CT-ORDER", f"{element.tag} goes on with {wanted}", at, ", ".join(told[place:])
        )
    for part in element:
        if not part.tag.startswith("ListOf"):
            yield from _text(part.tag, part.text or "", at)


def _text(name: str, text: str, at: str) -> Iterator[Problem]:
    shape, means = _SHAPES.get(name, ("(?s:.*)", ""))
    if text != text.strip():
        yield Problem("CT-SPACE", f"{name} begins or ends with a space", at + name, text)
    elif not text and name not in _OPTIONAL:
        yield _missing(name, at)
    elif text and not re.fullmatch(shape, text, re.ASCII):
        yield Problem("CT-VALUE", f"{name} is {means}", at + name, text)


def _missing(name: str, at: str) -> Problem:
    """What a document may not print stays empty for a person; what we compute may never be."""
    severity: Severity = "warning" if name in _FIELDS else "fatal"
    return Problem("CT-EMPTY", f"{name} is empty", at + name, "", severity, _field(name, at))


def _field(name: str, at: str) -> str:
    line = re.search(r"GoodService\[(\d+)\]", at)
    return f"lines.{int(line[1]) - 1}.{_FIELDS.get(name, '')}" if line else _FIELDS.get(name, "")


def _invoice(invoice: xml.Element, at: str) -> Iterator[Problem]:
    yield from _shape(invoice, INVOICE, at)
    texts = {part.tag: part.text or "" for part in invoice}
    yield from _buyer(texts, at)
    for name in ("AddInfo", "FacilityStamp"):
        if texts.get(name) and texts.get("TrxCode") not in _FACILITY:
            yield Problem(
                "CT-FACILITY", f"{name} is for codes 07 and 08 only", at + name, texts[name]
            )

    def good(element: xml.Element, place: str) -> Iterator[Problem]:
        yield from _shape(element, GOOD, place)
        yield from wrong_sums(element, texts.get("TrxCode", ""), place)

    yield from _list(invoice.find("ListOfGoodService"), "GoodService", good, at)


def _buyer(texts: Mapping[str, str], at: str) -> Iterator[Problem]:
    has_tin = texts.get("BuyerDocument") == "TIN"
    tin, idtku = texts.get("BuyerTin", ""), texts.get("BuyerIDTKU", "")
    if has_tin != bool(tin.strip("0")):
        yield Problem(
            "CT-BUYER", "A buyer by TIN has one; any other has 16 zeros", at + "BuyerTin", tin
        )
    if has_tin != (texts.get("BuyerDocumentNumber") == "-"):
        number = texts.get("BuyerDocumentNumber", "")
        place = at + "BuyerDocumentNumber"
        yield Problem("CT-BUYER", "BuyerDocumentNumber is - for a buyer by TIN only", place, number)
    if idtku[:16] != tin if has_tin else idtku != "000000":
        says = "BuyerIDTKU is the TIN and its branch, or 000000"
        yield Problem("CT-BUYER", says, at + "BuyerIDTKU", idtku)
