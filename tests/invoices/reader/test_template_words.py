"""Words of Indonesian invoices, and the sample names of templates."""

import pytest

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.names import is_name, is_place
from docmill.reading.labels import names_company, squeeze
from eval.pdf import make_pdf
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


@pytest.mark.parametrize(
    "text", ["Kepada Yang Terhormat", "Nama Pasien", "Telah terima dari", "Faktura dla", "Kundnamn"]
)
def test_more_words_say_who_is_billed(text: str) -> None:
    assert lexicon.BUYER.fullmatch(squeeze(text))


@pytest.mark.parametrize(
    "text",
    [
        *("Tgl Jth Tempo", "Mohon dibayar sebelum", "Termin wpłaty", "Splatné do"),
        *("Sista betalningsdatum", "Sidste betalingsdato", "Betales før", "Fiz. hat."),
    ],
)
def test_more_words_say_by_when_to_pay(text: str) -> None:
    assert lexicon.DUE.fullmatch(squeeze(text))


def test_a_day_to_pay_stands_behind_not_later_than_in_indonesian() -> None:
    text = (50.0, 700.0, "Pembayaran agar ditransfer selambatnya 07.07.2024 ke:")
    assert run(paper(ROWS, TOTALS, [*FACTS, *SELLER, text]))["due_date"] == "2024-07-07"


def test_a_sample_name_in_a_block_without_a_label_is_the_buyer() -> None:
    buyer = [(50.0, 110.0, "Kunde Kundesen"), (50.0, 122.0, "Storgata 10")]
    seller = [(420.0, y - 5, text) for _, y, text in SELLER]
    facts = [(420.0, y + 60, text) for _, y, text in FACTS]
    texts = [*facts, *seller, *buyer, (50.0, 134.0, "0155 Oslo")]
    assert run(paper(ROWS, TOTALS, texts))["buyer"]["name"] == "Kunde Kundesen"


def test_a_charge_is_a_line_where_the_sum_over_the_tax_has_it_in() -> None:
    texts = [
        *((50.0, 200.0, "Pemasangan jaringan"), (400.0, 200.0, "400.00")),
        *((50.0, 214.0, "Biaya server"), (400.0, 214.0, "100.00")),
        *((50.0, 240.0, "Jumlah"), (400.0, 240.0, "500.00")),
        *((50.0, 254.0, "PPN 11%"), (400.0, 254.0, "55.00")),
        *((50.0, 268.0, "Total"), (400.0, 268.0, "555.00")),
    ]
    data = run(make_pdf([[*FACTS, *SELLER, *texts]]))
    assert [line["amount"] for line in data["lines"]] == ["400.00", "100.00"]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        *(("TOTALHT", "net"), ("TotalTVA", "tax"), ("TOTALTTC", "gross"), ("GrandTotal", "gross")),
        *(("AmountDue", "due"), ("BaseImponible", "net"), ("TotaleFattura", "gross")),
        *(("ValorTotal", "gross"), ("TotalTagihan", "gross"), ("TotaalBTW", "tax")),
    ],
)
def test_labels_of_sums_without_their_space_have_their_roles(text: str, role: str) -> None:
    assert find_role(text)[0] == role
