"""What suppliers of many countries print: families held out, and the causes that were mended."""

import json
import shutil
from pathlib import Path

import pytest

from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.names import is_name
from eval import suppliers
from eval.pdf import make_pdf
from eval.score_invoices import judged, mean_right, read
from invoice_pdfs import HEADINGS, paper, row, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FIRMS = [(50.0, 50.0, "Hill Tools Ltd"), (50.0, 120.0, "Bill to:"), (50.0, 132.0, "Vale Works Ltd")]
DAY = (340.0, 74.0, "Invoice date: 05.06.2024")


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no chromium to print with")
def test_families_of_suppliers_that_are_held_out_are_read_well(tmp_path: Path) -> None:
    suppliers.make(tmp_path, 14, 77, held=True)
    records = json.loads((tmp_path / "truth.json").read_text())
    found = {digest: data for digest, data, _ in map(read, (tmp_path / r["file"] for r in records))}

    assert {record["lang"] for record in records} == set(suppliers.load_words())
    assert mean_right(records, found) >= 0.95
    sure = [item.right for item in judged(records, found) if item.confidence >= 0.9]
    assert sum(sure) / len(sure) >= 0.97


def test_a_number_keeps_the_letters_before_its_blank() -> None:
    head = [*FIRMS, DAY, (340.0, 60.0, "Invoice No"), (420.0, 60.0, "INV 0042")]
    assert run(paper(ROWS, TOTALS, head))["invoice_number"] == "INV 0042"


def test_a_label_may_break_into_two_lines_over_its_value() -> None:
    dues = [(340.0, 100.0, "Payment"), (340.0, 111.0, "due"), (340.0, 124.0, "19.06.2024")]
    assert run(paper(ROWS, TOTALS, [*FIRMS, DAY, *dues]))["due_date"] == "2024-06-19"


def test_the_day_to_pay_by_may_stand_before_the_word_for_paying() -> None:
    prose = (50.0, 400.0, "Der Rechnungsbetrag ist bis 19. Juni 2024 ohne Abzug zahlbar.")
    assert run(paper(ROWS, TOTALS, [*FIRMS, DAY, prose]))["due_date"] == "2024-06-19"


def test_sums_may_stand_under_their_labels_a_rate_among_them() -> None:
    texts = [*FIRMS, DAY, *row(180, *HEADINGS), *row(196, *ROWS[0])]
    for x, label, amount in ((50, "Subtotal", "500.00"), (150, "VAT 20%", "100.00")):
        texts += [(x, 230, label), (x, 244, amount)]
    data = run(make_pdf([[*texts, (250, 230, "Total"), (250, 244, "600.00")]]))
    assert data["totals"]["tax"] == "100.00"
    assert data["totals"]["gross"] == "600.00"


def test_captions_in_boxes_are_no_names() -> None:
    boxes = [
        *((50.0, 100.0, "Seller"), (50.0, 110.0, "Name"), (300.0, 110.0, "VAT No.")),
        *((50.0, 121.0, "Hill Tools Ltd"), (300.0, 121.0, "GB 123 4567 89")),
        *((50.0, 140.0, "Buyer"), (50.0, 150.0, "Name"), (300.0, 150.0, "VAT No.")),
        *((50.0, 161.0, "Vale Works Ltd"), (300.0, 161.0, "GB 987 6543 21")),
    ]
    data = run(paper(ROWS, TOTALS, [(340.0, 40.0, "Invoice No: A-17"), DAY, *boxes]))
    assert (data["seller"]["name"], data["buyer"]["name"]) == ("Hill Tools Ltd", "Vale Works Ltd")


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("Celkem s DPH", "gross"),
        ("Total s/ IVA", "net"),
        ("Total da fatura", "gross"),
        ("Netto po rabacie", "net"),
        ("Fizetendő végösszeg", "due"),
        ("Momspligtigt beløb", "base"),
        ("Sum å betale", "due"),
        ("Descuento pronto pago", "discount"),
    ],
)
def test_labels_of_sums_are_told_apart_in_their_languages(label: str, role: str) -> None:
    assert find_role(label)[0] == role


def test_who_moves_goods_may_be_called_after_it() -> None:
    assert is_name("Transports Roche")
    assert not is_name("Frais de transport")
