"""Words, names and forms of companies of countries whose pages others write."""

import re

import pytest

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.names import is_name, is_place
from docmill.reading.labels import names_company, squeeze
from invoice_pdfs import paper, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
NUMBER = [(420.0, 40.0, "Factura N° A-17"), (420.0, 54.0, "Fecha: 05.06.2024")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        *(("Neto a recibir", "due"), ("Perc. IIBB 3,5%", "charge"), ("Rte. Fte.", "withholding")),
        *(("ISS retido", "withholding"), ("Valor líquido da NFS-e", "due"), ("Acerto", "rounding")),
        *(("Heraf udgør momsen", "tax"), ("Skattereduktion ROT", "discount")),
        *(
            ("Till. Öresutj.", "rounding"),
            ("Basis BTW 21%", "base"),
            ("Imposta di bollo", "charge"),
        ),
        *(("Befizetendő", "due"), ("Celková cena s DPH", "gross"), ("Provision versée", "paid")),
    ],
)
def test_labels_of_sums_have_their_roles(text: str, role: str) -> None:
    assert find_role(text)[0] == role


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        *(("Číslo daňového dokladu", lexicon.NUMBER), ("Declaratienummer", lexicon.NUMBER)),
        *(("Kostennote Nr.", lexicon.NUMBER), ("Pagar hasta el", lexicon.DUE)),
        *(("Bedes indbetalt senest", lexicon.DUE), ("Uiterste betaaldag", lexicon.DUE)),
        *(("A számla befogadója", lexicon.BUYER), ("Locatário", lexicon.BUYER)),
        *(("Cliente / Sacado", lexicon.BUYER), ("Utställt av", lexicon.SELLER)),
    ],
)
def test_labels_of_a_country_are_known(text: str, pattern: re.Pattern[str]) -> None:
    assert pattern.fullmatch(squeeze(text))


@pytest.mark.parametrize(
    "text",
    [
        *("Constructora del Valle", "Sportovní klub Slavia", "Tømrerfirmaet Søndergård & Søn"),
        *("Zakład Ślusarski Bąk", "Despacho Jurídico Peña y Asociados", "Notaría Pública No. 14"),
        *("Eigentümergemeinschaft Parkweg 5", "9418-2275 Québec inc.", "4 Pfoten GmbH"),
    ],
)
def test_names_that_look_like_streets_sums_or_numbers_are_names(text: str) -> None:
    assert is_name(text)
    assert is_name("53.118.204 RODRIGO FARIAS NOBRE")
    assert not is_place("53.118.204 RODRIGO FARIAS NOBRE")


@pytest.mark.parametrize(
    "text",
    [
        *("Med venlig hilsen", "Atentamente", "Z poważaniem", "Distinti saluti", "Kind regards"),
        *("Dane identyfikacyjne", "DANFSe v1.0", "Representación Gráfica", "Contactgegevens"),
    ],
)
def test_greetings_and_headings_of_blocks_are_no_names(text: str) -> None:
    assert not is_name(text)


@pytest.mark.parametrize("text", ["FACTURE ATELIER", "SZOLGÁLTATÁSI SZÁMLA", "Minuta 8910/25"])
def test_titles_with_a_word_for_an_invoice_are_no_names(text: str) -> None:
    assert not is_name(text)
    assert is_name("Faktura Wind AB")


def test_a_day_behind_the_number_and_a_word_with_points_is_the_invoices() -> None:
    title = [(50.0, 120.0, "STAAT VAN KOSTEN EN ERELONEN nr. 7938 d.d. 06.12.2025")]
    buyer = [(50.0, 90.0, "Aan Gemeentebestuur Lochristi"), (50.0, 102.0, "Dorp-Oost 67")]
    found = run(paper(ROWS, TOTALS, [*SELLER, *buyer, (50.0, 114.0, "9080 Lochristi"), *title]))
    assert (found["invoice_number"], found["issue_date"]) == ("7938", "2025-12-06")
    assert found["buyer"]["name"] == "Gemeentebestuur Lochristi"


def test_a_tax_number_beside_a_name_is_no_house_number() -> None:
    assert is_name("Instituto Monte Sião - CNPJ 44.555.666/0001-09")
    assert not is_name("Travessa Alta - 12")


@pytest.mark.parametrize("form", ["S.A.C.", "inc.", "eG", "S/A", "& Søn", "z. s.", "MEI", "KB"])
def test_forms_of_companies_are_known(form: str) -> None:
    assert names_company(f"Nordlys {form}")


def test_a_number_under_which_a_person_is_known_is_not_the_invoices() -> None:
    buyer = [(50.0, 90.0, "Cliente: Rosa Vela"), (50.0, 102.0, "Número Documento: 830.114.921-7")]
    assert run(paper(ROWS, TOTALS, [*NUMBER, *SELLER, *buyer]))["invoice_number"] == "A-17"


def test_the_caption_of_a_name_is_no_name() -> None:
    buyer = [(50.0, 90.0, "Tomador"), (50.0, 102.0, "Nome / Nome Empresarial")]
    texts = [*NUMBER, *SELLER, *buyer, (50.0, 114.0, "Beatriz Salgado"), (50.0, 126.0, "Rua B 2")]
    assert run(paper(ROWS, TOTALS, texts))["buyer"]["name"] == "Beatriz Salgado"


def test_a_name_in_one_line_with_its_street_is_the_buyer() -> None:
    buyer = [(50.0, 90.0, "Kunde"), (160.0, 90.0, "Kirsten Madsen, Bredgade 9, 4600 Køge")]
    assert run(paper(ROWS, TOTALS, [*NUMBER, *SELLER, *buyer]))["buyer"]["name"] == "Kirsten Madsen"


def test_the_mark_of_a_share_is_not_that_of_amounts() -> None:
    rows = [("1", "Clases", "1", "30.655", "30.655")]
    totals = [("Total Honorarios", "30.655"), ("14.5 % Impto. Retenido", "4.445")]
    found = run(paper(rows, [*totals, ("Total", "26.210")], [*NUMBER, *SELLER]))
    assert found["lines"][0]["amount"] == "30655"
