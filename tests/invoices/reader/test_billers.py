"""What billing programs of many countries print: pages held out, and causes that were mended."""

import json
import shutil
from pathlib import Path

import pytest

from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.names import is_name, split_parts
from eval import billers
from eval.pdf import make_pdf
from eval.score_invoices import judged, mean_right, read
from invoice_pdfs import HEADINGS, paper, row, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FACTS = [(340.0, 60.0, "Invoice No: A-17"), (340.0, 74.0, "Invoice date: 05.06.2024")]


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no chromium to print with")
def test_pages_of_billing_programs_that_are_held_out_are_read_well(tmp_path: Path) -> None:
    billers.make(tmp_path, 1, 41)
    records = json.loads((tmp_path / "truth.json").read_text())
    held = [record for record in records if billers.is_held(record["group"])]
    found = {digest: data for digest, data, _ in map(read, (tmp_path / r["file"] for r in held))}

    assert len(held) > 15
    assert mean_right(held, found) >= 0.9
    sure = [item.right for item in judged(held, found) if item.confidence >= 0.9]
    assert sum(sure) / len(sure) >= 0.95


def read_parties(texts: list[tuple[float, float, str]]) -> tuple[str | None, str | None]:
    data = run(paper(ROWS, TOTALS, [*FACTS, *texts]))
    return data["seller"]["name"], data["buyer"]["name"]


def test_a_heading_in_the_middle_heads_labelled_names_at_the_left() -> None:
    texts = [
        (255.0, 90.0, "PRESTADOR DE SERVIÇOS"),
        (50.0, 102.0, "Nome/Razão Social: SERRA PAPEIS LTDA"),
        (50.0, 114.0, "Endereço: RUA DAS FLORES, 12"),
        (258.0, 130.0, "TOMADOR DE SERVIÇOS"),
        (50.0, 142.0, "Nome/Razão Social: CONDOMINIO AURORA 7"),
    ]
    assert read_parties(texts) == ("SERRA PAPEIS LTDA", "CONDOMINIO AURORA 7")


def test_the_bank_under_a_seller_is_not_the_seller() -> None:
    texts = [
        *((50.0, 90.0, "Seller"), (50.0, 102.0, "Vale Works Ltd"), (50.0, 114.0, "1 High Street")),
        *((50.0, 126.0, "Leeds LS1 4AP"), (50.0, 138.0, "Northern Bank plc")),
        *((340.0, 90.0, "Buyer"), (340.0, 102.0, "Hill Tools Ltd")),
    ]
    assert read_parties(texts) == ("Vale Works Ltd", "Hill Tools Ltd")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Vale Works Ltd. Registered office: 1 High Street", "Vale Works Ltd"),
        ("Morag Sinclair Registered in Scotland No 1", "Morag Sinclair"),
        ("Dana Capital Partners", "Dana Capital Partners"),
    ],
)
def test_a_name_ends_where_its_imprint_begins(text: str, name: str) -> None:
    assert split_parts(text)[0] == name


def test_labels_and_questions_are_no_names() -> None:
    assert not is_name("ABN")
    assert not is_name("Questions? Call us or visit the shop")
    assert not is_name("Condominio Aurora 7")
    assert is_name("Condominio Aurora 7", given=True)


def test_a_firm_may_be_called_like_a_sum_of_another_language() -> None:
    assert find_role("Zakład")[0]
    assert is_name("Zakład Ślusarski Jan Bąk")
    assert not is_name("Total Amount Due")


def test_taxes_in_two_parts_come_to_one_where_no_net_is_named() -> None:
    texts = [*FACTS, (50.0, 100.0, "Vale Works Ltd"), *row(180, *HEADINGS), *row(196, *ROWS[0])]
    for y, label, amount in (
        (220, "CGST", "45.00"),
        (234, "SGST", "45.00"),
        (248, "Total", "590.00"),
    ):
        texts += [(300.0, float(y), label), (500.0, float(y), amount)]
    totals = run(make_pdf([texts]))["totals"]
    assert (totals["net"], totals["tax"], totals["gross"]) == ("500.00", "90.00", "590.00")


def test_the_day_of_another_paper_in_a_sentence_is_not_the_invoices() -> None:
    prose = (50.0, 400.0, "Autorización numeración DIAN 18764012345678 del 01/03/2024 prefijo FE")
    head = [(340.0, 60.0, "Factura No: A-17"), (340.0, 74.0, "Fecha y hora Factura")]
    day = (340.0, 86.0, "Generación 05/06/2024, 09:14")
    assert run(paper(ROWS, TOTALS, [*head, day, prose]))["issue_date"] == "2024-06-05"
