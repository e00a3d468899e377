"""What the bytes of a PDF tell about its length while they pass by."""

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.documents import GuessedPages
from docmill.documents.sketch import HEADER_WITHIN, REACH, PdfSketch
from eval.pdf import make_pdf
from eval.scans import picture_pdf, scanned

PRINTED = make_pdf([[(50, 50, f"page {number}")] for number in range(12)])
SCANNED = scanned(PRINTED)


def look_at(data: bytes, step: int = 1 << 20) -> GuessedPages:
    sketch = PdfSketch()
    for begin in range(0, len(data), step):
        sketch.update(data[begin : begin + step])
    return sketch.finish()


def test_printed_pages_are_counted() -> None:
    assert look_at(PRINTED) == GuessedPages(12, 0)


def test_pages_that_are_nothing_but_pictures_are_scans() -> None:
    assert look_at(SCANNED) == GuessedPages(12, 12)


def test_small_pictures_are_no_scan() -> None:
    stamp = np.zeros((60, 60), np.uint8)
    assert look_at(picture_pdf([stamp, stamp])) == GuessedPages(2, 0)


@given(st.integers(1024, 9000))
def test_it_does_not_matter_how_the_bytes_are_cut(step: int) -> None:
    assert look_at(PRINTED, step) == GuessedPages(12, 0)
    assert look_at(SCANNED, step) == GuessedPages(12, 12)


def test_pages_in_packed_objects_are_not_known_but_their_pictures_are() -> None:
    hidden = zlib.compress(b"<< /Type /Page >>")
    image = b"4 0 obj << /Subtype /Image /Width 1000 /Height 1400 >> stream\nendstream endobj\n"
    packed = b"%PDF-1.5\n1 0 obj << /Type /ObjStm >> stream\n" + hidden + b"\nendstream endobj\n"
    assert look_at(packed) == GuessedPages(None, 0)
    assert look_at(packed + 3 * image) == GuessedPages(3, 3)
    assert look_at(packed + image + b"<< /Length1 9 >>") == GuessedPages(None, 0), "it has a font"


def test_a_file_made_for_the_web_says_how_many_pages_it_has() -> None:
    head = b"%PDF-1.5\n1 0 obj << /Linearized 1 /L 9999 /H [ 1 2 ] /O 3 /E 4 /N 31 /T 5 >> endobj\n"
    assert look_at(head + b"/Length1") == GuessedPages(31, 0)


@given(st.binary(max_size=3 * REACH))
def test_no_bytes_break_it_and_what_is_no_pdf_has_no_pages(data: bytes) -> None:
    assert look_at(b"PK\x03\x04" + bytes(HEADER_WITHIN) + PRINTED) == GuessedPages()
    look_at(b"%PDF-1.7\n" + data + b"/Type/Page/Subtype/Image" + data, step=1024)
