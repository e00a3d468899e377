"""What public templates print: names left open, parties without a form of company."""

import pytest

from docmill.invoices.reader.names import is_name, is_placeholder, is_town
from invoice_pdfs import paper, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FACTS = [(420.0, 40.0, "Invoice No: A-17"), (420.0, 54.0, "Invoice date: 05.06.2024")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]

Texts = list[tuple[float, float, str]]


def read_names(texts: Texts) -> tuple[str | None, str | None]:
    found = run(paper(ROWS, TOTALS, [*FACTS, *texts]))
    return found["seller"]["name"], found["buyer"]["name"]


def test_words_left_open_in_a_template_are_a_name_over_an_address() -> None:
    texts = [
        *((50.0, 100.0, "Invoice to"), (50.0, 112.0, "Client Name")),
        *((50.0, 124.0, "12 Quay Road"), (50.0, 136.0, "Dover, DE 19901")),
    ]
    assert read_names([*SELLER, *texts]) == ("Vale Works Ltd", "Client Name")


def test_the_same_words_are_a_label_where_a_name_follows() -> None:
    texts = [
        *((50.0, 100.0, "Client Name"), (50.0, 112.0, "Delta Yard")),
        *((50.0, 124.0, "12 Quay Road"), (50.0, 136.0, "Dover, DE 19901")),
    ]
    assert read_names([*SELLER, *texts])[1] == "Delta Yard"


@pytest.mark.parametrize(
    "text", ["Your Company", "[Company Name]", "Client Name", "Customer Company", "Kundenname"]
)
def test_what_a_template_leaves_open_is_a_name_only_where_one_is_due(text: str) -> None:
    assert is_placeholder(text)
    assert is_name(text, given=True)


def test_a_town_with_its_state_is_no_name() -> None:
    assert is_town("Dover, DE 19901")
    assert not is_town("Dover Works, Quay Road 12")


def test_sirs_before_a_name_are_no_part_of_it() -> None:
    texts = [
        (50.0, 100.0, "Bill to"),
        (50.0, 112.0, "M/s. Delta Yard"),
        (50.0, 124.0, "9 Dock Road"),
    ]
    assert read_names([*SELLER, *texts])[1] == "Delta Yard"
