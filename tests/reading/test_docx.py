import io
import itertools
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.faults import DocmillError
from docmill.core.plugins import DOCX
from docmill.reading import docx
from docmill.reading.blocks import find_blocks
from docmill.reading.documents import open_document
from docmill.reading.pages import Page, PagedDocument

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
CORE = (
    '<c:coreProperties xmlns:c="urn:core" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>Offer</dc:title><dc:creator>Ann</dc:creator></c:coreProperties>"
)


def make_docx(body: str, **parts: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "word/document.xml", f"<w:document {W} {MC}><w:body>{body}</w:body></w:document>"
        )
        for name, text in parts.items():
            archive.writestr(name.replace("__", "/") + ".xml", text)
    return buffer.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows: list[str]) -> str:
    cells = ["".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in row) for row in rows]
    return "<w:tbl>" + "".join(f"<w:tr><w:trPr/>{row}</w:tr>" for row in cells) + "</w:tbl>"


def read(data: bytes) -> tuple[PagedDocument, list[Page]]:
    with open_document(io.BytesIO(data), DOCX) as document:
        return document, list(document.pages)


def ending(data: bytes) -> str:
    try:
        read(data)
    except DocmillError as faulted:
        return faulted.fault.code
    return "read"


def test_paragraphs_and_table_rows_are_lines() -> None:
    _, (page,) = read(make_docx(paragraph("Offer 17") + table(["Item", "Price"], ["Tea", "2.50"])))

    assert [[cell.text for cell in line.cells] for line in page.lines] == [
        ["Offer 17"],
        ["Item", "Price"],
        ["Tea", "2.50"],
    ]
    assert page.flow


def test_each_paragraph_is_a_part_of_its_own() -> None:
    _, (page,) = read(make_docx(paragraph("It is one thing.") + paragraph("It is another.")))

    assert [block.text for block in find_blocks(page)] == ["It is one thing.", "It is another."]


def test_cells_of_one_column_start_at_one_place() -> None:
    _, (page,) = read(make_docx(table(["A", "Price"], ["Something longer", "2.50"])))

    first, second = (line.cells[1].box.x0 for line in page.lines)
    assert first == second


def test_pages_end_where_word_ended_them() -> None:
    hard = '<w:p><w:r><w:t>one</w:t><w:br w:type="page"/></w:r></w:p>'
    soft = "<w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>"
    document, pages = read(make_docx(hard + soft))

    assert [page.text for page in pages] == ["one", "two"]
    assert document.page_count == 2


def test_text_given_twice_for_old_readers_is_read_once() -> None:
    choice = (
        f"<mc:Choice>{paragraph('box')}</mc:Choice><mc:Fallback>{paragraph('box')}</mc:Fallback>"
    )
    _, (page,) = read(
        make_docx(f"<w:p><w:r><mc:AlternateContent>{choice}</mc:AlternateContent></w:r></w:p>")
    )

    assert page.text == "box"


def test_headers_footers_and_properties_are_read() -> None:
    head = f"<w:hdr {W}>{paragraph('Acme')}</w:hdr>"
    foot = f"<w:ftr {W}>{paragraph('Bank: 12')}</w:ftr>"
    data = make_docx(paragraph("Text"), word__header1=head, word__footer1=foot, docProps__core=CORE)
    document, (page,) = read(data)

    assert page.text == "Acme\nText\nBank: 12"
    assert document.metadata == {"title": "Offer", "author": "Ann"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 not really",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 a locked document is no zip",
        make_docx(paragraph("text"))[:-40],
        make_docx("<w:p>"),
        make_docx(""),
    ],
)
def test_damaged_locked_and_blank_documents_are_refused(data: bytes) -> None:
    with pytest.raises(DocmillError, match="BAD_FILE"):
        read(data)


def test_an_entity_bomb_is_refused() -> None:
    names = "abcdefghij"
    entities = '<!ENTITY a "lol">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in itertools.pairwise(names)
    )
    bomb = (
        f"<!DOCTYPE x [{entities}]><w:document {W}><w:body>{paragraph('&j;')}</w:body></w:document>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", bomb)

    with pytest.raises(DocmillError, match="BAD_FILE"):
        read(buffer.getvalue())


def test_a_part_that_unpacks_to_too_much_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "MAX_PART_BYTES", 1000)

    with pytest.raises(DocmillError, match="unpacks to"):
        read(make_docx(paragraph(" " * 2000)))


@given(st.integers(0, 600), st.integers(0, 255))
def test_a_byte_changed_anywhere_is_read_or_refused_with_a_code(place: int, value: int) -> None:
    data = bytearray(make_docx(paragraph("Some text") + table(["a", "b"])))
    data[place % len(data)] = value

    assert ending(bytes(data)) in {"read", "BAD_FILE"}
