import io
from pathlib import Path

import pytest

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Pipeline, Source, Tools
from docmill.invoices.pipeline import pipeline
from invoice_pdfs import paper, run
from pdfs import encrypted_pdf, make_pdf

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
ROWS = [
    ("1", "Kertas HVS A4", "10 rim", "50.000", "500.000"),
    ("2", "Tinta hitam", "2 pcs", "125.000", "250.000"),
]
TOTALS = [("Subtotal", "Rp 750.000"), ("PPN 11%", "Rp 82.500"), ("Total", "Rp 832.500")]


def test_it_keeps_the_contract() -> None:
    assert isinstance(pipeline, Pipeline)
    assert (pipeline.name, pipeline.version, pipeline.accepts) == ("invoice", "1", (PDF,))


def test_a_plain_invoice_is_read_whole() -> None:
    data = run(paper(ROWS, TOTALS))

    assert data["invoice_number"] == "INV/2025/03/0017"
    assert (data["issue_date"], data["due_date"]) == ("2025-03-14", "2025-04-13")
    assert data["currency"] == "IDR"
    assert data["seller"]["name"] == "PT Sinar Jaya"
    assert data["buyer"]["name"] == "CV Maju Makmur"
    assert data["totals"] == {
        "net": "750000",
        "tax": "82500",
        "gross": "832500",
        "withholding": None,
        "paid": None,
        "due": None,
    }
    first = data["lines"][0]
    assert (first["description"], first["quantity"], first["unit"]) == (
        "Kertas HVS A4",
        "10",
        "rim",
    )
    assert (first["unit_price"], first["amount"]) == ("50000", "500000")


def test_every_value_carries_its_place_and_a_confidence() -> None:
    data = run(paper(ROWS, TOTALS))

    evidence = data["evidence"]["totals.gross"]
    assert (evidence["page"], evidence["text"]) == (1, "Rp 832.500")
    assert evidence["confidence"] >= 0.9
    assert evidence["box"][0] == pytest.approx(480, abs=1)
    paths = {path for path in data["evidence"] if path.startswith("lines[1]")}
    assert {"lines[1].quantity", "lines[1].unit_price", "lines[1].amount"} <= paths


def test_checks_hold_and_nothing_is_left_to_review_but_what_is_unsure() -> None:
    data = run(paper(ROWS, TOTALS))

    assert data["checks"] == {
        "lines[0].amount": "held",
        "lines[1].amount": "held",
        "lines_net": "held",
        "net_tax_gross": "held",
        "tax_base_rate": "held",
        "gross_due": "not applicable",
    }
    assert not [path for path in data["review"] if path.startswith(("totals", "lines"))]
    assert data["taxes"] == [{"base": "750000", "rate": "11", "amount": "82500"}]


def test_a_broken_sum_is_flagged() -> None:
    wrong = [("Subtotal", "Rp 750.000"), ("PPN 11%", "Rp 82.500"), ("Total", "Rp 999.000")]

    data = run(paper(ROWS, wrong))

    broken = {rule for rule, outcome in data["checks"].items() if outcome == "broken"}
    doubtful = set(data["review"]) & {"totals.net", "totals.tax", "totals.gross"}
    assert broken or doubtful


def test_the_same_input_gives_the_same_result() -> None:
    assert run(paper(ROWS, TOTALS)) == run(paper(ROWS, TOTALS))


def test_pages_without_text_end_with_a_code() -> None:
    with pytest.raises(DocmillError, match="BAD_PDF"):
        run(make_pdf([[]]))


def test_what_cannot_be_opened_ends_with_a_code() -> None:
    with pytest.raises(DocmillError, match="BAD_PDF"):
        run(encrypted_pdf())


def test_words_that_are_no_invoice_give_an_empty_one() -> None:
    data = run(make_pdf([[(72, 72, "Dear reader, nothing is sold here.")]]))

    assert data["invoice_number"] is None
    assert data["lines"] == []
    assert {"invoice_number", "totals.gross", "lines"} <= set(data["review"])


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_the_xml_inside_wins_and_the_page_shows_where() -> None:
    data = run((CORPUS / "invoices_hybrid" / "2a027ac01069.pdf").read_bytes())

    assert (data["source"], data["seller"]["name"]) == ("xml", "Au bon moulin")
    assert data["totals"]["gross"] == "671.15"
    assert data["evidence"]["totals.gross"]["page"] == 1
    assert data["evidence"]["totals.gross"]["box"]


def test_the_owners_profile_stands_in_for_what_is_not_printed_and_stays_with_the_data() -> None:
    told = {"tin": "01.234.567.8-901.000", "trx_code": "01"}
    file = io.BytesIO(paper(ROWS, TOTALS))
    source = Source(file, "a.pdf", PDF, "", "pt_simon_invoice_v1", {"profile": told})
    output = pipeline.run(source, Tools(progress=lambda _percent, _stage: None))
    assert output.artifact is not None
    assert b"<TIN>0012345678901000</TIN>" in output.artifact.content
    assert b"<TrxCode>01</TrxCode>" in output.artifact.content
    assert output.data["profile"] == told
    assert "seller.tax_id" not in output.data["review"]
