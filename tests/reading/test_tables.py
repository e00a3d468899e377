"""Tables with rules and without, on pages written by hand."""

import io
from collections.abc import Sequence

from docmill.core.plugins import PDF
from docmill.reading.blocks import Block, BlockKind, find_blocks
from docmill.reading.documents import open_document
from docmill.reading.tables.model import PageTable
from pdfs import A4, Text, pdf_of, written

Rule = tuple[float, float, float, float]


def blocks(texts: Sequence[Text], rules: Sequence[Rule] = ()) -> list[Block]:
    """The blocks of a page with these texts and drawn lines, measured from the top left."""
    drawn = "".join(f"{x0} {A4[1] - y0} m {x1} {A4[1] - y1} l S\n" for x0, y0, x1, y1 in rules)
    data = pdf_of([drawn.encode() + written(texts, A4[1])])
    with open_document(io.BytesIO(data), PDF) as document:
        (page,) = document.pages
        return find_blocks(page)


def tables(texts: Sequence[Text], rules: Sequence[Rule] = ()) -> list[PageTable]:
    return [block.table for block in blocks(texts, rules) if block.table]


def ruled(xs: Sequence[float], ys: Sequence[float]) -> list[Rule]:
    level = [(xs[0], y, xs[-1], y) for y in ys]
    return [*level, *((x, ys[0], x, ys[-1]) for x in xs)]


def test_rules_make_cells_whatever_the_gaps_between_words() -> None:
    texts = [(75, 95, "Item"), (105, 95, "Qty"), (75, 115, "Nut"), (105, 115, "12")]

    (table,) = tables(texts, ruled([72, 102, 140], [80, 100, 120]))

    assert table.grid == [["Item", "Qty"], ["Nut", "12"]]
    assert table.box.to_list() == [72, 80, 140, 120]


def test_a_cell_reaches_over_the_columns_that_no_rule_parts() -> None:
    rules = [
        (72, 80, 200, 80), (72, 100, 200, 100), (72, 120, 200, 120),
        (72, 80, 72, 120), (200, 80, 200, 120), (136, 100, 136, 120),
    ]  # fmt: skip
    texts = [(75, 95, "Both"), (75, 115, "left"), (140, 115, "right")]

    (table,) = tables(texts, rules)

    assert [(cell.text, cell.column_span) for cell in table.cells] == [
        ("Both", 2),
        ("left", 1),
        ("right", 1),
    ]


def test_rows_without_rules_between_them_are_parted_by_their_lines() -> None:
    texts = [(75, 95, "Item"), (150, 95, "Price")]
    for at in range(4):
        texts += [(75, 120 + 14 * at, f"thing{at}"), (150, 120 + 14 * at, f"{at}.00")]

    (table,) = tables(texts, ruled([72, 140, 200], [80, 100, 180]))

    assert table.rows == 5
    assert table.grid[4] == ["thing3", "3.00"]


def test_a_frame_around_text_is_no_table() -> None:
    assert tables([(80, 95, "Note well")], ruled([72, 200], [80, 120])) == []


def test_columns_without_rules_are_found_by_their_gutters() -> None:
    texts: list[Text] = []
    for at, row in enumerate([("Name", "Town", "Sum"), ("Ann", "Rome", "1"), ("Bob", "Oslo", "2")]):
        texts += [(72 + 120 * column, 100 + 16 * at, word) for column, word in enumerate(row)]

    (table,) = tables(texts)

    assert table.grid == [["Name", "Town", "Sum"], ["Ann", "Rome", "1"], ["Bob", "Oslo", "2"]]


def test_a_cell_that_goes_on_in_the_next_line_stays_one_cell() -> None:
    texts: list[Text] = [(72, 100, "Item"), (300, 100, "Sum")]
    for at in range(3):
        y = 130 + 40 * at
        texts += [(72, y, f"thing {at} that"), (72, y + 11, "goes on"), (300, y, f"{at},00")]

    (table,) = tables(texts)

    assert table.grid[1] == ["thing 0 that goes on", "0,00"]
    assert table.rows == 4


def test_running_text_is_no_table() -> None:
    line = "plain words that run on from one side of the page to the other side of it"

    found = blocks([(72, 100 + 12 * at, line) for at in range(6)])

    assert [block.kind for block in found] == [BlockKind.PARAGRAPH]


def test_headings_paragraphs_and_items_are_told_apart() -> None:
    large = b"BT /F1 18 Tf 1 0 0 1 72 742 Tm (A Large Title) Tj ET\n"
    texts: list[Text] = [
        (72, 140, "This is the first line of a para-"),
        (72, 152, "graph that goes on in the second."),
        (72, 180, "1. Basic Permissions"),
        (72, 208, "- an item"),
        (72, 220, "- another item"),
    ]
    data = pdf_of([large + written(texts, A4[1])])
    with open_document(io.BytesIO(data), PDF) as document:
        found = [block for page in document.pages for block in find_blocks(page)]

    assert [(block.kind, block.text) for block in found] == [
        (BlockKind.HEADING, "A Large Title"),
        (BlockKind.PARAGRAPH, "This is the first line of a paragraph that goes on in the second."),
        (BlockKind.HEADING, "1. Basic Permissions"),
        (BlockKind.LIST_ITEM, "- an item"),
        (BlockKind.LIST_ITEM, "- another item"),
    ]
    assert [block.level for block in found if block.kind is BlockKind.HEADING] == [1, 3]
