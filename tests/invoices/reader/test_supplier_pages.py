"""Causes found on pages in the manner of real suppliers: bills for power, shops, wholesalers."""

from datetime import date

import pytest

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.names import is_name, is_place, split_parts
from docmill.reading.dates import find_dates
from docmill.reading.labels import names_company, squeeze
from invoice_pdfs import paper, run
from pdfs import make_pdf

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]


def read_number(*texts: str) -> str | None:
    placed = [(340.0, 60.0 + 14 * at, text) for at, text in enumerate(texts)]
    return run(paper(ROWS, TOTALS, [*SELLER, *placed]))["invoice_number"]


@pytest.mark.parametrize(
    "text",
    ["13 07 2025", "Tanggal : 13 07 2025", "Data wystawienia 13 07 2025", "13 07 2025 (Net)"],
)
def test_days_with_blanks_between_their_parts_are_dates(text: str) -> None:
    assert [found.day for found in find_dates(text)] == [date(2025, 7, 13)]


@pytest.mark.parametrize(
    "text", ["Tel. 06 12 20 1245", "06 12 2012 3344", "1 12 10 2025", "13 07 2025,50"]
)
def test_longer_runs_of_figures_are_no_dates(text: str) -> None:
    assert not find_dates(text)


@pytest.mark.parametrize(
    "words", ["Exmo.(a) Senhor(a)", "Sig./Sig.ra / Ditta", "Herrn/Frau", "De heer / mevrouw"]
)
def test_an_address_to_either_sex_is_the_label_of_a_buyer(words: str) -> None:
    assert lexicon.BUYER.fullmatch(squeeze(words))


@pytest.mark.parametrize(
    "name", ["WOLT Spółka z o.o.", "WOLT Spółka z ograniczoną odpowiedzialnością", "F.H. Sadek"]
)
def test_long_and_old_forms_of_polish_companies_are_known(name: str) -> None:
    assert names_company(name)
    assert is_name(name)


@pytest.mark.parametrize("name", ["Farmacia Comunale 3", "Apteka nr 12", "SMP Negeri 4"])
def test_a_school_or_pharmacy_with_a_number_is_a_name_and_no_street(name: str) -> None:
    assert is_name(name)
    assert not is_place(name)


def test_a_tax_number_behind_a_company_and_a_stop_is_no_part_of_its_name() -> None:
    assert split_parts("Brisa Luz S.L.. CIF B95112233.")[0] == "Brisa Luz S.L"
    assert split_parts("Toko Makmur NPWP 01.222.333.4-555.000")[0] == "Toko Makmur"
    assert split_parts("Nip Tuck Tailors") == ("Nip Tuck Tailors",)


def test_a_series_with_its_folio_is_the_number() -> None:
    assert read_number("FACTURA", "Serie y Folio: GAS 008447") == "GAS 008447"


def test_the_word_for_the_tax_does_not_belong_to_the_number() -> None:
    assert read_number("Faktura VAT F00003279/006/25") == "F00003279/006/25"


def test_an_amount_beside_the_word_for_an_invoice_is_not_its_number() -> None:
    assert read_number("Faktura nr 17/2025", "Numer", "faktura 194,33") == "17/2025"


def test_a_total_without_a_label_under_net_and_tax_is_the_gross() -> None:
    totals = [("Total", "500.00"), ("PPN", "55.00"), ("", "555.00")]
    found = run(paper(ROWS, totals, SELLER))["totals"]
    assert (found["net"], found["tax"], found["gross"]) == ("500.00", "55.00", "555.00")


def test_a_period_in_words_is_no_line() -> None:
    texts = [
        (340.0, 150.0, "Period 23 March 2026 - 1 April 2026"),
        *((50.0, 178.0, "Subtotal"), (480.0, 178.0, "100.00")),
        *((50.0, 192.0, "VAT 20%"), (480.0, 192.0, "20.00")),
        *((50.0, 206.0, "Total"), (480.0, 206.0, "120.00")),
    ]
    assert run(make_pdf([[*SELLER, *texts]]))["lines"] == []


def test_a_levy_over_the_net_is_a_line() -> None:
    texts = [
        *((50.0, 150.0, "Energy used"), (480.0, 150.0, "80.00")),
        *((50.0, 164.0, "Energy tax"), (480.0, 164.0, "20.00")),
        *((50.0, 178.0, "Subtotal"), (480.0, 178.0, "100.00")),
        *((50.0, 192.0, "VAT 20%"), (480.0, 192.0, "20.00")),
        *((50.0, 206.0, "Total"), (480.0, 206.0, "120.00")),
    ]
    lines = run(make_pdf([[*SELLER, *texts]]))["lines"]
    assert [line["amount"] for line in lines] == ["80.00", "20.00"]
