"""`auto` tells by its content what a document is, reads it so, and says why."""

import io

import pytest

from docmill.auto.pipeline import find_readers, pipeline
from docmill.core.faults import DocmillError
from docmill.core.plugins import AUTO, PDF, HasMappings, Output, Pipeline, Source, Tools, WarmsUp
from eval.pdf import make_pdf
from eval.score_auto import draw_text
from invoice_pdfs import paper
from notes import note
from pdfs import encrypted_pdf
from tests.invoices.test_pipeline import ROWS, TOTALS

NOTE = note(
    "Contract note",
    "We have bought for you",
    "Trade date  14 March 2025",
    "Security  Example Holdings  ISIN US0378331005",
    "Quantity  10 shares",
    "Price  USD 172.50",
    "Consideration  USD 1,725.00",
)
LETTER = draw_text(
    "Dear Ms Onwood,\n\nthank you for your letter. We meet on Monday.\n\nYours, J. Pell"
)


def read(document: bytes, **given: object) -> Output:
    source = Source(io.BytesIO(document), "a.pdf", PDF, **given)  # pyright: ignore[reportArgumentType]
    return pipeline.run(source, Tools(progress=lambda _percent, _stage: None))


def test_it_keeps_the_contract() -> None:
    assert isinstance(pipeline, Pipeline)
    assert isinstance(pipeline, WarmsUp)
    assert isinstance(pipeline, HasMappings)
    assert pipeline.mappings[0] == "auto"
    assert AUTO not in {one.name for one in find_readers()}


def test_an_invoice_is_read_as_one_and_written() -> None:
    output = read(paper(ROWS, TOTALS), mapping="auto")
    assert output.pipeline == "invoice"
    assert output.decision.startswith("Read as an invoice: ")
    assert output.data["totals"]["gross"] == "832500"
    assert output.mapping == "pt_simon_invoice_v1"
    assert output.artifact is not None


def test_a_trade_note_is_read_as_one() -> None:
    output = read(NOTE, mapping="auto")
    assert output.pipeline == "trades"
    assert "names a security by its number" in output.decision
    assert [trade["isin"] for trade in output.data["trades"]] == ["US0378331005"]


def test_each_page_that_it_looks_at_is_told() -> None:
    """A page that is a picture takes seconds: nobody shall wait for the last at 0 %."""
    told: list[tuple[int, str]] = []
    pages = make_pdf([[(50, 50, "Dear Ms Onwood, we meet on Monday.")]] * 8)
    tools = Tools(progress=lambda percent, stage: told.append((percent, stage)))
    pipeline.run(Source(io.BytesIO(pages), "a.pdf", PDF), tools)
    looked_at = [(6, "page 1 of 8"), (12, "page 2 of 8"), (18, "page 3 of 8"), (25, "page 4 of 8")]
    assert told[:4] == looked_at


def test_anything_else_is_read_as_a_document() -> None:
    output = read(LETTER, mapping="auto")
    assert output.pipeline == "extract"
    assert output.data["pages"][0]["text"].startswith("Dear Ms Onwood")


def test_each_reading_gets_the_options_of_its_own_pipeline() -> None:
    output = read(NOTE, options={"by_pipeline": {"trades": {"review_threshold": 1.0}}})
    assert output.data["review_threshold"] == 1.0


def test_what_is_read_elsewhere_is_only_told() -> None:
    output = read(paper(ROWS, TOTALS), options={"elsewhere": ["invoice"]})
    assert (output.pipeline, dict(output.data)) == ("invoice", {})


def test_what_cannot_be_opened_says_why() -> None:
    with pytest.raises(DocmillError) as caught:
        read(encrypted_pdf())
    assert caught.value.reason == "It is locked with a password."
