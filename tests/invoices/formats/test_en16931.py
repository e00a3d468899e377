"""UBL and CII: whole invoices are valid by XSD and Schematron, and of others the rule is named."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docmill.invoices import formats
from docmill.invoices.formats import Emitted, validators
from docmill.invoices.formats.validators import Violation
from docmill.invoices.profile import Profile
from invoice_samples import EUROPEAN, european, line

NAMES = sorted(EUROPEAN)
NONE: set[str] = set()
pytestmark = pytest.mark.parametrize("name", NAMES)


def checked(name: str, invoice: dict[str, Any], **profile: Any) -> tuple[Emitted, list[Violation]]:
    """What was written, and the rules it breaks."""
    mapping = formats.load(name)
    made = formats.emit(mapping, invoice, Profile(**profile))
    found = validators.validate(mapping, made.xml)
    return made, [each for each in found if each.severity == "fatal"]


def broken(name: str, invoice: dict[str, Any], **profile: Any) -> dict[str, str]:
    """The broken rules and the field that each of them misses."""
    return {each.rule: each.field for each in checked(name, invoice, **profile)[1]}


def back(name: str, invoice: dict[str, Any]) -> dict[str, Any]:
    mapping = formats.load(name)
    return formats.read_back(mapping, formats.emit(mapping, invoice).xml)


@pytest.mark.parametrize("currency", ["EUR", "USD", "IDR", "CHF", "JPY"])
def test_a_whole_invoice_is_valid_in_any_currency(name: str, currency: str) -> None:
    made, problems = checked(name, european(currency))
    assert [str(each) for each in problems] == []
    assert made.review == ()
    assert back(name, european(currency))["currency"] == currency


def simple(net: str, tax: str, **given: Any) -> dict[str, Any]:
    gross = str(Decimal(net) + Decimal(tax))
    rows = [line(quantity="1", unit_price=net, amount=net, tax_rate=None, code=None)]
    totals = {"net": net, "tax": tax, "gross": gross, **given.pop("totals", {})}
    return european(lines=given.pop("lines", rows), totals=totals, **given)


@pytest.mark.parametrize(
    ("invoice", "review"),
    [
        pytest.param(simple("100.00", "19.00"), NONE, id="one rate from the totals"),
        pytest.param(simple("100.00", "5.50"), NONE, id="a rate of tenths"),
        pytest.param(simple("100.00", "0"), {"totals.tax"}, id="no tax"),
        pytest.param(
            simple("100.00", "19.00", totals={"paid": "50", "due": "69.00"}),
            NONE,
            id="paid before",
        ),
        pytest.param(
            simple("100.00", "19.00", totals={"due": "0"}, due_date=None), NONE, id="all paid"
        ),
        pytest.param(
            simple("100.00", "19.00", totals={"withholding": "2.00", "due": "117.00"}),
            {"totals.withholding"},
            id="tax withheld",
        ),
        pytest.param(
            simple("90.00", "17.10", lines=[line(quantity="1", unit_price="100", amount="100")]),
            {"totals.net"},
            id="a discount on the whole",
        ),
        pytest.param(
            simple("104.90", "19.93", lines=[line(quantity="1", unit_price="100", amount="100")]),
            {"totals.net"},
            id="freight that is no line",
        ),
        pytest.param(
            simple("100.00", "19.00", lines=[line(quantity="2", unit_price="59.50", amount="119")]),
            {"lines"},
            id="prices with the tax in them",
        ),
        pytest.param(
            simple(
                "80.00",
                "15.20",
                lines=[
                    line(quantity="1", unit_price="100", amount="100.00"),
                    line(quantity="1", unit_price="-20", amount="-20.00"),
                ],
            ),
            NONE,
            id="a line below zero",
        ),
        pytest.param(
            simple(
                "10.00",
                "1.91",
                lines=[line(quantity="3", unit_price="3.3333", amount="10.00", tax_rate="19")],
            ),
            NONE,
            id="tax rounded line by line",
        ),
        pytest.param(
            simple("100.00", "19.00", buyer={"name": "Budi", "address": "Weg 1, 1010 Wien"}),
            {"buyer.address"},
            id="a buyer's address without a country",
        ),
        pytest.param(
            simple(
                "100.00",
                "11.00",
                currency="IDR",
                seller={"name": "PT A", "tax_id": "01.234.567.8-901.000", "address": "Jakarta"},
                buyer={"name": "PT B", "tax_id": "09.876.543.2-109.000", "address": "Bogor"},
            ),
            NONE,
            id="numbers that are no VAT numbers",
        ),
        pytest.param(european(totals={}), {"totals.tax"}, id="no totals at all"),
    ],
)
def test_what_invoices_do_stays_valid_and_what_was_supposed_is_flagged(
    name: str, invoice: dict[str, Any], review: set[str]
) -> None:
    made, problems = checked(name, invoice)
    assert [str(each) for each in problems] == []
    assert {*made.review} == review


@pytest.mark.parametrize(
    ("lacking", "rule", "field"),
    [
        ({"invoice_number": None}, "BR-02", "invoice_number"),
        ({"issue_date": "tomorrow"}, "BR-03", "issue_date"),
        ({"currency": None}, "BR-05", "currency"),
        ({"seller": {"tax_id": "DE123456789", "address": "Berlin"}}, "BR-06", "seller.name"),
        ({"buyer": {"address": "Paris, France"}}, "BR-07", "buyer.name"),
        ({"buyer": {"name": "Le Client"}}, "BR-10", "buyer.address"),
        ({"seller": {"name": "A", "address": "Rom, Italia"}}, "BR-S-02", "seller.tax_id"),
        ({"lines": []}, "BR-16", "lines"),
    ],
)
def test_what_an_invoice_lacks_is_named_by_rule_and_field(
    name: str, lacking: dict[str, Any], rule: str, field: str
) -> None:
    found = broken(name, european(**lacking))
    assert found.get(rule) == field, found


def test_the_line_that_lacks_something_is_named(name: str) -> None:
    rows = european()["lines"]
    rows[1] = {**rows[1], "description": None}
    made, problems = checked(name, european(lines=rows))
    assert ("BR-25", "lines.1.description") in [(each.rule, each.field) for each in problems]
    assert "lines.1.description" in made.review


def test_a_mix_of_rates_that_only_one_sharing_out_can_make_is_taken_and_flagged(name: str) -> None:
    rows = [line(amount=amount, quantity=None, unit_price=None) for amount in ("198", "275")]
    made, problems = checked(name, european(lines=rows))
    assert [str(each) for each in problems] == []
    assert {*made.review} == {"lines.0.tax_rate", "lines.1.tax_rate"}
    assert [row["tax_rate"] for row in back(name, european(lines=rows))["lines"]] == ["19", "7"]


def test_a_mix_of_rates_that_nobody_printed_is_not_guessed(name: str) -> None:
    amounts = ("198", "137.50", "137.50")
    rows = [line(amount=each, quantity=None, unit_price=None) for each in amounts]
    totals = {"net": "473.00", "tax": "73.37", "gross": "546.37"}  # one of two equal lines has 19 %
    made, problems = checked(name, european(lines=rows, totals=totals))
    assert "lines.0.tax_rate" in made.review
    assert {"BR-48", "BR-S-05"} & {each.rule for each in problems}


def test_totals_that_contradict_each_other_are_written_as_printed_and_the_rule_is_named(
    name: str,
) -> None:
    totals = {"net": "473.00", "tax": "56.87", "gross": "540.00"}
    assert broken(name, european(totals=totals))["BR-CO-15"] == "totals.gross"
    assert back(name, european(totals=totals))["totals"]["gross"] == "540.00"


def test_the_owners_settings_fill_what_is_not_printed(name: str) -> None:
    bare = european(seller={"name": "Lieferant"}, due_date=None)
    own = {"tin": "DE123456789", "country": "DE", "payment_terms": "30 days"}
    assert broken(name, bare, **own) == {}
    assert {"BR-08", "BR-S-02"} <= {*broken(name, bare)}


cents = st.integers(1, 10**7).map(lambda each: Decimal(each) / 100)
rates = st.sampled_from(["19", "7", "5.5", "20", "0"])


@st.composite
def sound(draw: st.DrawFn) -> dict[str, Any]:
    """Invoices whose numbers agree, with any rates, discounts and quantities."""
    rows: list[dict[str, Any]] = []
    bases: dict[str, Decimal] = {}
    for _ in range(draw(st.integers(1, 5))):
        quantity, price, rate = draw(st.integers(1, 99)), draw(cents), draw(rates)
        discount = draw(st.sampled_from([Decimal(0), price]))
        amount = quantity * price - discount
        bases[rate] = bases.get(rate, Decimal(0)) + amount
        numbers = {
            "quantity": quantity,
            "unit_price": price,
            "discount": discount,
            "amount": amount,
        }
        rows.append(line(tax_rate=rate, **{key: str(value) for key, value in numbers.items()}))
    net = sum(bases.values(), Decimal(0))
    tax = sum((en_cents(base * Decimal(rate) / 100) for rate, base in bases.items()), Decimal(0))
    totals = {"net": str(net), "tax": str(tax), "gross": str(net + tax)}
    currency = draw(st.sampled_from(["EUR", "USD", "GBP", "PLN", "IDR"]))
    return european(currency, lines=rows, totals=totals)


def en_cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), rounding="ROUND_HALF_UP")


@settings(max_examples=25, deadline=None)
@given(invoice=sound())
def test_every_sound_invoice_is_valid(name: str, invoice: dict[str, Any]) -> None:
    made, problems = checked(name, invoice)
    assert [str(each) for each in problems] == []
    assert {*made.review} <= {"totals.tax"}
