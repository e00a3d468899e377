"""Parties where no label is known: the ranking then goes by what stands around a name."""

from typing import Any

import pytest

from docmill.invoices.reader import detect_notation, lexicon
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.name_kinds import is_employer, names_firm, names_person
from docmill.invoices.reader.names import is_name, is_place
from docmill.invoices.reader.parties import collect_names
from docmill.reading.labels import find_phrases
from docmill.reading.pages import Page
from eval.heads import make_page
from eval.hidden_labels import hide_labels
from invoice_pdfs import paper, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FACTS = [(420.0, 40.0, "Invoice No: A-17"), (420.0, 54.0, "Invoice date: 05.06.2024")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]

Texts = list[tuple[float, float, str]]


def read(texts: Texts) -> dict[str, Any]:
    return run(paper(ROWS, TOTALS, [*FACTS, *SELLER, *texts]))


def list_names(page: Page) -> set[str]:
    sheet = detect_notation(make_sheet([page]))
    sources = collect_names(sheet, find_phrases(sheet, lexicon.LABELS), frozenset())
    return {name.text for name in (*sources.sellers, *sources.buyers)}


@pytest.mark.parametrize("text", ["Luis Ortega", "Mrs P Hargreaves", "Anna-Lena Berg", "Dr. Roy"])
def test_a_title_or_a_given_name_makes_a_person(text: str) -> None:
    assert names_person(text)
    assert not is_employer(text)


@pytest.mark.parametrize("text", ["Ortega Catering", "Luis Tools", "Elm Primary School", "Ana Ltd"])
def test_a_trade_a_form_or_an_organisation_makes_a_firm(text: str) -> None:
    assert names_firm(text)
    assert not names_person(text)


@pytest.mark.parametrize("text", ["SAME AS CONSIGNEE", "As above", "Hi Amara Osei", "|| Shree ||"])
def test_what_points_elsewhere_greets_or_blesses_is_no_name(text: str) -> None:
    assert not is_name(text, given=True)


def test_a_code_before_a_street_is_the_house() -> None:
    assert is_place("B-204, Link Road")
    assert not is_place("Studio B, Works")


@pytest.mark.parametrize("key", ["billingparty", "patientname", "customersdetails", "respondent"])
def test_labels_are_made_of_who_buys_and_what_follows(key: str) -> None:
    assert lexicon.BUYER.fullmatch(key)


def test_the_firm_of_a_person_beside_a_label_is_billed() -> None:
    texts = [
        *((50.0, 100.0, "TO:"), (90.0, 100.0, "Luis Ortega"), (90.0, 112.0, "Delta Tools")),
        *((90.0, 124.0, "12 Quay Road"), (90.0, 136.0, "Dover, DE 19901")),
    ]
    assert read(texts)["buyer"]["name"] == "Delta Tools"


def test_a_department_under_a_person_is_not_billed() -> None:
    texts = [
        *((50.0, 100.0, "TO:"), (90.0, 100.0, "Luis Ortega"), (90.0, 112.0, "Finance Department")),
        *((90.0, 124.0, "12 Quay Road"), (90.0, 136.0, "Dover, DE 19901")),
    ]
    assert read(texts)["buyer"]["name"] == "Luis Ortega"


def test_what_follows_an_unknown_label_and_a_colon_may_be_a_name() -> None:
    page = make_page(
        [(50.0, 100.0, 9.0, "Zarvo mel: Delta Yard"), (50.0, 112.0, 9.0, "Quay Road 9")]
    )
    assert "Delta Yard" in list_names(page)


def test_who_signs_for_a_firm_names_it() -> None:
    texts = [(400.0, 700.0, 9.0, "For Delta Yard"), (400.0, 740.0, 9.0, "Authorised Signatory")]
    assert "Delta Yard" in list_names(make_page(texts))


def test_a_sentence_names_who_sold() -> None:
    text = "You get this because you purchased from Delta Yard, 9 Quay Road, Dover."
    assert "Delta Yard" in list_names(make_page([(50.0, 700.0, 7.0, text)]))


def test_hidden_labels_are_words_that_nobody_knows() -> None:
    page = make_page([(50.0, 100.0, 9.0, "Bill to:"), (50.0, 112.0, 9.0, "Client Name")])
    hidden = hide_labels([page], "1", {"clientname"})
    assert hidden is not None
    texts = [word.text for word in hidden[0].words]
    assert [len(text) for text in texts[:2]] == [4, 3]
    assert texts[1][-1] == ":"
    assert texts[2:] == ["Client", "Name"]
    assert not lexicon.BUYER.fullmatch("".join(texts[:2]).lower()[:-1])


def test_a_page_without_labels_hides_none() -> None:
    assert hide_labels([make_page([(50.0, 100.0, 9.0, "Delta Yard")])], "1", ()) is None
