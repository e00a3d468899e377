import io

import pytest

from docmill.core import installed
from docmill.core.plugins import PDF, Source, Tools
from docmill.reading.documents import open_document
from docmill.reading.order import join_initials
from docmill.reading.pages import Box, Page, Word
from eval.pdf import A4, pdf_of
from pdfs import Text, written


def content(*texts: Text, size: float = 24, spacing: float = 0) -> bytes:
    return b"%g Tc\n" % spacing + written(texts, A4[1], size)


def read(*contents: bytes) -> Page:
    with open_document(io.BytesIO(pdf_of([b"\n".join(contents)])), PDF) as document:
        return next(document.pages)


def lines(*contents: bytes) -> list[str]:
    return [line.text for line in read(*contents).lines]


@pytest.mark.parametrize("heading", ["I N V O I C E", "F A C T U R A", "R E C H N U N G"])
@pytest.mark.parametrize("name", ["invoice", "extract", "trades", "study"])
def test_a_heading_in_large_spaced_letters_does_not_stop_the_reading(
    heading: str, name: str
) -> None:
    body = content((50, 150, "Invoice number 17 of 3 March 2025, total 12.50 EUR"), size=10)
    file = io.BytesIO(pdf_of([content((50, 80, heading)) + b"\n" + body]))
    reader = installed.load_pipeline(name)

    assert reader.run(Source(file, "a.pdf", PDF), Tools(lambda _percent, _stage: None)).data


@pytest.mark.parametrize(
    ("spaced", "plain"),
    [
        ("I N V O I C E", "INVOICE"),
        ("F A C T U R A   N r .", "FACTURA Nr."),
        ("R e c h n u n g  4 7 1 1", "Rechnung 4711"),
        ("R E C H N U N G / L I E F E R S C H E I N", "RECHNUNG/LIEFERSCHEIN"),
        ("F a k t u r a  n \xfa m .  1 2 / 7", "Faktura núm. 12/7"),
        ("I N V O I C E 2 0 2 5", "INVOICE 2025"),
    ],
)
@pytest.mark.parametrize("size", [9, 24])
def test_spaced_letters_are_read_as_words(spaced: str, plain: str, size: float) -> None:
    assert lines(content((50, 80, spaced), size=size)) == [plain]


@pytest.mark.parametrize("spacing", [2, 8, 16, 20])
def test_it_does_not_matter_whether_spaces_or_the_font_part_the_letters(spacing: float) -> None:
    assert lines(content((50, 80, "INVOICE No. 4711"), spacing=spacing)) == ["INVOICE No. 4711"]


def test_a_spaced_word_has_the_box_around_its_letters() -> None:
    (word,) = read(content((50, 80, "I N V O I C E"))).words

    assert (word.box.x0, word.box.x1) == pytest.approx((50, 188.7), abs=0.5)
    assert word.box.y0 < 80 < word.box.y1


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_spaced_letters_of_turned_text_are_joined(angle: int) -> None:
    matrix = {90: b"0 -1 1 0 100 700", 180: b"-1 0 0 -1 500 700", 270: b"0 1 -1 0 100 200"}
    (word,) = read(b"BT /F1 20 Tf %s Tm (I N V O I C E) Tj ET" % matrix[angle]).words

    assert (word.text, word.angle) == ("INVOICE", angle)


def test_whole_words_beside_spaced_ones_stay_as_they_are() -> None:
    page = read(content((50, 80, "F A C T U R A"), (250, 80, "No. 17 de marzo")))

    assert [word.text for word in page.words] == ["FACTURA", "No.", "17", "de", "marzo"]


@pytest.mark.parametrize(
    "text",
    [
        "A B C D E F",
        "a b c d e f",
        "J. R. R. Smith",
        "J R R Tolkien",
        "1 2 3 4 5 6 7",
        "Vitamins A D E K and more",
        "X X X O X X",
        "Y N Y N N Y",
        "M T W T F S S",
        "J F M A M J J A S O N D",
        "b d a c",
        "U S A",
        "1 / 12",
    ],
)
def test_lists_initials_ratings_and_days_are_not_joined(text: str) -> None:
    assert lines(content((50, 80, text), size=10)) == [text]


@pytest.mark.parametrize(("size", "pitch"), [(24, 40.0), (10, 18.0), (10, 60.0)])
def test_letters_in_columns_are_not_joined(size: float, pitch: float) -> None:
    wide = [(50.0 + pitch * at, 80.0, letter) for at, letter in enumerate("BECAFO")]

    assert lines(content(*wide, size=size)) == ["B E C A F O"]


def test_a_narrow_table_of_letters_is_not_joined() -> None:
    rows = ["BEACFO", "AEBOCU", "COFEAB", "EABCOF"]
    table = [
        (50.0 + 12 * at, 80.0 + 14 * row, letter)
        for row, letters in enumerate(rows)
        for at, letter in enumerate(letters)
    ]

    assert lines(content(*table, size=10)) == [" ".join(row) for row in rows]


def test_of_many_large_letters_each_stays_once() -> None:
    letters = [Word(char, Box(50 + 20 * at, 50, 60 + 20 * at, 90)) for at, char in enumerate("NVC")]
    small = [Word("text", Box(50 + 30 * at, 100, 75 + 30 * at, 110)) for at in range(9)]
    touching = [
        Word(char, Box(300 + 10 * at, 50, 310 + 10 * at, 90)) for at, char in enumerate("QRST")
    ]

    found = join_initials([*letters, *touching, *small])

    assert sorted(word.text for word in found) == sorted([*"NVC", *"QRST", *["text"] * 9])
