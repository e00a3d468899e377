"""What real invoices do, one at a time."""

from typing import Any

import pytest

from docmill.invoices.reader.currency import find_marks
from invoice_pdfs import HEAD, HEADINGS, paper, row, run
from pdfs import Text, make_pdf

LINE = ("1", "Kertas HVS", "2", "50,000.00", "100,000.00")
OTHER = ("2", "Tinta hitam", "1", "200,000.00", "200,000.00")


def totals(data: Any) -> dict[str, str]:
    return {name: value for name, value in data["totals"].items() if value is not None}


def amounts(data: Any) -> list[str]:
    return [line["amount"] for line in data["lines"]]


def test_a_tax_base_between_subtotal_and_tax_is_neither_net_nor_tax() -> None:
    data = run(
        paper(
            [("1", "Jasa konsultasi", "1", "120.000.000", "120.000.000")],
            [
                ("Subtotal", "120.000.000"),
                ("DPP Nilai Lain", "110.000.000"),
                ("PPN 12%", "13.200.000"),
                ("Grand Total", "133.200.000"),
            ],
        )
    )

    assert totals(data) == {"net": "120000000", "tax": "13200000", "gross": "133200000"}
    assert data["taxes"] == [{"base": "110000000", "rate": "12", "amount": "13200000"}]
    assert data["checks"]["tax_base_rate"] == "held"


def test_withholding_payments_and_balance_stay_apart_from_the_gross() -> None:
    data = run(
        paper(
            [LINE],
            [
                ("Subtotal", "100,000.00"),
                ("VAT 11%", "11,000.00"),
                ("Total", "111,000.00"),
                ("PPh 23 2%", "-2,000.00"),
                ("Paid", "109,000.00"),
                ("Balance Due", "0.00"),
            ],
        )
    )

    assert totals(data) == {
        "net": "100000.00",
        "tax": "11000.00",
        "gross": "111000.00",
        "withholding": "2000.00",
        "paid": "109000.00",
        "due": "0.00",
    }
    assert data["checks"]["gross_due"] == "held"


def test_of_two_subtotals_the_one_that_adds_up_is_the_net() -> None:
    data = run(
        paper(
            [LINE, OTHER],
            [
                ("Subtotal", "300,000.00"),
                ("Discount", "-30,000.00"),
                ("Subtotal", "270,000.00"),
                ("VAT 11%", "29,700.00"),
                ("Total", "299,700.00"),
            ],
        )
    )

    assert totals(data)["net"] == "270000.00"
    assert totals(data)["gross"] == "299700.00"


def test_fifty_with_three_decimals_is_fifty_where_the_line_says_so() -> None:
    data = run(paper([("1", "Semen", "50.000", "1.200,00", "60.000,00")], [("Total", "60.000,00")]))

    (line,) = data["lines"]
    assert (line["quantity"], line["unit_price"]) == ("50.000", "1200.00")
    assert data["checks"]["lines[0].amount"] == "held"


@pytest.mark.parametrize("again", [True, False])
def test_a_table_goes_on_over_pages(again: bool) -> None:
    first = [*HEAD, *row(180, *HEADINGS), *row(196, *LINE)]
    second: list[Text] = row(60, *HEADINGS) if again else []
    second += row(76, *OTHER)
    second += [(380, 104, "Total"), (480, 104, "300,000.00")]

    data = run(make_pdf([first, second]))

    assert amounts(data) == ["100000.00", "200000.00"]
    assert data["evidence"]["lines[1].amount"]["page"] == 2
    assert totals(data)["gross"] == "300000.00"


def test_totals_may_stand_on_a_later_page() -> None:
    first = [*HEAD, *row(180, *HEADINGS), *row(196, *LINE)]
    second: list[Text] = [(380, 60, "Grand Total"), (480, 60, "100,000.00")]

    data = run(make_pdf([first, second]))

    assert amounts(data) == ["100000.00"]
    assert data["evidence"]["totals.gross"]["page"] == 2


def test_wrapped_descriptions_belong_to_their_line() -> None:
    rows = [LINE, ("", "80 gram, putih", "", "", ""), OTHER]

    data = run(paper(rows, [("Total", "300,000.00")]))

    assert [line["description"] for line in data["lines"]] == [
        "Kertas HVS 80 gram, putih",
        "Tinta hitam",
    ]


