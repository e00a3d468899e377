import io
import json
from pathlib import Path
from typing import Any

import pytest

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, TEXT, Pipeline, Source, Tools
from docmill.extract.pipeline import pipeline
from pdfs import encrypted_pdf, make_pdf

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def run(data: bytes, content_type: str = PDF, steps: list[tuple[int, str]] | None = None) -> Any:
    heard: list[tuple[int, str]] = [] if steps is None else steps
    tools = Tools(progress=lambda percent, stage: heard.append((percent, stage)))
    output = pipeline.run(Source(io.BytesIO(data), "a file", content_type), tools)
    return json.loads(json.dumps(output.data))


def test_it_keeps_the_contract() -> None:
    assert isinstance(pipeline, Pipeline)
    assert (pipeline.name, pipeline.version) == ("extract", "3")
    assert pipeline.accepts == (PDF,)


def test_it_gives_text_lines_fields_and_facts() -> None:
    data = run(make_pdf([[(72, 72, "Invoice No: INV-17")]], info={"Title": "Bill"}))

    assert data["pipeline"] == "extract"
    assert data["metadata"] == {"title": "Bill", "page_count": 1}
    assert data["word_count"] == 3
    (page,) = data["pages"]
    assert (page["number"], page["text"]) == (1, "Invoice No: INV-17")
    assert len(page["lines"][0]["box"]) == 4
    (field,) = data["fields"]
    assert (field["label"], field["value"]) == ("Invoice No", "INV-17")
    assert (field["type"], field["page"], field["confidence"]) == ("id", 1, 0.95)
    assert field["label_box"][2] <= field["box"][0]


def test_progress_only_grows_and_names_the_page() -> None:
    steps: list[tuple[int, str]] = []
    run(make_pdf([[(72, 72, "text")]] * 12), steps=steps)

    assert [percent for percent, _ in steps] == sorted(percent for percent, _ in steps)
    assert steps[2] == (25, "page 3 of 12")
    assert steps[-1] == (100, "12 of 12 pages read")


def test_the_same_input_gives_the_same_result() -> None:
    data = make_pdf([[(72, 72, "Total: 5.00"), (300, 72, "Date 2024-01-31")]] * 3)

    assert run(data) == run(data)


def test_pages_without_text_are_named() -> None:
    assert run(make_pdf([[(72, 72, "text")], []]))["warnings"] == ["page 2 has no text"]


def test_plain_text_has_fields_but_no_boxes() -> None:
    data = run(b"Order No: 4711\nTotal      12.50 EUR", TEXT)

    assert [(field["label"], field["value"], field["box"]) for field in data["fields"]] == [
        ("Order No", "4711", None),
        ("Total", "12.50 EUR", None),
    ]


def test_what_cannot_be_read_ends_with_a_code() -> None:
    with pytest.raises(DocmillError, match="BAD_PDF"):
        run(encrypted_pdf())


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not on this machine")
def test_a_real_invoice_gives_its_number_and_its_total() -> None:
    data = run((CORPUS / "invoices" / "e340194b514e.pdf").read_bytes())
    values = {(field["label"], field["value"]) for field in data["fields"]}

    assert ("FACTURE N°", "F20260023") in values
    assert ("NET A PAYER", "104,90 EUR") in values
