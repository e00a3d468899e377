"""Tables of lines as suppliers print them: where they end, go on, and are printed twice."""

from typing import Any

import pytest

from invoice_pdfs import run
from pdfs import Text, make_pdf

HEAD: list[Text] = [
    (40, 40, "Smith & Sons Ltd"),
    (40, 54, "1 High Street, London"),
    (40, 100, "Bill to"),
    (40, 114, "Acme Ltd"),
    (340, 100, "Invoice No: A-100"),
    (340, 114, "Date: 14/03/2025"),
]
FIVE = (40.0, 70.0, 300.0, 380.0, 480.0)
FOUR = (40.0, 300.0, 380.0, 480.0)
HEADINGS = ("No", "Description", "Qty", "Price", "Amount")
CABLE = ("1", "Cable", "2", "50.00", "100.00")
PLUG = ("2", "Plug", "3", "20.00", "60.00")
LAMP = ("3", "Lamp", "1", "40.00", "40.00")

Lines = list[tuple[str | None, str | None, str | None]]


def rows(y: float, places: tuple[float, ...], *cells: tuple[str, ...]) -> list[Text]:
    """Rows of a table from this height on."""
    return [
        (x, y + 16 * at, text)
        for at, texts in enumerate(cells)
        for x, text in zip(places, texts, strict=True)
        if text
    ]


def foot(y: float, *pairs: tuple[str, str]) -> list[Text]:
    return rows(y, (380.0, 480.0), *pairs)


SUMS = (("Subtotal", "160.00"), ("VAT 20%", "32.00"), ("Total", "192.00"))


def lines_of(*pages: list[Text]) -> Lines:
    data: Any = run(make_pdf([[*HEAD, *page] for page in pages]))
    return [(line["quantity"], line["unit_price"], line["amount"]) for line in data["lines"]]


BOTH: Lines = [("2", "50.00", "100.00"), ("3", "20.00", "60.00")]


def test_a_count_glued_to_its_unit_is_a_quantity() -> None:
    table = rows(180, FIVE, HEADINGS, ("1", "Cable", "2pc", "50.00", "100.00"), PLUG)

    assert lines_of(table + foot(260, *SUMS)) == BOTH


def test_a_column_called_units_counts_where_no_other_does() -> None:
    heads = ("No", "Description", "Units", "Price", "Amount")
    known = lines_of(rows(180, FIVE, heads, CABLE, PLUG) + foot(260, *SUMS))
    heads = ("Nr", "Désignation", "Unités", "Tarif", "Montant HT")

    assert known == BOTH
    assert lines_of(rows(180, FIVE, heads, CABLE, PLUG) + foot(260, *SUMS)) == BOTH


def test_a_price_left_of_the_quantity_stays_the_price() -> None:
    heads = ("Description", "Unit Price", "Quantity", "Amount")
    cells = (("Cable", "2.00", "50", "100.00"), ("Plug", "20.00", "3", "60.00"))
    table = rows(180, (40.0, 220.0, 300.0, 400.0), heads, *cells)

    assert lines_of(table + foot(260, *SUMS)) == [("50", "2.00", "100.00"), BOTH[1]]


def test_a_foot_in_other_columns_does_not_move_the_table() -> None:
    table = rows(180, (40.0, 220.0, 300.0, 400.0), HEADINGS[1:], CABLE[1:])
    sums = (("Subtotal", "100.00"), ("VAT 20%", "20.00"), ("Total", "120.00"))

    assert lines_of(table + rows(240, (430.0, 520.0), *sums)) == BOTH[:1]


def test_headings_in_the_middle_stand_over_values_at_the_left() -> None:
    heads: list[Text] = [(60, 180, "Qty"), (180, 180, "Description"), (500, 180, "Price")]
    table = [*heads, *rows(196, (40.0, 90.0, 440.0), ("1", "Subscription of a year", "129.00"))]

    assert lines_of(table + rows(240, (440.0, 490.0), ("Total:", "129.00"))) == [
        ("1", "129.00", "129.00")
    ]


@pytest.mark.parametrize("label", ["Carried forward", "Total page 1"])
def test_sums_of_a_page_are_no_lines(label: str) -> None:
    first = rows(180, FIVE, HEADINGS, CABLE, PLUG) + foot(260, (label, "160.00"))
    second = rows(180, FIVE, HEADINGS, ("", "Brought forward", "", "", "160.00"), LAMP)
    sums = (("Subtotal", "200.00"), ("VAT 20%", "40.00"), ("Total", "240.00"))

    assert lines_of(first, second + foot(260, *sums)) == [*BOTH, ("1", "40.00", "40.00")]


@pytest.mark.parametrize("sums", [SUMS, (("To be settled", "160.00"),)], ids=["known", "unknown"])
def test_the_copy_of_an_invoice_adds_no_lines(sums: tuple[tuple[str, str], ...]) -> None:
    page = rows(180, FIVE, HEADINGS, CABLE, PLUG) + foot(260, *sums)

    assert lines_of([*page, (250, 20, "ORIGINAL")], [*page, (250, 20, "COPY")]) == BOTH


def test_the_same_line_on_two_pages_counts_twice() -> None:
    first = rows(180, FIVE, HEADINGS, CABLE)
    second = rows(180, FIVE, HEADINGS, ("2", *CABLE[1:]))
    sums = (("Subtotal", "200.00"), ("VAT 20%", "40.00"), ("Total", "240.00"))

    assert lines_of(first, second + foot(260, *sums)) == [BOTH[0], BOTH[0]]


def test_a_row_without_a_number_among_numbered_lines_is_no_line() -> None:
    table = rows(180, FIVE, HEADINGS, CABLE)
    sums = (("Fee", "100.00"), ("VAT 20%", "20.00"), ("Total", "120.00"))

    assert lines_of(table + foot(230, *sums)) == BOTH[:1]


def test_the_first_sum_under_a_single_line_ends_the_table() -> None:
    table = rows(180, FOUR, HEADINGS[1:], CABLE[1:])
    tax_table = rows(230, (40.0, 110.0, 180.0, 240.0), ("Tax", "Base", "Rate", "Amount"))
    side = rows(230, (440.0, 480.0), ("Sum", "100.00"), ("Tax", "20.00"), ("Total", "120.00"))
    values = rows(246, (40.0, 110.0, 180.0, 240.0), ("VAT", "100.00", "20%", "20.00"))

    assert lines_of(table + tax_table + side + values) == BOTH[:1]


def test_rows_without_any_heading_are_lines_where_they_come_to_a_sum() -> None:
    table = rows(200, (40.0, 480.0), ("Liability of the owner", "50.00"), ("Of his dog", "110.00"))

    assert lines_of(table + foot(260, *SUMS)) == [(None, None, "50.00"), (None, None, "110.00")]


def test_rows_that_are_lines_only_by_the_sum_join_the_table() -> None:
    table = rows(180, FIVE, ("No", "Description", "Qty", "Price", "Amount"), CABLE)
    more: list[Text] = [(70, 212, "Plugs of several kinds"), (484, 212, "60.00")]

    assert lines_of(table + more + foot(260, *SUMS)) == [BOTH[0], (None, None, "60.00")]