def test_a_line_may_have_an_amount_and_nothing_else() -> None:
    rows = [LINE, ("2", "Jasa konsultasi pajak Maret", "", "", "75,000.00"), ("3", *OTHER[1:])]

    data = run(paper(rows, [("Total", "375,000.00")]))

    assert amounts(data) == ["100000.00", "75000.00", "200000.00"]
    assert data["lines"][1]["quantity"] is None


def test_an_old_amount_under_the_new_one_is_not_another_number() -> None:
    texts = [*HEAD, *row(180, *HEADINGS), *row(196, *LINE), (480.0, 196.0, "900,000.00")]
    texts += [(380, 224, "Total"), (480, 224, "100,000.00")]

    data = run(make_pdf([texts]))

    assert amounts(data) == ["100000.00"]


def test_order_and_delivery_numbers_are_not_the_invoices() -> None:
    head = [text for text in HEAD if not text[2].startswith("No. Faktur")]
    head += [
        (340, 72, "PO Number: PO-9911"),
        (340, 86, "Delivery Order: SJ/17/2025"),
        (340, 58, "4)INVOICE NO. : 0815/F/III/25"),
    ]

    assert run(paper([LINE], [("Total", "100,000.00")], head))["invoice_number"] == "0815/F/III/25"


def test_labels_may_stand_in_a_row_with_their_values_below() -> None:
    head = [text for text in HEAD if text[0] < 300]
    head += [
        *(
            (x, 146.0, label)
            for x, label in [(40, "Invoice No."), (200, "Date"), (340, "Due Date")]
        ),
        *((x, 160.0, v) for x, v in [(40, "A-77"), (200, "03/04/2025"), (340, "17/04/2025")]),
    ]

    data = run(paper([LINE], [("Total", "100,000.00")], head))

    assert data["invoice_number"] == "A-77"
    assert (data["issue_date"], data["due_date"]) == ("2025-04-03", "2025-04-17")


def test_the_buyer_is_not_who_the_goods_go_to() -> None:
    head = [*HEAD, (200, 100, "Dikirim ke:"), (200, 114, "PT Gudang Sentosa"), (200, 128, "Bekasi")]

    assert run(paper([LINE], [("Total", "100,000.00")], head))["buyer"]["name"] == "CV Maju Makmur"


def test_tax_numbers_go_to_whose_name_they_stand_by() -> None:
    head = [*HEAD, (40, 142, "NPWP: 01.234.567.8-901.000")]
    foot = (
        40.0,
        800.0,
        "PT Sinar Jaya - Jl. Sudirman No. 1 - Jakarta 12190 - NPWP 0987654321098765",
    )
    texts = [*head, *row(180, *HEADINGS), *row(196, *LINE), foot]

    data = run(make_pdf([texts]))

    assert data["buyer"]["tax_id"] == "01.234.567.8-901.000"
    assert data["seller"]["tax_id"] == "0987654321098765"


def test_a_table_may_have_no_heading() -> None:
    texts = [*HEAD, *row(196, *LINE), *row(212, "2", "Tinta hitam", "3", "70,000.00", "210,000.00")]
    texts += [(380, 240, "Total"), (480, 240, "310,000.00")]

    data = run(make_pdf([texts]))

    assert amounts(data) == ["100000.00", "210000.00"]
    assert [line["quantity"] for line in data["lines"]] == ["2", "3"]


def test_a_long_table_is_read_to_its_end() -> None:
    pages = [[*HEAD, *row(180, *HEADINGS)]]
    for page in range(20):
        rows = [(str(40 * page + at + 1), *LINE[1:]) for at in range(40)]
        pages.append([text for at, cells in enumerate(rows) for text in row(60 + 16 * at, *cells)])

    assert len(run(make_pdf(pages))["lines"]) == 800


