"""What is a table and what only looks like one, and the parts of a page, with their words as given.

Pages are made of words with boxes: 6 points a letter, 10 points high.
"""

import io
from collections.abc import Iterator, Sequence

from docmill.core.plugins import PDF
from docmill.reading.blocks import Block, BlockKind, find_blocks
from docmill.reading.documents import open_document
from docmill.reading.order import order_lines
from docmill.reading.pages import Box, Page, Word
from docmill.reading.tables.model import PageTable
from pdfs import A4, pdf_of, written

SIZE = (600.0, 800.0)
Text = tuple[float, float, str]


def words(texts: Sequence[Text], *, bold: bool = False) -> list[Word]:
    return [
        Word(word, Box(left, y, left + 6 * len(word), y + 10), bold=bold)
        for x, y, text in texts
        for left, word in placed(x, text)
    ]


def placed(x: float, text: str) -> Iterator[tuple[float, str]]:
    for word in text.split():
        yield x, word
        x += 6 * len(word) + 3


def page_of(found: Sequence[Word], rules: Sequence[float] = ()) -> Page:
    drawn = tuple(Box(50, y, 450, y) for y in rules)
    return Page(1, *SIZE, order_lines(found, SIZE), rules=drawn)


def blocks(texts: Sequence[Text], rules: Sequence[float] = ()) -> list[Block]:
    return find_blocks(page_of(words(texts), rules))


def table(texts: Sequence[Text], rules: Sequence[float] = ()) -> PageTable:
    (found,) = (block.table for block in blocks(texts, rules) if block.table)
    return found


def grid(*rows: tuple[float, Sequence[str]], columns: Sequence[float]) -> list[Text]:
    return [
        (x, y, text) for y, texts in rows for x, text in zip(columns, texts, strict=True) if text
    ]


FIGURES = [
    (130, ["Rome", "1,200", "88", "9", "14"]),
    (146, ["Oslo", "310", "1,702", "7", "212"]),
    (162, ["Bonn", "45", "66", "5,000", "3"]),
]
COLUMNS = [50, 150, 230, 310, 390]


def test_a_head_reaches_over_the_columns_it_is_centred_on() -> None:
    names = (114, ["Town", "Land", "Sea", "Land", "Sea"])
    texts = grid(names, *FIGURES, columns=COLUMNS)

    found = table([(180, 98, "Last year"), (345, 98, "This year"), *texts])

    top = [(cell.text, cell.column, cell.column_span) for cell in found.cells if cell.row == 0]
    assert top == [("Last year", 1, 2), ("This year", 3, 2)]
    assert found.grid[2] == ["Rome", "1,200", "88", "9", "14"]


def test_a_sign_of_money_at_the_edge_of_its_column_belongs_to_the_amount() -> None:
    texts = grid(
        (100, ["", "", "2024"]), (116, ["Sales", "$", "1,204"]), (132, ["Costs", "", "940"]),
        (148, ["Taxes", "", "64"]), (164, ["Profit", "$", "200"]), columns=[50, 200, 260],
    )  # fmt: skip

    assert table(texts).grid[1:] == [
        ["Sales", "$ 1,204"], ["Costs", "940"], ["Taxes", "64"], ["Profit", "$ 200"],
    ]  # fmt: skip


def test_a_line_goes_on_only_where_its_first_word_had_no_room_above() -> None:
    rows = [
        (100, ["Item", "What it is", "Sum"]),
        (118, ["Nut", "a small thing that holds", "12"]), (130, ["", "another thing", ""]),
        (148, ["Bolt", "what the nut is turned on", "7"]), (160, ["", "by hand", ""]),
        (178, ["Key", "a tool", "31"]),
    ]  # fmt: skip

    found = table(grid(*rows, columns=[50, 110, 330]))

    assert [row[1] for row in found.grid[1:]] == [
        "a small thing that holds another thing", "what the nut is turned on by hand", "a tool",
    ]  # fmt: skip


def test_between_level_rules_cells_set_in_the_middle_are_one_row() -> None:
    rows = [
        (104, ["Item", "What it is", "Sum"]),
        (124, ["", "a small thing that holds", ""]), (130, ["Nut", "", "12"]),
        (136, ["", "another small thing", ""]),
        (156, ["", "what the nut is turned on", ""]), (162, ["Bolt", "", "7"]),
        (168, ["", "by hand or by key", ""]),
    ]  # fmt: skip

    found = table(grid(*rows, columns=[50, 110, 330]), rules=[100, 118, 150, 182])

    assert found.grid == [
        ["Item", "What it is", "Sum"],
        ["Nut", "a small thing that holds another small thing", "12"],
        ["Bolt", "what the nut is turned on by hand or by key", "7"],
    ]


