"""Countries and tax numbers of seller and buyer, by what the page says."""

from typing import Any

import pytest

from invoice_pdfs import paper, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "EUR 500.00"), ("VAT 20%", "EUR 100.00"), ("Total", "EUR 600.00")]
NUMBER = [(340.0, 60.0, "Invoice number: A-17"), (340.0, 74.0, "Invoice date: 05.06.2024")]


def read(seller: list[str], buyer: list[str], totals: Any = TOTALS) -> dict[str, Any]:
    """An invoice whose letterhead has these lines, and whose buyer's block has those."""
    head = [(50.0, 50.0 + 12 * at, line) for at, line in enumerate(seller)]
    head += [(50.0, 150.0 + 12 * at, line) for at, line in enumerate(["Bill to:", *buyer])]
    return run(paper(ROWS, totals, [*head, *NUMBER]))


SELLER = ["Hill Tools GmbH", "Ringweg 4"]
BUYER = ["Vale Works Ltd.", "Main Road 9"]


@pytest.mark.parametrize(
    ("line", "country"),
    [
        ("12345 Berlin, Deutschland", "DE"),
        ("A-1010 Wien", "AT"),
        ("CH-8000 Basel", "CH"),
        ("75001 Paris, FR", "FR"),
        ("1025 RX Amsterdam", "NL"),
        ("Springfield, IL 62701", "US"),
        ("London NW8 0AE", "GB"),
        ("110 00 Praha, Ceska republika", "CZ"),
        ("Tel. +39 02 1234567", "IT"),
    ],
)
def test_the_country_is_read_from_the_lines_under_a_name(line: str, country: str) -> None:
    data = read([*SELLER, line], BUYER)
    assert data["seller"]["country"] == country
    seen = data["evidence"]["seller.country"]
    assert seen["confidence"] >= 0.8
    assert seen["page"] == 1
    assert seen["box"]
    assert "seller.country" not in data["review"]


def test_each_party_has_its_own_country() -> None:
    data = read([*SELLER, "12345 Berlin, Germany"], [*BUYER, "London NW8 0AE, United Kingdom"])
    assert (data["seller"]["country"], data["buyer"]["country"]) == ("DE", "GB")


def test_a_buyer_without_a_country_is_where_the_seller_is_and_a_person_looks() -> None:
    data = read([*SELLER, "12345 Berlin, Germany"], ["Vale Works", "Main Road 9"])
    assert data["buyer"]["country"] == "DE"
    assert "buyer.country" in data["review"]


def test_a_guess_by_words_and_currency_is_looked_at_by_a_person() -> None:
    totals = [("Subtotal", "CHF 500.00"), ("Total", "CHF 500.00")]
    data = read(["Hill Tools", "Ringweg 4"], ["Vale Works", "Main Road 9"], totals)
    assert data["seller"]["country"] == "CH"
    assert {"seller.country", "buyer.country"} <= {*data["review"]}


def test_no_sign_of_a_country_is_no_country() -> None:
    totals = [("Subtotal", "EUR 500.00"), ("Total", "EUR 500.00")]
    data = read(["Hill Tools", "Ringweg 4"], ["Vale Works", "Main Road 9"], totals)
    assert data["seller"]["country"] is None


def test_a_number_just_over_the_buyer_is_the_sellers() -> None:
    data = read([*SELLER, "12345 Berlin", "USt-IdNr.: DE123456789"], BUYER)
    assert data["seller"]["tax_id"] == "DE123456789"
    assert data["buyer"]["tax_id"] is None


def test_a_number_goes_to_the_one_whose_country_it_names() -> None:
    lines = [*BUYER, "75001 Paris, France", "VAT number: DE123456789"]
    data = read([*SELLER, "12345 Berlin, Germany"], lines)
    assert data["seller"]["tax_id"] == "DE123456789"


def test_a_number_may_name_its_country_in_brackets() -> None:
    data = read([*SELLER, "NIF: (ES) B98602642"], BUYER)
    assert data["seller"]["tax_id"] == "B98602642"
    assert data["seller"]["country"] == "ES"


def test_the_email_under_a_name_is_that_partys() -> None:
    data = read([*SELLER, "office@hilltools.example"], [*BUYER, "pay@vale.example"])
    assert data["seller"]["email"] == "office@hilltools.example"
    assert data["buyer"]["email"] == "pay@vale.example"
