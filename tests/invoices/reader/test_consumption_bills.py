"""Bills of suppliers: sections with sums of their own, prices per hundred, debits told in prose."""

from collections.abc import Sequence
from typing import Any

import pytest

from docmill.reading.labels import names_company
from invoice_pdfs import paper, run
from pdfs import Text, make_pdf

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
SELLER: list[Text] = [
    (50, 40, "Vale Works Ltd"),
    (50, 52, "1 High Street"),
    (50, 64, "Tel 0113 4"),
    (340, 60, "Invoice 4711"),
    (340, 74, "Date 06.03.2026"),
]
FEET = (50.0, 240.0, 320.0, 400.0, 480.0)


def read_due(*lines: str) -> str | None:
    prose: list[Text] = [(50, 500 + 12 * at, line) for at, line in enumerate(lines)]
    return run(paper(ROWS, TOTALS, [*SELLER, *prose]))["due_date"]


def read_table(*rows: str) -> Any:
    """What is read of rows whose cells are set apart by bars."""
    texts = list(SELLER)
    for at, row in enumerate(rows):
        cells = zip(FEET, row.split("|"), strict=False)
        texts += [(x, 180 + 14 * at, cell.strip()) for x, cell in cells if cell.strip()]
    return run(make_pdf([texts]))


def list_lines(data: Any, *names: str) -> list[Sequence[str | None]]:
    return [tuple(line[name] for name in names) for line in data["lines"]]


@pytest.mark.parametrize(
    "lines",
    [
        ("Wir belasten Ihr Konto am 20.03.2026 mit 600,00 EUR.",),
        ("Der Lastschrifteinzug erfolgt am 20.03.2026.",),
        ("Bitte überweisen Sie den offenen Betrag bis spätestens", "20. März 2026 auf das Konto."),
        ("Sie haben noch nichts bezahlt. Die Summe ist bis 20.03.2026 zu zahlen.",),
        ("Votre compte sera débité le 20/03/2026.",),
        ("Votre facture sera prélevée sur le compte FR76 3000", "à compter du 20/03/2026."),
        ("Het bedrag wordt omstreeks 20 maart 2026 van uw rekening afgeschreven.",),
        (
            "Over 1 februari 2026 tot 28 februari 2026. Wij verzoeken u",
            "vóór 20 maart 2026 te betalen.",
        ),
        ("L'importo sarà addebitato sul suo conto il 20/03/2026.",),
        ("El importe se cargará en su cuenta el día 20 de marzo de 2026.",),
        ("We'll take this from your account on or just after", "20 March 2026."),
        ("Rekening Anda akan didebit pada 20 Maret 2026.",),
    ],
)
def test_a_sentence_about_a_direct_debit_tells_when_payment_is_due(lines: tuple[str, ...]) -> None:
    assert read_due(*lines) == "2026-03-20"


@pytest.mark.parametrize(
    "line",
    [
        "Der nächste Abschlag von 96,00 EUR wird am 20.03.2026 abgebucht.",
        "Zahlung per Lastschrift für den Zeitraum vom 20.03.2026 bis 19.04.2026",
        "Wir danken für Ihre Zahlung. Die Lieferung erfolgt am 20.03.2026.",
    ],
)
def test_other_days_beside_words_of_paying_are_not_due(line: str) -> None:
    assert read_due(line) is None


def test_sums_over_or_under_their_group_are_no_lines() -> None:
    over = read_table(
        "Désignation | Quantité | Prix unitaire | | Montant HT",
        "DISTRIBUTION | | | | 50,40",
        "Abonnement | 1 | 28,40 | | 28,40",
        "Consommation | 20 | 1,10 | | 22,00",
        "TAXES | | | | 4,00",
        "Redevance | 20 | 0,20 | | 4,00",
        "| | | Total HT | 54,40",
        "| | | TVA 20 % | 10,88",
        "| | | Total TTC | 65,28",
    )
    assert list_lines(over, "amount") == [("28.40",), ("22.00",), ("4.00",)]
    under = read_table(
        "Leistung | | | | Betrag",
        "Anschluss 1 Grundpreis | | | | 20,00",
        "Anschluss 1 Gespräche | | | | 5,50",
        "Anschluss 1 gesamt | | | | 25,50",
        "Anschluss 2 Grundpreis | | | | 30,00",
        "Anschluss 2 Gespräche | | | | 1,50",
        "Anschluss 2 gesamt | | | | 31,50",
        "| | | Netto | 57,00",
        "| | | USt 19 % | 10,83",
        "| | | Brutto | 67,83",
    )
    assert list_lines(under, "amount") == [("20.00",), ("5.50",), ("30.00",), ("1.50",)]


