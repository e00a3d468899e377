"""The small PDF that readers warm up with is a PDF like any other."""

import io

from docmill.core.plugins import PDF, WarmsUp
from docmill.invoices.pipeline import pipeline as invoices
from docmill.reading.documents import open_document
from docmill.reading.labels import fold
from docmill.reading.sample import make_sample
from docmill.trades.reader.pipeline import pipeline as trades


def test_a_sample_shows_its_rows_and_columns() -> None:
    content = make_sample(["Description | Amount", "Flour | 12.50"])
    with open_document(io.BytesIO(content), PDF) as document:
        (page,) = document.pages
    rows = [[cell.text for cell in line.cells] for line in page.lines]
    assert rows == [["Description", "Amount"], ["Flour", "12.50"]]


def test_warming_up_leaves_what_was_folded_for_the_next_reading() -> None:
    assert isinstance(invoices, WarmsUp)
    assert isinstance(trades, WarmsUp)
    fold.cache_clear()
    invoices.warm()
    assert fold.cache_info().currsize > 0
    fold.cache_clear()
    trades.warm()
    assert fold.cache_info().currsize > 0
