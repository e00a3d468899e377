"""Lessons: one invoice of a layout is corrected, and the others of that layout are read right."""

import io
from pathlib import Path
from typing import Any

import pytest

from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices.pipeline import pipeline
from docmill.invoices.reader.teacher import teacher
from eval import score_lessons
from invoice_pdfs import HEAD, paper
from layouts import odd_invoice

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "invoices"
TOOLS = Tools(progress=lambda _percent, _stage: None)
SELLER = {"name": "PT Sinar Jaya Abadi", "tax_id": None}
MANY = [("Tinta", 4, 120_000), ("Map", 100, 5_000), ("Pena", 30, 7_500), ("Buku", 12, 21_000)]
OTHERS = [
    odd_invoice("SJA-25-0502", "PT Laut Biru", MANY),
    odd_invoice("SJA-25-10777", "Toko Serba Ada Sentosa Makmur", MANY[:2]),
    odd_invoice("SJA-26-3", "Ibu Ratna", [*MANY, *MANY, *MANY]),
]
NUMBERS = ["SJA-25-0502", "SJA-25-10777", "SJA-26-3"]


def read(pdf: bytes, *lessons: dict[str, Any]) -> dict[str, Any]:
    options = {"lessons": list(lessons)}
    source = Source(io.BytesIO(pdf), "a.pdf", PDF, options=options)
    return dict(pipeline.run(source, TOOLS).data)


def teach(
    pdf: bytes,
    known: tuple[dict[str, Any], ...] = (),
    seller: dict[str, Any] = SELLER,
    **fields: str,
) -> list[dict[str, Any]]:
    """What these corrections teach; `totals__net` is the path `totals.net`."""
    given = {path.replace("__", "."): {"value": value} for path, value in fields.items()}
    options = {"fields": given, "seller": seller, "lessons": list(known)}
    taught = teacher.run(Source(io.BytesIO(pdf), "a.pdf", PDF, options=options), TOOLS)
    return [{**each, "id": "1", "from": "a.pdf"} for each in taught.data["lessons"]]


def test_a_number_without_a_label_is_wrong_before_and_right_after_one_correction() -> None:
    assert [read(each)["invoice_number"] for each in OTHERS] == [None] * 3
    (lesson,) = teach(odd_invoice("SJA-25-0417"), invoice_number="SJA-25-0417")
    found = [read(each, lesson) for each in OTHERS]
    assert [each["invoice_number"] for each in found] == NUMBERS
    seen = found[0]["evidence"]["invoice_number"]
    assert seen["learned"] == {"lesson": "1", "from": "a.pdf"}
    assert (seen["page"], seen["text"], seen["confidence"]) == (1, "SJA-25-0502", 0.9)
    assert "invoice_number" not in found[0]["review"]


def test_nothing_else_changes_and_a_value_unlike_the_taught_one_is_doubted() -> None:
    (lesson,) = teach(odd_invoice("SJA-25-0417"), invoice_number="SJA-25-0417")
    before, after = read(OTHERS[0]), read(OTHERS[0], lesson)
    for name in ("issue_date", "seller", "buyer", "totals", "lines", "checks"):
        assert after[name] == before[name]
    odd = read(odd_invoice("2025/77"), lesson)
    assert odd["invoice_number"] == "2025/77"
    assert "invoice_number" in odd["review"]
    assert read(odd_invoice("ASLI"), lesson)["invoice_number"] is None


def test_documents_of_another_supplier_or_of_another_layout_are_left_alone() -> None:
    (lesson,) = teach(odd_invoice("SJA-25-0417"), invoice_number="SJA-25-0417")
    other_supplier = odd_invoice("XYZ-25-0001", seller="CV Bukan Yang Itu")
    assert read(other_supplier, lesson)["invoice_number"] is None
    rows = [("1", "Kertas", "10", "50.000", "500.000")]
    head = [(x, y, "PT Sinar Jaya Abadi" if y == 40 else text) for x, y, text in HEAD]
    other_layout = paper(rows, [("Total", "500.000")], head)
    assert read(other_layout, lesson) == read(other_layout)


def test_a_field_is_found_by_its_label_where_the_lines_push_it_down() -> None:
    first, second = odd_invoice("SJA-1", items=MANY[:1]), odd_invoice("SJA-2", items=MANY)
    (lesson,) = teach(first, totals__due="532800")
    assert lesson["label"] == "total"
    assert read(second)["totals"]["due"] is None
    assert read(second, lesson)["totals"]["due"] == read(second)["totals"]["gross"]


def test_a_lesson_that_breaks_sums_which_add_up_is_not_followed() -> None:
    (lesson,) = teach(odd_invoice("SJA-1"), totals__net="55000")
    found = read(OTHERS[0], lesson)
    assert found["checks"]["net_tax_gross"] == "held"
    assert found["totals"] == read(OTHERS[0])["totals"]


def test_what_is_not_printed_is_learned_where_it_is_the_same_in_all_documents() -> None:
    seller = {"name": "PT Sinar Jaya Abadi", "tax_id": "0012345678901000"}
    corrected = {"seller__tax_id": "0012345678901000", "due_date": "2025-05-01"}
    lessons = teach(odd_invoice("SJA-1"), (), seller, **corrected)
    assert [each["field"] for each in lessons] == ["seller.tax_id"]
    assert read(OTHERS[1], *lessons)["seller"]["tax_id"] == "0012345678901000"
    assert read(odd_invoice("X-1", seller="CV Lain"), *lessons)["seller"]["tax_id"] is None


def test_the_last_correction_of_a_layout_has_the_name_of_the_first() -> None:
    first = teach(odd_invoice("SJA-25-0417"), invoice_number="SJA-25-0417")
    again = teach(OTHERS[0], tuple(first), invoice_number="SJA-25-0502")
    assert again[0]["layout"] == first[0]["layout"]
    other = teach(
        odd_invoice("X-1", seller="CV Lain"), tuple(first), {"name": "CV Lain"}, currency="USD"
    )
    assert other[0]["layout"] != first[0]["layout"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not on this machine")
def test_corrections_in_the_corpus_mend_and_never_spoil() -> None:
    found = score_lessons.measured(CORPUS)
    sums = {key: sum(each[key] for each in found.values()) for key in score_lessons.NOTHING}
    assert sums["spoiled"] == 0
    assert sums["mended"] >= 10
