"""Invoices for the tests of mappings: whole ones, and any that a reader could ever hand over."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from docmill.invoices.fields import FIELDS, OF_LINE

CORETAX = "pt_simon_invoice_v1"
EUROPEAN = {"ubl_invoice_v1": "ubl", "cii_invoice_v1": "cii"}

# Everything that can stand in JSON: lone surrogates, control characters, markup, other types.
texts = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(
    ["\x00", "]]>", "<a>&amp;", "\ud800", "\ufffe", "\u202e", " ", "&#0;", "<!--", "\x85", "-", "0"]
)
numerals = st.decimals(
    min_value=-(10**12), max_value=10**12, places=3, allow_nan=False, allow_infinity=False
).map(str)
values = st.one_of(
    texts,
    numerals,
    st.none(),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.lists(texts, max_size=2),
)


def group(name: str) -> st.SearchStrategy[dict[str, Any]]:
    names = [field.name for field in FIELDS if field.group == name]
    return st.dictionaries(st.sampled_from(names), values)


positive = st.decimals(min_value=0, max_value=10**10, places=3).map(str)
mostly_positive = st.one_of(*[positive] * 8, values)  # or nearly every invoice would be refused
any_lines = st.fixed_dictionaries(
    {"amount": mostly_positive},
    optional={name: mostly_positive for name in OF_LINE if name != "amount"},
)
any_invoices = st.fixed_dictionaries(
    {
        "currency": st.sampled_from(["IDR", "Rp", "", None]),
        "lines": st.lists(any_lines, min_size=1, max_size=4) | st.lists(values, max_size=2),
    },
    optional={
        "invoice_number": values,
        "issue_date": values | st.dates().map(str),
        "due_date": values,
        "seller": values | group("seller"),
        "buyer": values | group("buyer"),
        "totals": values | group("totals"),
        "trx_code": values | st.sampled_from(["01", "4", "07", "10"]),
    },
)


def line(**given: Any) -> dict[str, Any]:
    return {
        "description": "Laptop 14 inci",
        "quantity": "10",
        "unit": "PCS",
        "unit_price": "12000000",
        "discount": None,
        "amount": "120000000",
        "code": "8471.30",
        "tax_rate": None,
        **given,
    }


def indonesian(**given: Any) -> dict[str, Any]:
    """The worked example: a tax base of 120,000,000."""
    return {
        "invoice_number": "INV/2025/03/0017",
        "issue_date": "2025-03-14",
        "due_date": "2025-04-13",
        "currency": "IDR",
        "seller": {"name": "PT Simon", "tax_id": "01.234.567.8-901.000", "address": "Jakarta"},
        "buyer": {"name": "PT Budi", "tax_id": "0987654321098765", "address": "Jl. Asia 1, Bogor"},
        "totals": {"net": "120000000", "tax": "13200000", "gross": "133200000"},
        "lines": [line()],
        **given,
    }


def european(currency: str = "EUR", **given: Any) -> dict[str, Any]:
    """Two rates, a discount, a line that prints its amount only."""
    return {
        "invoice_number": "RE-2025/17",
        "issue_date": "2025-03-14",
        "due_date": "2025-04-13",
        "currency": currency,
        "seller": {
            "name": "Lieferant GmbH & Co. <KG>",
            "tax_id": "DE123456789",
            "address": "Musterstr. 1, 12345 Berlin, Deutschland",
        },
        "buyer": {"name": "Le Client", "tax_id": "FR12345678901", "address": "Paris, France"},
        "totals": {"net": "473.00", "tax": "56.87", "gross": "529.87", "due": "529.87"},
        "lines": [
            line(description="Trennblätter", quantity="20", unit="Piece", unit_price="9.9",
                 amount="198.00", tax_rate="19", code="TB100A4"),
            line(description="Joghurt", quantity="50", unit="Kilogram", unit_price="5.5",
                 discount="5.00", amount="270.00", tax_rate="7", code=None),
            line(description="Beratung", quantity=None, unit=None, unit_price=None,
                 amount="5.00", tax_rate="7", code=None),
        ],
        **given,
    }  # fmt: skip


def is_same(left: Any, right: Any) -> bool:
    """Equal values: the same text, or numbers of the same worth, whatever their zeros."""
    if left == right:
        return True
    try:
        return Decimal(left) == Decimal(right)
    except (ArithmeticError, TypeError, ValueError):
        return False
