"""Small invoices written by hand, for tests: `from invoice_pdfs import paper, run`."""

import io
import json
from collections.abc import Sequence
from typing import Any

from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices.pipeline import pipeline
from pdfs import Text, make_pdf

COLUMNS = (40.0, 70.0, 300.0, 380.0, 480.0)
HEAD: list[Text] = [
    (40, 40, "PT Sinar Jaya"),
    (40, 54, "Jl. Sudirman No. 1, Jakarta 12190"),
    (40, 68, "Telp. (021) 555 1234"),
    (40, 100, "Kepada Yth."),
    (40, 114, "CV Maju Makmur"),
    (40, 128, "Jl. Thamrin No. 2"),
    (340, 100, "No. Faktur : INV/2025/03/0017"),
    (340, 114, "Tanggal : 14 Maret 2025"),
    (340, 128, "Jatuh Tempo : 13 April 2025"),
]
HEADINGS = ("No", "Nama Barang", "Qty", "Harga Satuan", "Jumlah")


def row(y: float, *cells: str) -> list[Text]:
    """One row of a table with the usual columns; an empty cell is left out."""
    return [(x, y, cell) for x, cell in zip(COLUMNS, cells, strict=True) if cell]


def paper(
    rows: Sequence[Sequence[str]], totals: Sequence[tuple[str, str]], head: Sequence[Text] = HEAD
) -> bytes:
    """An invoice of one page: letterhead, table, totals."""
    texts = [*head, *row(180, *HEADINGS)]
    y = 196.0
    for cells in rows:
        texts += row(y, *cells)
        y += 14
    for label, amount in totals:
        y += 14
        texts += [(380, y, label), (480, y, amount)]
    return make_pdf([texts])


def run(data: bytes) -> Any:
    """What the pipeline makes of a PDF, as JSON gives it back."""
    tools = Tools(progress=lambda _percent, _stage: None)
    output = pipeline.run(Source(io.BytesIO(data), "an invoice", PDF), tools)
    return json.loads(json.dumps(output.data))
