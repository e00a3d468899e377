import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.faults import DocmillError
from docmill.core.plugins import TEXT
from docmill.reading.blocks import BlockKind, find_blocks
from docmill.reading.documents import open_document
from docmill.reading.pages import Page


def read(data: bytes) -> list[Page]:
    with open_document(io.BytesIO(data), TEXT) as document:
        pages = list(document.pages)
        assert document.page_count == len(pages)
    return pages


def text_or_code(data: bytes) -> str:
    try:
        return "".join(word.text for page in read(data) for word in page.words)
    except DocmillError as faulted:
        return faulted.fault.code


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_read_cleanly_or_refused_with_a_code(data: bytes) -> None:
    text = text_or_code(data)

    assert not [char for char in text if unicodedata.category(char) in {"Cc", "Cs"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_text_is_read_in_the_encodings_people_send(encoding: str) -> None:
    assert read("Größe: 5 €".encode(encoding))[0].text == "Größe: 5 €"


def test_a_form_feed_starts_a_page() -> None:
    assert [page.text for page in read(b"one\ntwo\fthree")] == ["one\ntwo", "three"]


def test_a_long_text_is_cut_into_pages() -> None:
    pages = read(b"line\n" * 150)

    assert [len(page.lines) for page in pages] == [60, 60, 30]


def test_a_very_long_line_is_cut() -> None:
    pages = read(b"word " * 60_000)

    assert max(len(line.text) for page in pages for line in page.lines) <= 2000
    assert sum(len(page.words) for page in pages) == 60_000


def test_columns_made_with_spaces_or_tabs_are_cells() -> None:
    (page,) = read(b"Total due     12.50\nDate\t2024-01-31")

    assert [[cell.text for cell in line.cells] for line in page.lines] == [
        ["Total due", "12.50"],
        ["Date", "2024-01-31"],
    ]


@pytest.mark.parametrize("data", [b"", b"  \n\t\n", b"\x00\x01\x02binary"])
def test_blank_and_binary_files_are_refused(data: bytes) -> None:
    with pytest.raises(DocmillError, match="BAD_FILE"):
        read(data)


def test_a_line_of_marks_makes_the_line_above_a_heading() -> None:
    text = (
        b"Naming\n******\n\nScopes\n======\nA scope is seen.\n\n1 item\n5 items\n\n-----\nA rule."
    )
    (page,) = read(text)

    blocks = find_blocks(page)
    found = [(block.text, block.level) for block in blocks if block.kind is BlockKind.HEADING]
    assert found == [("Naming", 1), ("Scopes", 2)]
    assert [block.text for block in blocks][2] == "A scope is seen."


def test_blank_lines_part_paragraphs_also_where_there_is_one_after_every_line() -> None:
    (page,) = read(b"CHAPTER 8. The Pulpit.\n\nHe went up.\n\nNobody could follow.\n")

    assert [(block.kind, block.text) for block in find_blocks(page)] == [
        (BlockKind.HEADING, "CHAPTER 8. The Pulpit."),
        (BlockKind.PARAGRAPH, "He went up."),
        (BlockKind.PARAGRAPH, "Nobody could follow."),
    ]


def test_a_page_ends_at_a_blank_line_near_its_foot() -> None:
    first, second = read(b"line\n" * 50 + b"\n" + b"more\n" * 30)

    assert {line.text for line in first.lines} == {"line"}
    assert {line.text for line in second.lines} == {"more"}
