"""Words of Indonesian invoices, and the sample names of templates."""

import pytest

from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.names import is_name, is_place
from docmill.reading.labels import names_company
from invoice_pdfs import paper, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FACTS = [(420.0, 40.0, "Invoice No: A-17"), (420.0, 54.0, "Invoice date: 05.06.2024")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]


@pytest.mark.parametrize("text", ["Obat dan alat kesehatan", "Jasa dan material"])
def test_the_indonesian_word_for_and_is_no_czech_tax(text: str) -> None:
    assert find_role(text)[0] == ""


@pytest.mark.parametrize("text", ["Daň", "Daň celkem", "Celkem daň", "Daň 21 %", "Výše daně"])
def test_czech_taxes_are_taxes(text: str) -> None:
    assert find_role(text)[0] == "tax"


@pytest.mark.parametrize(
    ("text", "role"),
    [
        *(("TOTAL BIAYA", "gross"), ("Biaya kirim", "charge"), ("Total Pembayaran", "gross")),
        *(("Kekurangan pembayaran", "due"), ("Sub Jumlah", "net"), ("Total + PPN", "gross")),
        *(("Tagihan bulan lalu", "other"), ("PPN (11/12 x 12%)", "tax")),
    ],
)
def test_labels_of_indonesian_sums_have_their_roles(text: str, role: str) -> None:
    assert find_role(text)[0] == role


def test_a_housing_estate_is_no_company() -> None:
    text = "Perum Griya Asri Blok D4/17"
    assert is_place(text)
    assert not is_name(text)
    assert names_company("Perum Percetakan Negara")


def test_days_to_pay_stand_behind_a_colon_in_a_cell_of_its_own() -> None:
    terms = [(420.0, 68.0, "Tempo"), (480.0, 68.0, ":"), (500.0, 68.0, "14 hari")]
    assert run(paper(ROWS, TOTALS, [*FACTS, *SELLER, *terms]))["due_date"] == "2024-06-19"


@pytest.mark.parametrize("name", ["Kunde Kundesen", "Nazwa Firmy"])
def test_a_sample_name_over_an_address_is_the_buyer(name: str) -> None:
    buyer = [(50.0, 100.0, "Bill to"), (50.0, 112.0, name), (50.0, 124.0, "Polna 3")]
    texts = [*FACTS, *SELLER, *buyer, (50.0, 136.0, "12345 Reinfeld")]
    assert run(paper(ROWS, TOTALS, texts))["buyer"]["name"] == name