def test_the_name_of_a_group_goes_on_over_its_rows() -> None:
    rows = [
        (100, ["Land", "Town", "Sum"]), (116, ["Italy", "Rome", "12"]), (132, ["", "Bari", "7"]),
        (148, ["Norway", "Oslo", "5"]), (164, ["", "Bergen", "3"]),
    ]  # fmt: skip

    found = table(grid(*rows, columns=[50, 150, 250]))

    spans = {cell.text: cell.row_span for cell in found.cells}
    assert (spans["Italy"], spans["Norway"], spans["Rome"]) == (2, 2, 1)


def test_addresses_side_by_side_are_read_one_after_the_other() -> None:
    texts = grid(
        (100, ["Ann Lee", "Bob Ray"]), (112, ["Long street 4", "Short street 9"]),
        (124, ["10115 Berlin", "50667 Cologne"]), (136, ["Germany", "Germany"]), columns=[50, 330],
    )  # fmt: skip

    found = blocks(texts)

    assert [block.kind for block in found] == [BlockKind.PARAGRAPH, BlockKind.PARAGRAPH]
    assert found[0].text == "Ann Lee\nLong street 4\n10115 Berlin\nGermany"


def test_labels_with_colons_are_a_form_and_no_table() -> None:
    texts = grid(
        (100, ["Name:", "Ann Lee"]), (116, ["Number:", "4711"]), (132, ["Day:", "12.03.2024"]),
        (148, ["Sum:", "310.00"]), columns=[50, 150],
    )  # fmt: skip

    assert [block.kind for block in blocks(texts) if block.table] == []


def test_cells_of_running_text_in_step_are_no_columns() -> None:
    texts: list[Text] = []
    for row in range(5):
        y = 100 + 44 * row
        texts += [(50, y + 12 * at, f"left {row} says a good deal more") for at in range(3)]
        texts += [(320, y + 12 * at, f"right {row} says a good deal") for at in range(2)]

    lines = order_lines(words(texts), SIZE)

    assert [line.words[1].text for line in lines] == [str(at) for at in range(5) for _ in range(3)]


def test_an_initial_over_two_lines_begins_its_word() -> None:
    rest = words([(80, 100, "now that there was"), (80, 112, "a king who had no crown")])

    lines = order_lines([Word("K", Box(50, 92, 78, 126)), *rest], SIZE)

    assert [line.text for line in lines] == [
        "Know that there was",
        "a king who had no crown",
    ]


def test_dots_that_are_drawn_mark_the_items_of_a_list() -> None:
    texts: list[tuple[float, float, str]] = [(72, 100, "Three things."), (90, 130, "one of them")]
    texts += [(90, 144, "another one"), (90, 158, "the last")]
    dots = b"".join(b"80 %d 3 3 re f\n" % (842 - y + 2) for y in (130, 144, 158))
    with open_document(io.BytesIO(pdf_of([dots + written(texts, A4[1])])), PDF) as document:
        found = [block for page in document.pages for block in find_blocks(page)]

    assert [block.kind for block in found] == [BlockKind.PARAGRAPH, *[BlockKind.LIST_ITEM] * 3]


def test_who_needs_nothing_drawn_gets_the_same_lines_without_rules_and_marks() -> None:
    data = pdf_of(
        [b"80 700 3 3 re f\n72 600 m 300 600 l S\n" + written([(72, 100, "Hello")], A4[1])]
    )
    with open_document(io.BytesIO(data), PDF) as document:
        whole = next(document.pages)
    with open_document(io.BytesIO(data), PDF, drawn=False) as document:
        plain = next(document.pages)

    assert whole.rules
    assert whole.marks
    assert (plain.rules, plain.marks, plain.lines) == ((), (), whole.lines)


def test_a_bold_line_above_text_of_its_size_is_a_heading() -> None:
    text = words([(50, 118 + 12 * at, "plain words that run on and on") for at in range(4)])

    found = find_blocks(page_of([*words([(50, 100, "What we found")], bold=True), *text]))

    assert [block.kind for block in found] == [BlockKind.HEADING, BlockKind.PARAGRAPH]


def test_what_is_printed_in_bold_is_told_and_as_sure_as_the_rest() -> None:
    content = b"BT /F1 12 Tf 1 0 0 1 72 700 Tm (Heavy) Tj ET\n"
    data = pdf_of([content]).replace(b"/Helvetica", b"/Helvetica-Bold")
    with open_document(io.BytesIO(data), PDF) as document:
        (word,) = next(document.pages).words

    assert (word.bold, word.confidence) == (True, 1.0)
