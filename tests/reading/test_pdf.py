import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF
from docmill.reading import pdf
from docmill.reading.documents import open_document
from docmill.reading.pages import Page, PagedDocument
from pdfs import (
    encrypted_pdf,
    make_pdf,
    many_page_claim_pdf,
    pdf_of,
    truncated_pdf,
    zero_page_pdf,
)

HELLO = [(100.0, 50.0, "Hello world")]


def read(data: bytes) -> tuple[PagedDocument, list[Page]]:
    with open_document(io.BytesIO(data), PDF) as document:
        return document, list(document.pages)


def ending(data: bytes) -> str:
    try:
        read(data)
    except DocmillError as faulted:
        return faulted.fault.code
    return "read"


def page_of(content: bytes) -> Page:
    _, (page,) = read(pdf_of([content]))
    return page


def test_words_have_boxes_from_the_top_left() -> None:
    _, (page,) = read(make_pdf([HELLO]))
    hello, world = page.words

    assert (hello.text, world.text, page.text) == ("Hello", "world", "Hello world")
    assert (page.width, page.height) == (595, 842)
    assert hello.box.x0 == pytest.approx(100, abs=0.1)
    assert hello.box.y0 < 50 < hello.box.y1 < 55
    assert hello.box.x1 < world.box.x0


@pytest.mark.parametrize(
    ("entries", "size", "corner", "angle"),
    [
        ("/CropBox [50 700 400 842]", (350, 142), (50, 40.5), 0),
        ("/Rotate 90", (842, 595), (789.8, 100), 90),
        ("/Rotate 180", (595, 842), (472.2, 789.8), 180),
        ("/Rotate 270", (842, 595), (40.5, 472.2), 270),
        ("/CropBox [50 700 400 842] /Rotate 90", (142, 350), (89.8, 50), 90),
    ],
)
def test_boxes_are_where_the_cropped_and_turned_page_shows_them(
    entries: str, size: tuple[float, float], corner: tuple[float, float], angle: int
) -> None:
    _, (page,) = read(make_pdf([HELLO], page_entries=entries))
    hello = page.words[0]

    assert (page.width, page.height) == size
    assert (hello.box.x0, hello.box.y0) == pytest.approx(corner, abs=0.1)
    assert (hello.text, hello.angle) == ("Hello", angle)


@pytest.mark.parametrize(
    ("matrix", "angle"), [("0 1 -1 0", 270), ("0 -1 1 0", 90), ("-1 0 0 -1", 180)]
)
def test_turned_text_is_read_in_its_own_direction(matrix: str, angle: int) -> None:
    page = page_of(f"BT /F1 10 Tf {matrix} 300 400 Tm (reads this way) Tj ET".encode())

    assert page.text == "reads this way"
    assert {word.angle for word in page.words} == {angle}


def test_a_watermark_across_the_page_is_one_line_after_the_text() -> None:
    page = page_of(
        b"BT /F1 40 Tf 0.7 0.7 -0.7 0.7 100 300 Tm (DRAFT COPY) Tj"
        b" /F1 10 Tf 1 0 0 1 72 400 Tm (plain text) Tj ET"
    )

    assert [line.text for line in page.lines] == ["plain text", "DRAFT COPY"]


def test_text_drawn_twice_in_one_place_is_read_once() -> None:
    page = page_of(
        b"BT /F1 10 Tf 1 0 0 1 72 400 Tm (Total) Tj 1 0 0 1 72 300 Tm (other) Tj"
        b" 1 0 0 1 72.4 400.3 Tm (Total) Tj ET"
    )

    assert page.text == "Total\nother"


def test_text_outside_the_page_is_left_out() -> None:
    page = page_of(b"BT /F1 10 Tf 1 0 0 1 -200 400 Tm (gone) Tj 1 0 0 1 72 400 Tm (here) Tj ET")

    assert page.text == "here"


def test_a_space_that_is_only_a_gap_parts_words() -> None:
    page = page_of(b"BT /F1 10 Tf 1 0 0 1 72 400 Tm (no) Tj 1 0 0 1 86 400 Tm (space) Tj ET")

    assert page.text == "no space"


