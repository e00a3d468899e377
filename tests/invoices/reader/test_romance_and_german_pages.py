"""Causes found on pages in German, French, Spanish, Italian, Portuguese and Dutch."""

import re

import pytest

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.headings import exact_kind
from docmill.invoices.reader.names import is_name
from docmill.reading.labels import squeeze
from invoice_pdfs import paper, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("IVA 21%", "105.00"), ("Total", "605.00")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]


@pytest.mark.parametrize(
    ("pattern", "label"),
    [
        *((lexicon.BUYER, label) for label in ("Emitido para", "Facture pour", "Ausgestellt für")),
        *((lexicon.BUYER, label) for label in ("Emessa a", "Dados de faturação", "Uitgereikt aan")),
        *((lexicon.SELLER, label) for label in ("Freelance", "Entidade emitente", "Azienda")),
        *((lexicon.SELLER, label) for label in ("Votre prestataire", "Ausgestellt von", "Bedrijf")),
        *((lexicon.DUE, label) for label in ("Fecha de Vto. para el pago", "Fec. Venc.", "Dû le")),
        *((lexicon.DUE, label) for label in ("Bitte zahlen Sie bis zum", "Pague até", "Uiterlijk")),
        *((lexicon.DATE, label) for label in ("F. Factura", "Éditée le", "Data di fatturazione")),
        *((lexicon.NUMBER, label) for label in ("Serie y número", "N° Fact.", "Volgnummer")),
    ],
)
def test_labels_of_templates_are_known(pattern: re.Pattern[str], label: str) -> None:
    assert pattern.fullmatch(squeeze(label))


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        *((text, "description") for text in ("Conceptos", "Désignations", "Leistungen", "Servizi")),
        *((text, "quantity") for text in ("Cdad.", "Nombre d'heures", "Dauer", "Giorni", "Dagen")),
        *((text, "unit_price") for text in ("Coste", "Taux journalier", "Tagessatz", "Preço/Un.")),
        *((text, "amount") for text in ("P. Total", "Total HTVA", "Endpreis", "Totaal ex btw")),
    ],
)
def test_headings_of_columns_in_templates_are_known(heading: str, kind: str) -> None:
    assert exact_kind(heading) == kind


@pytest.mark.parametrize(
    ("label", "role"),
    [
        *(("ITBMS 7%", "tax"), ("Belasting 21%", "tax"), ("Zu bezahlen", "due")),
        *(("Op. Gravada", "net"), ("Zwischentotal", "net"), ("Totale imponibili", "net")),
    ],
)
def test_labels_of_sums_in_templates_are_known(label: str, role: str) -> None:
    assert find_role(label)[0] == role


@pytest.mark.parametrize(
    "name", ["Cliente de Prueba", "Client Test", "Cliente Esempio", "Customer A", "CLIENTES VARIOS"]
)
def test_a_name_made_up_of_the_word_for_a_party_is_a_name(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "text", ["Factura de Prueba", "Client ID", "Cliente", "Cedente/prestatore (fornitore)"]
)
def test_a_title_or_a_label_is_no_name_for_all_that(text: str) -> None:
    assert not is_name(text)


def test_a_name_behind_a_label_and_a_colon_may_begin_as_a_label_does() -> None:
    data = run(paper(ROWS, TOTALS, [*SELLER, (50.0, 100.0, "Cliente: Sello Verde")]))
    assert data["buyer"]["name"] == "Sello Verde"


def test_a_number_in_series_stands_under_a_title_and_a_tax_number() -> None:
    box = [(340.0, 40.0, "FACTURA ELECTRONICA"), (340.0, 52.0, "RUC: 20123456789")]
    data = run(paper(ROWS, TOTALS, [*SELLER, *box, (340.0, 64.0, "F001-04406")]))
    assert data["invoice_number"] == "F001-04406"


def test_the_third_day_of_a_line_has_a_label_of_its_own() -> None:
    days = "Desde: 01/02/2024 Hasta: 29/02/2024 Fecha de Vto. para el pago: 15/03/2024"
    facts = [(340.0, 40.0, "Factura N: A-17"), (340.0, 54.0, "Fecha: 05/03/2024")]
    data = run(paper(ROWS, TOTALS, [*SELLER, *facts, (50.0, 100.0, f"Facturado {days}")]))
    assert data["due_date"] == "2024-03-15"


@pytest.mark.parametrize(
    "text", ["São Paulo - SP, 01310-100", "Belo Horizonte/MG", "Curitiba - PR"]
)
def test_a_town_of_brazil_with_its_state_is_no_name(text: str) -> None:
    assert not is_name(text)


def test_a_company_in_a_town_of_brazil_is_a_name() -> None:
    assert is_name("COMERCIAL PAPEIS - SP LTDA")


def test_a_town_with_its_state_and_postcode_is_no_line_of_a_sender() -> None:
    facts = [(50.0, 100.0, "Cidade"), (150.0, 100.0, "São Paulo - SP, 01310-100")]
    under = [
        (50.0, 88.0, "Cliente"),
        (150.0, 88.0, "Hill Tools Ltd"),
        (150.0, 112.0, "Boleto Azul"),
    ]
    data = run(paper(ROWS, TOTALS, [*SELLER, *facts, *under]))
    assert (data["seller"]["name"], data["buyer"]["name"]) == ("Vale Works Ltd", "Hill Tools Ltd")


def test_who_served_is_not_the_seller_under_a_letterhead() -> None:
    head = [
        (50.0, 40.0, "Ferretería Luna"),
        (50.0, 52.0, "NIT 900.123.456-7"),
        (50.0, 64.0, "Cel. 310"),
    ]
    facts = [(50.0, 100.0, "Cliente: Rosa Gil"), (300.0, 100.0, "Vendedor: Pedro Gómez")]
    data = run(paper(ROWS, TOTALS, [*head, *facts]))
    assert data["seller"]["name"] == "Ferretería Luna"


def test_a_seller_with_an_address_under_the_name_stays_the_seller() -> None:
    texts = [
        *(
            (50.0, 40.0, "Portal Ventas"),
            (50.0, 52.0, "Tel. 0113 4"),
            (50.0, 64.0, "www.portal.es"),
        ),
        *((50.0, 100.0, "Vendedor: Pedro Gómez"), (50.0, 112.0, "NIF 12345678Z")),
        *((300.0, 100.0, "Cliente: Rosa Gil"), (300.0, 112.0, "Calle Mayor 3")),
    ]
    data = run(paper(ROWS, TOTALS, texts))
    assert data["seller"]["name"] == "Pedro Gómez"


def test_below_the_label_of_a_grid_stands_the_next_label_and_no_name() -> None:
    rows = [("Cliente", "Hill Tools Ltd"), ("Anschrift", "Leeds"), ("Kasse", "Boleto Azul")]
    texts = [
        (x, 90.0 + 12 * at, text)
        for at, pair in enumerate(rows)
        for x, text in zip((50.0, 130.0), pair, strict=True)
    ]
    own = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 126.0, "Vale Works Ltd - VAT 4711")]
    data = run(paper(ROWS, TOTALS, [*own, *texts]))
    assert (data["seller"]["name"], data["buyer"]["name"]) == ("Vale Works Ltd", "Hill Tools Ltd")
