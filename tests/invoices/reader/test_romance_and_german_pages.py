"""Causes found on pages in German, French, Spanish, Italian, Portuguese and Dutch."""

import re

import pytest

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.headings import exact_kind
from docmill.reading.labels import squeeze


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
