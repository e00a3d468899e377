"""A column that a person re-assigned in one invoice is read so in the next of its layout."""

import io
from collections.abc import Sequence
from typing import Any

import pytest

from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices.pipeline import pipeline
from docmill.invoices.reader.teacher import teacher
from invoice_pdfs import HEAD
from layouts import money
from pdfs import Text, make_pdf

TOOLS = Tools(progress=lambda _percent, _stage: None)
SELLER = {"name": "PT Sinar Jaya", "tax_id": None}
COLUMNS = (40.0, 70.0, 250.0, 320.0, 380.0, 480.0)
CODED = ("No", "Nama Barang", "Satuan", "Qty", "Harga Satuan", "Jumlah")
Item = tuple[str, str, int, int]


def invoice(items: Sequence[Item], headings: Sequence[str] = CODED, number: str = "0017") -> bytes:
    """The third column is the article's code, whatever its heading says."""
    head = [(x, y, text.replace("0017", number)) for x, y, text in HEAD]
    texts: list[Text] = [*head, *zip(COLUMNS, [180.0] * 6, headings, strict=True)]
    y, net = 196.0, 0
    for at, (name, code, count, price) in enumerate(items, 1):
        cells = (str(at), name, code, str(count), money(price), money(count * price))
        texts += [(x, y, cell) for x, cell in zip(COLUMNS, cells, strict=True)]
        y, net = y + 14, net + count * price
    for label, amount in (("Subtotal", net), ("PPN 11%", net * 11 // 100)):
        y += 14
        texts += [(380, y, label), (480, y, money(amount))]
    return make_pdf([[*texts, (380, y + 14, "Total"), (480, y + 14, money(net * 111 // 100))]])


FIRST: list[Item] = [("Kertas A4", "KX-1001", 2, 50_000), ("Tinta", "KX-1002", 3, 20_000)]
SECOND: list[Item] = [
    ("Map plastik", "BT-77", 12, 5_000),
    ("Buku tulis", "BT-78", 7, 3_000),
    ("Pena", "ZZ-9000", 40, 2_500),
]


def read(pdf: bytes, lessons: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    source = Source(io.BytesIO(pdf), "a.pdf", PDF, options={"lessons": list(lessons)})
    return dict(pipeline.run(source, TOOLS).data)


def reassign(
    pdf: bytes, moves: dict[str, str], known: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """What it teaches that the values read as one field are those of another, in every line."""
    data = read(pdf, known)
    columns = {
        to: [
            {"value": line[source], **_place(data, f"lines[{at}].{source}")}
            for at, line in enumerate(data["lines"])
        ]
        for source, to in moves.items()
    }
    options = {"fields": {}, "columns": columns, "seller": SELLER, "lessons": list(known)}
    taught = teacher.run(Source(io.BytesIO(pdf), "a.pdf", PDF, options=options), TOOLS)
    return [{**each, "id": "1", "from": "a.pdf"} for each in taught.data["lessons"]]


def _place(data: dict[str, Any], path: str) -> dict[str, Any]:
    return {name: data["evidence"][path][name] for name in ("page", "box")}


def column(data: dict[str, Any], name: str) -> list[Any]:
    return [line[name] for line in data["lines"]]


def test_what_a_heading_calls_the_unit_is_the_code_in_the_next_invoice() -> None:
    assert column(read(invoice(FIRST)), "unit") == ["KX-1001", "KX-1002"]
    (lesson,) = reassign(invoice(FIRST), {"unit": "code"})
    assert (lesson["field"], lesson["column"]["heading"]) == ("lines.code", "satuan")
    second = invoice(SECOND, number="0088")
    assert column(read(second), "code") == [None] * 3
    data = read(second, [lesson])
    assert column(data, "code") == ["BT-77", "BT-78", "ZZ-9000"]
    assert column(data, "unit") == [None] * 3
    assert column(data, "quantity") == ["12", "7", "40"]
    assert data["evidence"]["lines[2].code"]["learned"] == {"lesson": "1", "from": "a.pdf"}
    assert data["checks"]["lines_net"] == "held"


def test_columns_of_figures_change_places() -> None:
    """Quantity and price come to the same amount either way: only a person can tell."""
    headings = ("No", "Nama Barang", "Kode", "Harga Satuan", "Qty", "Jumlah")
    first, second = invoice(FIRST, headings), invoice(SECOND, headings, "0088")
    assert column(read(first), "quantity") == ["50000", "20000"]
    lessons = reassign(first, {"quantity": "unit_price", "unit_price": "quantity"})
    assert {each["field"] for each in lessons} == {"lines.quantity", "lines.unit_price"}
    data = read(second, lessons)
    assert column(data, "quantity") == ["12", "7", "40"]
    assert column(data, "unit_price") == ["5000", "3000", "2500"]
    assert column(data, "code") == ["BT-77", "BT-78", "ZZ-9000"]


def test_the_last_word_about_a_column_is_right() -> None:
    old = reassign(invoice(FIRST), {"unit": "code"})
    (new,) = reassign(invoice(FIRST), {"code": "unit"}, old)
    assert new["field"] == "lines.unit"
    assert new["layout"] == old[0]["layout"]
    data = read(invoice(SECOND), [new, *old])
    assert column(data, "unit") == ["BT-77", "BT-78", "ZZ-9000"]
    assert column(data, "code") == [None] * 3


def test_an_invoice_of_another_supplier_is_read_as_before() -> None:
    lessons = reassign(invoice(FIRST), {"unit": "code"})
    other = [(x, y, text.replace("PT Sinar Jaya", "CV Bintang")) for x, y, text in HEAD]
    cells = [("Meja", "unit", 2, 5_000), ("Kursi", "pcs", 4, 3_000)]
    texts: list[Text] = [*other, *zip(COLUMNS, [180.0] * 6, CODED, strict=True)]
    for at, (name, unit, count, price) in enumerate(cells):
        row = (str(at + 1), name, unit, str(count), money(price), money(count * price))
        texts += [(x, 196.0 + 14 * at, cell) for x, cell in zip(COLUMNS, row, strict=True)]
    pdf = make_pdf([[*texts, (380, 240, "Total"), (480, 240, money(22_000))]])
    assert column(read(pdf, lessons), "unit") == column(read(pdf), "unit") == ["unit", "pcs"]


@pytest.mark.parametrize("moves", [{"unit": "unit"}, {"amount": "quantity"}])
def test_what_does_not_read_its_own_document_right_teaches_nothing(moves: dict[str, str]) -> None:
    """A column that has its name already, and one without which there are no lines."""
    assert reassign(invoice(FIRST), moves) == []


def test_cells_without_a_column_of_their_own_teach_nothing() -> None:
    pdf = invoice(FIRST)
    place = {"page": 1, "box": [40, 36, 110, 48]}
    cells = [{"value": "PT Sinar Jaya", **place}, {"value": "PT Sinar Jaya", **place}]
    options: dict[str, Any] = {
        "fields": {},
        "columns": {"code": cells},
        "seller": SELLER,
        "lessons": [],
    }
    taught = teacher.run(Source(io.BytesIO(pdf), "a.pdf", PDF, options=options), TOOLS)
    assert taught.data["lessons"] == []
