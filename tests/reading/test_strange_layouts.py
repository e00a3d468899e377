"""Layouts that no generator of documents makes: every reader must get through them."""

import io
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import layouts_fuzz
from docmill.core import field_request, installed, plugins
from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.extract.reader.labels import find_fields
from docmill.invoices import reader as invoice_reader
from docmill.invoices.reader import layout as invoice_layout
from docmill.reading.blocks import find_blocks
from docmill.reading.order import order_lines
from docmill.reading.pages import Box, Page, Word
from docmill.reading.turning import set_upright
from docmill.reading.words import join_spaced
from docmill.study.reader import prose
from docmill.trades.reader import read as trades_reader
from docmill.trades.reader import rows as trades_rows

SIZE = (595.0, 842.0)
EDGES = (-1e6, -5.0, 0.0, 0.001, 100.0, 594.999, 595.0, 842.0, 1e6)
places = st.one_of(st.sampled_from(EDGES), st.floats(-50, 900, width=32))
lengths = st.one_of(st.sampled_from((0.0, 1e-6, 5.0, 10.0, 5000.0)), st.floats(0, 200, width=32))
texts = st.one_of(
    st.sampled_from(layouts_fuzz.WORDS),
    st.sampled_from("ABCINOVYaeio159.,:-€%"),
    st.text("שלוםאב", min_size=1, max_size=6),
)


@st.composite
def words(draw: st.DrawFn) -> Word:
    x, y = draw(places), draw(places)
    box = Box(x, y, x + draw(lengths), y + draw(lengths))
    return Word(draw(texts), box, draw(st.sampled_from([0, 0, 0, 0, 90, 180, 270, 33])))


@st.composite
def spaced(draw: st.DrawFn) -> list[Word]:
    """A text set letter by letter, evenly or nearly so."""
    x, y, height = draw(st.floats(0, 300)), draw(st.floats(0, 800)), draw(st.floats(4, 60))
    made = [Word("small", Box(10 + 30 * at, 820, 35 + 30 * at, 830)) for at in range(15)]
    gaps = draw(st.sampled_from([[0.01], [0.3], [0.3, 0.9], [0.1, 0.3, 2.0]]))
    for char in draw(st.sampled_from(["INVOICE", "FACTURA", "RechnungNr.17", "ABCDEF"])):
        made.append(Word(char, Box(x, y, x + height / 2, y + height)))
        x += height / 2 + draw(st.sampled_from(gaps)) * height
    return made


pages = st.tuples(
    st.lists(words(), max_size=40), st.lists(spaced(), max_size=3).map(lambda runs: [*chain(*runs)])
).map(lambda parts: parts[0] + parts[1])


@settings(max_examples=150, deadline=None)
@given(pages)
def test_every_reader_gets_through_any_boxes(given_words: list[Word]) -> None:
    joined = join_spaced(given_words)
    shown = Page(1, *SIZE, order_lines(joined, SIZE), rules=(Box(10, 50, 500, 50),))
    page = set_upright(shown)
    if not page.lines:
        return
    find_blocks(page)
    find_fields(page)
    invoice_reader.read_invoice(invoice_layout.make_sheet([page]))
    trades_reader.read_trades(trades_rows.make_sheet([page]))
    list(prose.find_sentences([page], lambda _: True))

    assert sorted("".join(word.text for word in joined)) == sorted(
        "".join(word.text for word in given_words)
    )


@pytest.mark.parametrize("name", layouts_fuzz.READERS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_pipeline_gives_a_result_or_a_fault_for_a_strange_page(name: str, seed: int) -> None:
    data = layouts_fuzz.drawn([layouts_fuzz.strange(seed)])
    reader = installed.load_pipeline(name)
    options = (
        {field_request.OPTION: field_request.parse_fields(layouts_fuzz.ASKED)}
        if plugins.takes_fields(reader)
        else {}
    )
    source = Source(io.BytesIO(data), "a.pdf", PDF, options=options)
    try:
        ending = reader.run(source, Tools(lambda _percent, _stage: None)).data["pipeline"]
    except DocmillError as fault:
        ending = fault.fault.code

    assert ending in {name, "BAD_PDF"}
