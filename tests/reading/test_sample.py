"""The small PDF that readers warm up with is a PDF like any other."""

import io
import subprocess
import sys
from typing import Final

from docmill.core.plugins import PDF, WarmsUp
from docmill.invoices.pipeline import pipeline as invoices
from docmill.reading.documents import open_document
from docmill.reading.labels import fold
from docmill.reading.sample import make_sample
from docmill.trades.reader.pipeline import pipeline as trades

READ_AFTER_WARMING: Final = """
import io, re
from docmill.core.plugins import PDF, Source
from docmill.invoices.pipeline import pipeline
from docmill.reading.pdf import NO_TOOLS
from docmill.reading.sample import make_sample
pipeline.warm()
compile_pattern, built = re._compiler.compile, []
re._compiler.compile = lambda *given: built.append(given[0]) or compile_pattern(*given)
rows = ["Honest Mills", "Rechnung 77 | 12/11/2024", "Rye | 3 | $4.00 | $12.00", "Sum | | | $12.00"]
pipeline.run(Source(io.BytesIO(make_sample(rows)), "bill.pdf", PDF), NO_TOOLS)
print(len(built))
"""


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


def test_after_warming_up_no_reading_builds_patterns() -> None:
    # In a process of its own: here other tests have read much already.
    asked = [sys.executable, "-c", READ_AFTER_WARMING]
    told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    assert told.strip() == "0"