def test_spaced_out_letters_are_one_word() -> None:
    assert page_of(b"BT /F1 10 Tf 4 Tc 1 0 0 1 72 400 Tm (INVOICE) Tj ET").text == "INVOICE"


def test_filled_in_form_fields_are_read() -> None:
    look = "/Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << /Font << /F1 3 0 R >> >>"
    content = b"BT /F1 10 Tf 2 5 Td (filled in) Tj ET"
    annotation = (
        "/Type /Annot /Subtype /Widget /FT /Tx /F 4 /Rect [72 400 172 420] /AP << /N 6 0 R >>"
    )
    data = pdf_of([content], page_entries=f"/Annots [<< {annotation} >>]")
    length = b"<< /Length %d " % len(content)
    data = data.replace(length, length + look.encode()).replace(b"/Contents 6 0 R", b"")
    _, (page,) = read(data)

    assert page.text == "filled in"


def test_metadata_is_plain_and_its_dates_are_iso() -> None:
    facts = {"Title": "Offer 7", "Author": "Ann", "CreationDate": "D:20240131120000+01'00'"}
    document, _ = read(make_pdf([HELLO], info=facts))

    assert document.metadata == {
        "title": "Offer 7",
        "author": "Ann",
        "created": "2024-01-31T12:00:00+01:00",
    }


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("D:20240131", "2024-01-31"),
        ("D:20240131120000Z", "2024-01-31T12:00:00Z"),
        ("20240131120000", "2024-01-31T12:00:00"),
        ("last Tuesday", "last Tuesday"),
    ],
)
def test_dates_are_turned_as_far_as_they_go(written: str, iso: str) -> None:
    assert pdf.iso_date(written) == iso


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (encrypted_pdf(), "encrypted"),
        (zero_page_pdf(), "no pages"),
        (truncated_pdf(), "truncated"),
        (b"", "not a PDF"),
        (b"hello", "not a PDF"),
        (make_pdf([HELLO], size=(60_000, 60_000)), "measures"),
    ],
)
def test_what_holds_nothing_to_read_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(DocmillError, match=f"BAD_PDF: .*{why}"):
        read(data)


@pytest.mark.parametrize(
    ("data", "count"), [(many_page_claim_pdf(), 1_000_000), (make_pdf([HELLO] * 2001), 2001)]
)
def test_too_many_pages_are_called_that_and_not_damage(data: bytes, count: int) -> None:
    with pytest.raises(DocmillError, match=f"TOO_MANY_PAGES: it claims {count} pages") as caught:
        read(data)
    assert caught.value.fault.says == "This PDF has too many pages"


def test_pages_that_do_not_load_are_named_and_the_others_kept() -> None:
    data = make_pdf([HELLO, HELLO, HELLO]).replace(
        b"7 0 obj\n<< /Type /Page ", b"7 0 obj\n[ /Type /Page "
    )
    document, pages = read(data)

    assert [page.number for page in pages] == [1, 3]
    assert document.warnings == ["page 2 can't be read"]


def test_a_file_of_which_no_page_loads_is_refused() -> None:
    data = make_pdf([HELLO]).replace(b"5 0 obj\n<< /Type /Page ", b"5 0 obj\n[ /Type /Page ")

    with pytest.raises(DocmillError, match="BAD_PDF: none of its 1 pages loads"):
        read(data)


def test_more_characters_than_we_take_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_PAGE_CHARS", 5)

    with pytest.raises(DocmillError, match="too many characters"):
        read(make_pdf([HELLO]))


def test_a_document_is_read_page_by_page() -> None:
    with open_document(io.BytesIO(make_pdf([HELLO] * 50)), PDF) as document:
        first = next(document.pages)

        assert (document.page_count, first.number) == (50, 1)


@given(st.integers(0, 2000), st.binary(min_size=1, max_size=4))
def test_bytes_changed_anywhere_are_read_or_refused_with_a_code(place: int, junk: bytes) -> None:
    data = bytearray(make_pdf([HELLO, HELLO]))
    place %= len(data)
    data[place : place + len(junk)] = junk

    assert ending(bytes(data)) in {"read", "BAD_PDF"}
