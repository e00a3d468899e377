"""The original PDF with the invoice as XML inside."""

import io

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, Stream, String

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


def drawn(content: bytes, **more: pikepdf.Object) -> bytes:
    """A page that is drawn without any font."""
    with pikepdf.new() as pdf:
        page = pdf.add_blank_page(page_size=(300, 300))
        page.Contents = Stream(pdf, content)
        for name, value in more.items():
            page.obj[f"/{name}"] = value
        out = io.BytesIO()
        pdf.save(out)
        return out.getvalue()


def metadata_of(document: bytes) -> bytes:
    with pikepdf.open(io.BytesIO(document)) as pdf:
        return pdf.Root.Metadata.read_bytes()


CLAIM = b"<pdfaid:part>3</pdfaid:part>"


def test_the_file_says_that_it_is_pdf_a_3_and_what_is_inside() -> None:
    plain = drawn(b"0 0 1 rg 10 10 100 100 re f")
    made = writer.run(Source(io.BytesIO(plain), "a", PDF, options={"xml": "<a/>"}), TOOLS)
    assert made.artifact is not None
    with pikepdf.open(io.BytesIO(made.artifact.content)) as pdf:
        root = pdf.Root
        assert root.AF[0].AFRelationship == "/Alternative"
        assert root.AF[0].EF.F.Subtype == "/text/xml"
        assert root.OutputIntents[0].S == "/GTS_PDFA1"
        assert root.OutputIntents[0].DestOutputProfile.read_bytes() == make_srgb_profile()
        assert "/OpenAction" not in root
        assert "/ID" in pdf.trailer
        assert pdf.pdf_version == "1.7"
    metadata = metadata_of(made.artifact.content)
    assert CLAIM in metadata
    assert b"factur-x.xml" in metadata


@pytest.mark.parametrize(
    "document",
    [paper(ROWS, TOTALS), drawn(b"0 0 0 1 k 10 10 100 100 re f")],
    ids=["a font that is not embedded", "a colour of CMYK"],
)
def test_a_file_that_cannot_be_pdf_a_does_not_say_that_it_is(document: bytes) -> None:
    made = embed_invoice(document, b"<a/>")
    assert CLAIM not in metadata_of(made)
    assert b"factur-x.xml" in metadata_of(made)
    assert read_attachments(made) == [("factur-x.xml", b"<a/>")]


def test_what_runs_is_taken_out_and_links_stay() -> None:
    script = Dictionary(S=Name.JavaScript, JS=String("app.alert(1)"))
    link = Dictionary(S=Name.URI, URI=String("https://example.com"))
    notes = [
        Dictionary(Type=Name.Annot, Subtype=Name.Link, Rect=Array([0, 0, 9, 9]), A=action)
        for action in (script, link)
    ]
    made = embed_invoice(drawn(b"", Annots=Array(notes)), b"<a/>")
    with pikepdf.open(io.BytesIO(made)) as pdf:
        first, second = pdf.pages[0].Annots
        assert "/A" not in first
        assert second.A.S == "/URI"
        assert second.F == 4
    assert CLAIM in metadata_of(made)


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
