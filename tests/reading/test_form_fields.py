"""Filled-in forms whose values only the viewer draws."""

import io

import pytest

from docmill.core.plugins import PDF
from docmill.reading.documents import open_document
from docmill.reading.pages import Page
from pdfs import assemble, stream, written

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def form(*entries: str) -> bytes:
    """A page with the words `Total due` and a field beside them, with these entries."""
    field = f"<< /Type /Annot /Subtype /Widget /Rect [200 730 320 750] {' '.join(entries)} >>"
    fonts = "/Resources << /Font << /F1 5 0 R >> >>"
    return assemble(
        [
            b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] >> >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R {fonts}"
            " /Annots [6 0 R] >>".encode(),
            stream(written([(100.0, 105.0, "Total due")], 842)),
            FONT,
            field.encode(),
        ]
    )


def read(data: bytes) -> Page:
    with open_document(io.BytesIO(data), PDF) as document:
        (page,) = document.pages
    return page


def test_a_value_that_is_not_drawn_is_read_where_its_field_stands() -> None:
    page = read(form("/FT /Tx /T (total) /V (1,424.96 Euro)"))

    assert page.text.split() == ["Total", "due", "1,424.96", "Euro"]
    amount = next(word for word in page.words if word.text == "1,424.96")
    assert 200 <= amount.box.x0 < amount.box.x1 <= 320
    assert 842 - 750 <= amount.box.y0 < amount.box.y1 <= 842 - 730


def test_the_lines_of_a_field_stand_one_under_the_other() -> None:
    page = read(form("/FT /Tx /T (address) /V (Via Torino 40\\nMilano)"))
    places = {word.text: word.box for word in page.words}

    assert places["Torino"].middle < places["Milano"].middle
    assert places["Via"].x0 == pytest.approx(places["Milano"].x0)


@pytest.mark.parametrize(
    "entries",
    [
        ("/FT /Btn /T (agreed) /V /Yes",),
        ("/FT /Tx /T (secret) /V (hidden)", "/F 2"),
        ("/FT /Tx /T (empty) /V ()",),
        ("/FT /Tx /T (none)",),
    ],
    ids=["a button", "hidden", "empty", "without a value"],
)
def test_what_a_viewer_does_not_show_as_text_is_no_word(entries: tuple[str, ...]) -> None:
    assert read(form(*entries)).text == "Total due"
