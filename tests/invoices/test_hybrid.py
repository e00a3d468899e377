"""The original PDF with the invoice as XML inside."""

import io

import pikepdf
import pytest

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices import formats
from docmill.invoices.hybrid import embed_invoice, make_srgb_profile, writer
from docmill.invoices.pipeline import pipeline
from docmill.reading.pdf import read_attachments
from invoice_pdfs import paper, run
from pdfs import encrypted_pdf
from tests.invoices.test_pipeline import ROWS, TOTALS

TOOLS = Tools(progress=lambda _percent, _stage: None)


def written() -> tuple[bytes, bytes]:
    document = paper(ROWS, TOTALS)
    data = pipeline.run(Source(io.BytesIO(document), "a", PDF), TOOLS).data
    return document, formats.emit(formats.load("cii_invoice_v1"), data).xml


def test_the_xml_is_inside_and_the_page_is_as_before() -> None:
    document, xml = written()
    made = embed_invoice(document, xml)
    assert read_attachments(made) == [("factur-x.xml", xml)]
    again = run(made)
    assert again["source"] == "xml"
    first = run(document)
    assert {name: again["totals"][name] for name in ("net", "tax", "gross")} == {
        name: f"{first['totals'][name]}.00" for name in ("net", "tax", "gross")
    }
    assert again["differences"] == []


def test_the_file_says_that_it_is_pdf_a_3_and_what_is_inside() -> None:
    made = writer.run(Source(io.BytesIO(written()[0]), "a", PDF, options={"xml": "<a/>"}), TOOLS)
    assert made.artifact is not None
    with pikepdf.open(io.BytesIO(made.artifact.content)) as pdf:
        root = pdf.Root
        assert root.AF[0].AFRelationship == "/Alternative"
        assert root.OutputIntents[0].S == "/GTS_PDFA1"
        metadata = root.Metadata.read_bytes()
        assert b"<pdfaid:part>3</pdfaid:part>" in metadata
        assert b"factur-x.xml" in metadata
        assert "/OpenAction" not in root
        assert "/ID" in pdf.trailer


def test_the_same_document_gives_the_same_file() -> None:
    document, xml = written()
    assert embed_invoice(document, xml) == embed_invoice(document, xml)


def test_a_colour_profile_says_how_long_it_is() -> None:
    profile = make_srgb_profile()
    assert int.from_bytes(profile[:4], "big") == len(profile)
    assert profile[36:40] == b"acsp"


@pytest.mark.parametrize("document", [encrypted_pdf(), b"no pdf"])
def test_what_cannot_be_written_again_is_refused_with_a_reason(document: bytes) -> None:
    with pytest.raises(DocmillError) as caught:
        embed_invoice(document, b"<a/>")
    assert caught.value.fault.code == "BAD_PDF"
    assert caught.value.reason
