"""Any invoice whatever: the XML stays well-formed, the rules hold, the way back works."""

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from docmill.core.faults import DocmillError
from docmill.core.json_values import is_list, is_object
from docmill.invoices import formats, values
from docmill.invoices.formats import Emitted, coretax, validators, xml
from invoice_samples import CORETAX, EUROPEAN, any_invoices, is_same, line
from invoice_samples import texts as any_text

sen = st.decimals(min_value=0, max_value=10**15, places=2)
quantities = st.decimals(min_value=Decimal("0.01"), max_value=10**6, places=2)


def half_up(value: Fraction) -> Fraction:
    return Fraction(math.floor(value * 100 + Fraction(1, 2)), 100)


@given(sen)
def test_the_tax_of_a_base_is_the_exact_fraction_rounded_half_up(base: Decimal) -> None:
    other = coretax.compute_other_base("04", base)
    assert Fraction(other) == half_up(Fraction(base) * 11 / 12)
    assert Fraction(coretax.compute_vat(other)) == half_up(Fraction(other) * 12 / 100)


@given(st.decimals(min_value=-(10**15), max_value=10**15, places=9))
def test_rounding_is_half_up_away_from_zero(value: Decimal) -> None:
    exact = half_up(abs(Fraction(value)))
    assert Fraction(values.round_cents(value)) == (exact if value >= 0 else -exact)


@given(sen, quantities)
def test_a_base_is_price_times_quantity_to_the_sen(price: Decimal, quantity: Decimal) -> None:
    row = line(quantity=str(quantity), unit_price=str(price), amount=None)
    made = formats.emit(formats.load(CORETAX), {"currency": "IDR", "lines": [row]})
    base = xml.parse(made.xml).findtext(".//TaxBase")
    assert Fraction(base) == half_up(Fraction(price) * Fraction(quantity))


def outcome(invoice: dict[str, Any]) -> Emitted | DocmillError:
    try:
        return formats.emit(formats.load(CORETAX), invoice)
    except DocmillError as exc:
        return exc


def _kind(path: str) -> str:
    """A path without its line: a line that became a discount moves those after it."""
    return re.sub(r"\.\d+", "", path)


@settings(max_examples=400, deadline=None)
@given(any_invoices)
def test_the_importer_takes_whatever_an_invoice_holds_or_it_is_refused_with_a_reason(
    invoice: dict[str, Any],
) -> None:
    made = outcome(invoice)
    if isinstance(made, DocmillError):
        assert (made.fault.code, bool(made.detail)) == ("GW_4XX", True)
        return
    problems = validators.check_coretax(made.xml)
    assert [str(each) for each in problems if each.severity == "fatal"] == []
    assert {_kind(each.field) for each in problems} <= {_kind(path) for path in made.review}


@settings(max_examples=200, deadline=None)
@given(any_invoices, st.sampled_from(sorted(EUROPEAN)))
@example({"currency": "", "lines": [], "totals": {"net": "1", "gross": "0"}}, "ubl_invoice_v1")
def test_ubl_and_cii_stay_well_formed_and_carry_no_empty_element(
    invoice: dict[str, Any], name: str
) -> None:
    root = xml.parse(formats.emit(formats.load(name), invoice).xml)
    empty = [element.tag for element in root.iter() if not len(element) and not element.text]
    assert [tag for tag in empty if not tag.endswith("ApplicableHeaderTradeDelivery")] == []


@settings(max_examples=300, deadline=None)
@given(any_invoices)
def test_what_was_read_back_is_written_again_as_the_same_bytes(invoice: dict[str, Any]) -> None:
    mapping = formats.load(CORETAX)
    made = outcome(invoice)
    if isinstance(made, Emitted):
        again = formats.emit(mapping, formats.read_back(mapping, made.xml)).xml
        assert again == made.xml


def test_a_national_id_comes_back_as_one() -> None:
    mapping = formats.load(CORETAX)
    buyer = {"name": "Budi", "tax_id": "NIK 3174012345678901"}
    made = formats.emit(mapping, {"currency": "IDR", "lines": [line()], "buyer": buyer}).xml
    assert formats.emit(mapping, formats.read_back(mapping, made)).xml == made
    assert b"<BuyerDocument>National ID<" in made


@given(any_text)
def test_cleaned_text_is_one_line_that_xml_takes_and_clean_already(text: str) -> None:
    cleaned = values.clean(text)
    assert values.clean(cleaned) == cleaned
    assert cleaned == " ".join(cleaned.split())
    element = xml.etree.Element("a")
    element.text = cleaned
    assert (xml.parse(xml.serialize(element)).text or "") == cleaned


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
money = st.decimals(min_value=Decimal("0.01"), max_value=10**9, places=2).map(str)
counts = st.integers(min_value=1, max_value=1000).map(str)


@st.composite
def whole_invoices(draw: st.DrawFn) -> dict[str, Any]:
    """Invoices as a perfect reader gives them: every value in its canonical form."""
    rows: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 4))):
        quantity, price = draw(counts), draw(money)
        amount = str(Decimal(quantity) * Decimal(price))
        row = {"description": draw(words), "quantity": quantity, "unit_price": price}
        rows.append({**row, "amount": amount, "unit": "Piece", "code": "847130"})
    return {
        "invoice_number": draw(words),
        "issue_date": draw(st.dates()).isoformat(),
        "seller": {"tax_id": draw(st.from_regex(r"[1-9][0-9]{15}", fullmatch=True))},
        "buyer": {
            "name": draw(words),
            "address": draw(words),
            "tax_id": draw(st.from_regex(r"[1-9][0-9]{15}", fullmatch=True)),
        },
        "lines": rows,
    }


def differing(given: Any, found: Any, path: str = "") -> list[str]:
    """Paths at which what was read back is not what was given."""
    parts: list[tuple[Any, Any, str]] = []
    if is_object(given):
        parts = [(value, found.get(key), f"{path}.{key}") for key, value in given.items()]
    elif is_list(given):
        parts = [(one, other, path) for one, other in zip(given, found, strict=True)]
    elif not is_same(given, found):
        return [f"{path}: {given!r} {found!r}"]
    return [bad for part in parts for bad in differing(*part)]


@settings(max_examples=100, deadline=None)
@given(whole_invoices(), st.sampled_from([CORETAX, *EUROPEAN]))
def test_every_value_of_a_whole_invoice_comes_back(invoice: dict[str, Any], name: str) -> None:
    mapping = formats.load(name)
    currency = "IDR" if name == CORETAX else "EUR"
    made = formats.emit(mapping, {**invoice, "currency": currency}).xml
    assert differing(invoice, formats.read_back(mapping, made)) == []
