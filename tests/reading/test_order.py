import io

from hypothesis import example, given
from hypothesis import strategies as st

from docmill.core.plugins import PDF
from docmill.reading.documents import open_document
from docmill.reading.order import order_lines
from docmill.reading.pages import Box, Word
from pdfs import Text, make_pdf

SIZE = (600.0, 800.0)


def texts(page: list[Text]) -> list[str]:
    with open_document(io.BytesIO(make_pdf([page])), PDF) as document:
        return [line.text for line in next(document.pages).lines]


def column(x: float, name: str, rows: int) -> list[Text]:
    return [
        (x, 100 + 14 * row, f"{name} {row} has quite a few words to read") for row in range(rows)
    ]


@st.composite
def words(draw: st.DrawFn) -> Word:
    x, y = draw(st.floats(0, 500)), draw(st.floats(0, 700))
    angle = draw(st.sampled_from([0, 0, 0, 90, 180, 270, 45]))
    return Word(draw(st.sampled_from("abcdef")), Box(x, y, x + 30, y + 10), angle)


def test_columns_of_running_text_are_read_one_after_the_other() -> None:
    page = column(50, "left", 6) + column(320, "right", 6)

    assert [text.split()[0] for text in texts(page)] == ["left"] * 6 + ["right"] * 6


def test_three_columns_are_read_from_left_to_right() -> None:
    page = column(30, "one", 5) + column(220, "two", 5) + column(410, "three", 5)

    assert [text.split()[0] for text in texts(page)] == ["one"] * 5 + ["two"] * 5 + ["three"] * 5


def test_a_heading_above_columns_comes_first_and_a_footer_last() -> None:
    heading: Text = (
        50,
        60,
        "A heading that runs across the whole of the page, over both its columns, as they do",
    )
    footer: Text = (
        50,
        300,
        "A footer that runs across the whole of the page, under both its columns, as they do",
    )
    page = [footer, *column(320, "right", 6), *column(50, "left", 6), heading]

    assert [text.split()[1][:5] for text in (texts(page)[0], texts(page)[-1])] == ["headi", "foote"]


def test_a_table_is_read_row_by_row() -> None:
    page: list[Text] = []
    for row in range(6):
        y = 100.0 + 14 * row
        page += [(50, y, f"Item {row} with a name"), (320, y, f"{row}"), (400, y, f"{row}.50")]

    assert texts(page)[2] == "Item 2 with a name 2 2.50"


def test_columns_below_a_table_with_the_same_gutter_are_found() -> None:
    page: list[Text] = []
    for row in range(8):
        page += [(50, 40 + 5.0 * row, f"Item {row}"), (320, 40 + 5.0 * row, f"{row}.50")]
    page += column(50, "left", 12) + column(320, "right", 12)

    assert [text.split()[0] for text in texts(page)[-12:]] == ["right"] * 12


def test_a_table_of_figures_beside_names_is_not_taken_for_two_columns() -> None:
    page: list[Text] = []
    for row in range(6):
        y = 100.0 + 14 * row
        page += [(50, y, f"Item {row} with a longer name"), (320, y, f"€ {row},50")]
        page += [(400, y, "21 %"), (470, y, f"€ {row},90")]

    assert texts(page)[2] == "Item 2 with a longer name € 2,50 21 % € 2,90"


def test_side_by_side_blocks_on_different_baselines_are_kept_apart() -> None:
    left: list[Text] = [(50, 100 + 14 * row, f"Street {row}") for row in range(5)]
    right: list[Text] = [(350, 107 + 14 * row, f"City {row}") for row in range(5)]

    assert [text.split()[0] for text in texts(left + right)] == ["Street"] * 5 + ["City"] * 5


@given(st.lists(words(), max_size=60))
def test_every_word_is_in_exactly_one_line_unless_drawn_twice(page: list[Word]) -> None:
    lines = order_lines(page, SIZE)
    read = [word for line in lines for word in line.words]

    assert set(read) <= set(page)
    assert len(read) <= len(page)
    assert {word.text for word in read} == {word.text for word in page}


@given(st.lists(words(), max_size=40, unique_by=lambda word: word.box))
@example([Word("a", Box(0, 0, 30, 10)), Word("a", Box(0, 4e-135, 30, 10))])
def test_the_order_of_drawing_does_not_matter(page: list[Word]) -> None:
    upright = [word for word in page if word.angle == 0]

    assert order_lines(upright, SIZE) == order_lines(upright[::-1], SIZE)