def test_a_sellers_line_over_the_address_names_both() -> None:
    head: list[Text] = [
        (60, 120, "Kraxi GmbH · Flugzeugallee 17 · 12345 Papierfeld"),
        (60, 140, "Papierflieger-Vertriebs-GmbH"),
        (60, 154, "Rabattstr. 25"),
        (60, 168, "34567 Osterhausen"),
        (340, 140, "Rechnungsnummer: 2014-03"),
        (340, 154, "Rechnungsdatum: 11. Juli 2014"),
    ]

    data = run(paper([LINE], [("Total", "100,000.00")], head))

    assert data["seller"]["name"] == "Kraxi GmbH"
    assert data["buyer"]["name"] == "Papierflieger-Vertriebs-GmbH"
    assert (data["invoice_number"], data["issue_date"]) == ("2014-03", "2014-07-11")


def addressed(first_y: float, first: str, second_y: float, second: str) -> list[Text]:
    """A buyer at 100 points, and two lines under him."""
    return [
        (340, 40, "CV. Multi Jaya"),
        (60, 86, "Pelanggan:"),
        (60, 100, "Toko Cahaya Utama"),
        (60, first_y, first),
        (60, second_y, second),
    ]


def test_an_address_ends_where_labels_begin() -> None:
    head: list[Text] = [
        (340, 40, "CV. Multi Jaya"),
        (340, 54, "Jl. Ahmad Yani No. 158, Surabaya 60271"),
        (60, 100, "Pelanggan:"),
        (60, 114, "Toko Cahaya Utama"),
        (60, 128, "Jl. Sudirman No. 46"),
        (60, 142, "Medan 20112"),
        *((60, 158 + 14 * at, label) for at, label in enumerate(("Nomor Invoice", "Jatuh Tempo"))),
        *((160, 158 + 14 * at, value) for at, value in enumerate(("23004740", "8 Mei 2023"))),
    ]

    data = run(paper([LINE], [("Total", "100,000.00")], head))

    assert data["buyer"]["address"] == "Jl. Sudirman No. 46, Medan 20112"
    assert data["invoice_number"] == "23004740"


@pytest.mark.parametrize("street", ["Kundenstraße 15", "NIPORA PARK, BUILD F", "Teltower Damm 3"])
def test_a_street_may_begin_like_the_word_for_a_number(street: str) -> None:
    data = run(paper([LINE], [("Total", "100,000.00")], addressed(114, street, 128, "70173 Bonn")))

    assert data["buyer"]["address"] == f"{street}, 70173 Bonn"


def test_a_street_under_a_gap_belongs_to_the_name() -> None:
    head = addressed(124, "Jl. Sudirman No. 46", 138, "Medan 20112")

    data = run(paper([LINE], [("Total", "100,000.00")], head))

    assert data["buyer"]["address"] == "Jl. Sudirman No. 46, Medan 20112"


def test_the_label_of_an_address_is_no_part_of_it() -> None:
    head = addressed(114, "Alamat : Jl. Sudirman No. 46", 128, "Medan 20112")

    data = run(paper([LINE], [("Total", "100,000.00")], head))

    assert data["buyer"]["address"] == "Jl. Sudirman No. 46, Medan 20112"


@pytest.mark.parametrize("other", ["(061) 455-0199", "+62 61 4550199", "Tue Aug 15 2023"])
def test_telephones_and_days_are_no_address(other: str) -> None:
    head = addressed(114, "Jl. Sudirman No. 46", 128, other)

    data = run(paper([LINE], [("Total", "100,000.00")], head))

    assert data["buyer"]["address"] == "Jl. Sudirman No. 46"


def test_an_address_may_stand_behind_the_name_elsewhere() -> None:
    head: list[Text] = [
        (60, 40, "Kraxi GmbH"),
        (60, 120, "Kraxi GmbH · Flugzeugallee 17 · 12345 Papierfeld"),
        (60, 140, "Papierflieger-Vertriebs-GmbH"),
        (60, 154, "Rabattstr. 25"),
        (60, 168, "34567 Osterhausen"),
    ]

    data = run(paper([LINE], [("Total", "100,000.00")], head))

    assert data["seller"]["address"] == "Flugzeugallee 17 · 12345 Papierfeld"


def test_a_word_that_goes_on_with_an_accent_is_no_code_of_a_currency() -> None:
    assert find_marks("QUANTIDADE ESPÉCIE MARCA") == []
    assert [mark.code for mark in find_marks("Total ESP 1.200")] == ["ESP"]
