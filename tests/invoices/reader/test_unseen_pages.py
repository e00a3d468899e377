"""Causes found on pages written before the reader saw them: each on a page of its own."""

import pytest

from docmill.invoices.reader.names import is_name, split_parts
from docmill.reading.dates import find_dates
from eval.pdf import make_pdf
from invoice_pdfs import paper, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FACTS = [(340.0, 40.0, "Invoice No: A-17"), (340.0, 54.0, "Invoice date: 05.06.2024")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]


def read_parties(texts: list[tuple[float, float, str]]) -> tuple[str | None, str | None]:
    data = run(paper(ROWS, TOTALS, [*FACTS, *SELLER, *texts]))
    return data["seller"]["name"], data["buyer"]["name"]


def test_a_number_before_a_date_does_not_swallow_its_day() -> None:
    text = "Rechnung 0522/25 vom 22. Januar 2025, Ihre Bestellung vom 13. Januar 2025"
    assert [found.day.isoformat() for found in find_dates(text)] == ["2025-01-22", "2025-01-13"]


def test_the_day_of_the_order_behind_that_of_the_invoice_is_not_the_invoices() -> None:
    line = "Rechnung 0522/25 vom 22. Januar 2025, Ihre Bestellung vom 13. Januar 2025"
    data = run(paper(ROWS, TOTALS, [*SELLER, (50.0, 140.0, line)]))
    assert (data["invoice_number"], data["issue_date"]) == ("0522/25", "2025-01-22")


def test_a_name_over_a_street_and_a_town_may_end_in_a_number() -> None:
    texts = [
        *((50.0, 100.0, "Bill to"), (50.0, 112.0, "Residents of Harbour Court 12")),
        *((50.0, 124.0, "Quay Road 3"), (50.0, 136.0, "LS1 4AP Leeds 12345")),
    ]
    assert read_parties(texts)[1] == "Residents of Harbour Court 12"


def test_a_street_right_under_a_label_is_no_name() -> None:
    texts = [
        *((50.0, 100.0, "Bill to"), (50.0, 112.0, "12 Harbour Road")),
        *((50.0, 124.0, "12345 Leeds"), (50.0, 136.0, "Attention: Jane Hill")),
    ]
    assert read_parties(texts)[1] == "Jane Hill"


def test_sender_and_recipient_of_goods_are_not_the_parties_where_another_is_billed() -> None:
    texts = [
        *((50.0, 100.0, "Invoice to"), (50.0, 112.0, "Hill Tools Ltd")),
        *((220.0, 100.0, "Sender"), (220.0, 112.0, "Pacific Parts Ltd")),
        *((390.0, 100.0, "Recipient"), (390.0, 112.0, "Delta Machines Ltd")),
    ]
    assert read_parties(texts) == ("Vale Works Ltd", "Hill Tools Ltd")


def test_a_shop_note_names_its_buyer_as_sir_or_shop() -> None:
    texts = [(50.0, 100.0, "Tuan / Toko: CV Maju Makmur")]
    assert read_parties(texts)[1] == "CV Maju Makmur"


def test_the_table_by_rate_under_the_lines_does_not_move_their_columns() -> None:
    texts = [*FACTS, *SELLER]
    heads = ((50.0, "Description"), (207.0, "Qty"), (250.0, "Price"), (320.0, "Net"))
    texts += [(x, 180.0, text) for x, text in (*heads, (411.0, "VAT"), (470.0, "Gross"))]
    lines = (("Paper", "2", "551.73", "1103.46", "20 %", "1324.15"),)
    lines += (("Cards", "2", "405.80", "811.60", "10 %", "892.76"),)
    places = (50.0, 234.0, 277.0, 375.0, 430.0, 524.0)
    for at, cells in enumerate(lines):
        texts += [(x, 196.0 + 14 * at, cell) for x, cell in zip(places, cells, strict=True)]
    for y, rate, base, tax in (
        (246.0, "20 %", "1103.46", "220.69"),
        (274.0, "10 %", "811.60", "81.16"),
    ):
        texts += [(50.0, y, rate), (141.0, y, base), (262.0, y, tax)]
    for y, label, amount in (
        (232.0, "Total net", "1915.06"),
        (246.0, "Total VAT", "301.85"),
        (260.0, "Total", "2216.91"),
    ):
        texts += [(400.0, y, label), (520.0, y, amount)]
    found = run(make_pdf([texts]))["lines"]
    assert [line["quantity"] for line in found] == ["2", "2"]


def test_the_sum_under_lines_of_which_only_a_price_is_printed_is_no_line() -> None:
    texts = [*FACTS, *SELLER, (50.0, 180.0, "Keterangan"), (500.0, 180.0, "Biaya")]
    for y, label, amount in (
        (196.0, "Konsultasi dokter", "586.320"),
        (210.0, "Administrasi", "62.720"),
        (224.0, "Total Biaya", "649.040"),
    ):
        texts += [(50.0, y, label), (500.0, y, amount)]
    assert [line["amount"] for line in run(make_pdf([texts]))["lines"]] == ["586320", "62720"]


def test_the_number_stands_under_a_title_that_tells_what_is_paid() -> None:
    head = [(50.0, 40.0, "INVOICE PELUNASAN"), (50.0, 54.0, "5348/DP/2025")]
    names = [(300.0, 40.0, "PT Sinar Jaya"), (50.0, 100.0, "Kepada"), (50.0, 114.0, "CV Maju")]
    data = run(paper(ROWS, TOTALS, [*head, *names, (300.0, 100.0, "Tanggal: 14 Maret 2025")]))
    assert data["invoice_number"] == "5348/DP/2025"


def test_two_prices_before_a_gross_sum_are_price_and_amount() -> None:
    places = (50.0, 220.0, 290.0, 370.0, 480.0)
    rows = [(180.0, ("Description", "Qty", "Unit price", "Price", "Gross"))]
    rows += [(196.0, ("Paper", "1", "212.03", "212.03", "256.56"))]
    rows += [(210.0, ("Cards", "1", "197.75", "197.75", "221.48"))]
    texts = [*FACTS, *SELLER, (300.0, 240.0, "Total"), (480.0, 240.0, "478.04")]
    for y, cells in rows:
        texts += [(x, y, cell) for x, cell in zip(places, cells, strict=True)]
    found = run(make_pdf([texts]))["lines"]
    assert [line["amount"] for line in found] == ["212.03", "197.75"]


@pytest.mark.parametrize(
    "text", ["Niederlassung", "Head office", "Sucursal", "Kantor cabang", "Herrn/Frau/Firma"]
)
def test_a_word_for_an_office_or_before_a_name_is_no_name(text: str) -> None:
    assert not is_name(text)


def test_a_company_named_after_an_office_stays_a_name() -> None:
    assert is_name("Niederlassung Nord GmbH")


def test_the_verb_before_an_imprint_is_no_part_of_a_name() -> None:
    text = "Calder Roofing Ltd is registered in England and Wales, company no. 0412"
    assert split_parts(text)[0] == "Calder Roofing Ltd"
