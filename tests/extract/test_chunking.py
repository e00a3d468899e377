"""Passages, running heads, and values made plain."""

from docmill.extract.reader.chunking import (
    PART_CHARS,
    PASSAGE_CHARS,
    PageBlocks,
    cut_passages,
    mark_running_heads,
)
from docmill.extract.reader.values import (
    AMOUNT,
    DATE,
    EMAIL,
    ID,
    TEXT,
    Conventions,
    find_conventions,
    normalize,
)
from docmill.reading.blocks import Block, BlockKind
from docmill.reading.pages import Box
from docmill.reading.tables.model import PageTable, TableCell


def block(
    text: str, kind: BlockKind = BlockKind.PARAGRAPH, y: float = 400, level: int = 0
) -> Block:
    return Block(kind, text, Box(72, y, 500, y + 12), level)


def leaf(number: int, *blocks: Block) -> PageBlocks:
    return PageBlocks(number, 842, blocks)


def test_a_passage_ends_with_its_page_and_begins_with_its_heading() -> None:
    first = leaf(1, block("Scope", BlockKind.HEADING, level=1), block("It is wide."))
    second = leaf(
        2, block("It goes on."), block("Terms", BlockKind.HEADING, level=2), block("Net 30.")
    )

    found = [*cut_passages([first, second])]

    assert [(chunk.page, chunk.heading, chunk.text) for chunk in found] == [
        (1, "Scope", "Scope\nIt is wide."),
        (2, "Scope", "It goes on."),
        (2, "Scope › Terms", "Terms\nNet 30."),
    ]


def test_nothing_is_lost_and_no_passage_is_too_long() -> None:
    words = [f"word{number}" for number in range(2000)]
    sentences = [" ".join(words[at : at + 9]) + "." for at in range(0, 2000, 9)]
    texts = [" ".join(sentences[:100]), " ".join(sentences[100:])]

    found = [*cut_passages([leaf(1, *map(block, texts))])]

    assert " ".join(chunk.text for chunk in found).replace("\n", " ") == " ".join(texts)
    assert max(len(chunk.text) for chunk in found) <= PASSAGE_CHARS
    assert max(len(part) for chunk in found for part in chunk.parts) <= PART_CHARS


def test_a_long_table_repeats_its_first_row_in_every_passage() -> None:
    cells = tuple(
        TableCell(row, column, ["Item", "Sum"][column] if row == 0 else f"{row} " + "x" * 60, BOX)
        for row in range(80)
        for column in range(2)
    )
    table = Block(BlockKind.TABLE, "", BOX, table=PageTable(BOX, 80, 2, cells))

    found = [*cut_passages([leaf(1, table)])]

    assert len(found) > 3
    assert all(chunk.text.startswith("Item | Sum\n") for chunk in found)


BOX = Box(72, 72, 500, 800)


def test_heads_and_feet_that_repeat_are_named_and_in_no_passage() -> None:
    leaves = [
        leaf(at, block("Annual Report 2025", y=20), block(f"body {at}"), block(f"Page {at}", y=800))
        for at in range(1, 6)
    ]

    found = mark_running_heads(leaves)

    assert [[str(each.kind) for each in one.blocks] for one in found] == [
        ["header", "paragraph", "footer"]
    ] * 5
    assert [chunk.text for chunk in cut_passages(found)] == [f"body {at}" for at in range(1, 6)]


def test_what_stands_once_at_the_edge_stays() -> None:
    (found,) = mark_running_heads([leaf(1, block("Dear Sir", y=20), block("yours", y=800))])

    assert {each.kind for each in found.blocks} == {BlockKind.PARAGRAPH}


def test_values_are_made_plain_by_the_customs_of_their_document() -> None:
    german = find_conventions(["1.234,50", "99,00", "31.12.2025"])

    assert normalize("1.234,50 EUR", AMOUNT, german) == {"amount": "1234.50", "currency": "EUR"}
    assert normalize("31.12.2025", DATE, german) == {"date": "2025-12-31"}
    assert normalize("02/03/2025", DATE, Conventions(month_first=True)) == {"date": "2025-02-03"}
    assert normalize("DE 12 34", ID, german) == {"text": "DE1234"}
    assert normalize("Ann@Example.COM", EMAIL, german) == {"text": "ann@example.com"}
    assert normalize("whatever", TEXT, german) == {}


def test_a_heading_with_nothing_under_it_goes_with_the_next() -> None:
    found = [
        *cut_passages(
            [
                leaf(
                    1,
                    block("Terms", BlockKind.HEADING, level=1),
                    block("Delivery", BlockKind.HEADING, level=2),
                    block("Within ten days."),
                )
            ]
        )
    ]

    assert [(chunk.heading, chunk.text) for chunk in found] == [
        ("Terms › Delivery", "Terms\nDelivery\nWithin ten days.")
    ]