def test_lines_of_two_tables_with_other_headings_come_to_the_net() -> None:
    data = read_table(
        "Abonnementen | Periode | | | Bedrag",
        "Zakelijk Internet | maart | | | 45,00",
        "Vast IP | maart | | | 5,00",
        "Totaal abonnementen | | | | 50,00",
        "Verbruik | Aantal | | | Bedrag",
        "Bellen mobiel | 34 | | | 6,80",
        "Bellen buitenland | 3 | | | 2,10",
        "Totaal verbruik | | | | 8,90",
        "| | | Totaal exclusief btw | 58,90",
        "| | | Btw 21% | 12,37",
        "| | | Totaal inclusief btw | 71,27",
    )
    assert [line["amount"] for line in data["lines"]] == ["45.00", "5.00", "6.80", "2.10"]


def test_a_fee_under_the_subtotal_of_the_lines_is_none_of_them() -> None:
    data = read_table(
        "Item | Qty | Price | | Total",
        "Consulting | 3 | 100.00 | | 300.00",
        "Maintenance | 2 | 50.00 | | 100.00",
        "| | | Sub total | 400.00",
        "| | | Management fee 10% | 40.00",
        "| | | Total before VAT | 440.00",
        "| | | VAT 10% | 44.00",
        "| | | Grand total | 484.00",
    )
    assert [line["amount"] for line in data["lines"]] == ["300.00", "100.00"]


def test_a_price_may_be_that_of_many_pieces() -> None:
    heading = read_table(
        "Artikel | Aantal | Prijs per 100 | | Bedrag",
        "Enveloppen C5 | 300 | 7,20 | | 21,60",
        "Enveloppen C4 | 500 | 11,00 | | 55,00",
        "| | | Totaal excl. btw | 76,60",
        "| | | Btw 21% | 16,09",
        "| | | Totaal | 92,69",
    )
    names = ("quantity", "unit_price", "amount")
    assert list_lines(heading, *names) == [("300", "7.20", "21.60"), ("500", "11.00", "55.00")]
    column = read_table(
        "Bezeichnung | Menge | Preis | PE | Wert EUR",
        "Sechskantschraube | 2.500 | 14,20 | 100 | 355,00",
        "Unterlegscheibe | 12.000 | 3,10 | 1000 | 37,20",
        "| | | Nettobetrag | 392,20",
        "| | | 19% MwSt | 74,52",
        "| | | Rechnungsbetrag | 466,72",
    )
    wanted = [("2500", "14.20", "355.00"), ("12000", "3.10", "37.20")]
    assert list_lines(column, *names) == wanted


def test_a_price_in_hundredths_is_read_in_the_currency() -> None:
    data = read_table(
        "Leistung | Menge | Preis | | Betrag",
        "Arbeitspreis | 1.234 kWh | 30,00 ct/kWh | | 370,20",
        "Grundpreis | 12 Monate | 9,50 EUR | | 114,00",
        "| | | Netto | 484,20",
        "| | | USt 19 % | 92,00",
        "| | | Brutto | 576,20",
    )
    first = data["lines"][0]
    assert (first["quantity"], float(first["unit_price"])) == ("1234", 0.3)
    pence = read_table(
        "Electricity | kWh | p/kWh | | Amount",
        "Day | 812 | 24.10 | | 195.69",
        "Night | 340 | 12.90 | | 43.86",
        "| | | Total excluding VAT | 239.55",
        "| | | VAT 5% | 11.98",
        "| | | Total | 251.53",
    )
    assert [float(line["unit_price"]) for line in pence["lines"]] == [0.241, 0.129]


@pytest.mark.parametrize("name", ["Luz Norte S.A.U.", "Sole Soc. Coop.", "Zorg U.A.", "Abt oHG"])
def test_forms_of_suppliers_are_known(name: str) -> None:
    assert names_company(name)


def test_a_number_may_begin_with_the_year_and_a_blank() -> None:
    head: list[Text] = [
        *SELLER[:3],
        (340, 60, "FACTURE D'EAU"),
        (340, 74, "N° 2025 004222 du 17/04/2025"),
    ]
    data = run(paper(ROWS, TOTALS, head))
    assert (data["invoice_number"], data["issue_date"]) == ("2025 004222", "2025-04-17")


@pytest.mark.parametrize("heads", ["HT | TVA | TTC", "Base | IVA | Total"])
def test_beside_a_tax_stand_the_amount_without_it_and_with_it(heads: str) -> None:
    data = read_table(
        f"Concepto | | {heads}",
        "Forfait Pro 50 Go | | 25,00 | 5,00 | 30,00",
        "Option international | | 8,00 | 1,60 | 9,60",
        "| | | Base | 33,00",
        "| | | IVA 20 % | 6,60",
        "| | | Total | 39,60",
    )
    assert list_lines(data, "amount") == [("25.00",), ("8.00",)]


def test_a_box_of_the_post_puts_no_month_first() -> None:
    box: list[Text] = [(50, 76, "BP 30112 ANCENIS"), (340, 88, "Day 05/04/2026")]
    assert run(paper(ROWS, TOTALS, [*SELLER[:4], *box]))["issue_date"] == "2026-04-05"
