"""How the foot of an invoice comes to its sums: one scheme at a time."""

from decimal import Decimal

import pytest

from invoice_pdfs import HEAD, HEADINGS, paper, row, run
from pdfs import Text, make_pdf

WORK = ("1", "Jasa konsultasi", "1", "100.000.000", "100.000.000")
BUILDING = ("1", "Pembangunan gudang", "1", "500.000.000", "500.000.000")
CHAIRS = ("1", "Chair", "2", "50.00", "100.00")
BOOKS = ("2", "Book", "4", "50.00", "200.00")

Foot = list[tuple[str, str]]
Sums = tuple[str | None, str | None, str | None]


def sums_of(lines: list[tuple[str, ...]], foot: Foot) -> Sums:
    found = run(paper(lines, foot))["totals"]
    return found["net"], found["tax"], found["gross"]


@pytest.mark.parametrize(
    ("foot", "wanted"),
    [
        pytest.param(
            [
                ("Jumlah", "100.000.000"),
                ("DPP 11/12", "91.666.667"),
                ("PPN 12%", "11.000.000"),
                ("Jumlah Tagihan", "111.000.000"),
                ("PPh Pasal 23", "2.000.000"),
                ("Jumlah yang harus dibayar", "109.000.000"),
            ],
            ("100000000", "11000000", "111000000"),
            id="other base, tax withheld below the gross",
        ),
        pytest.param(
            [
                ("Total", "100.000.000"),
                ("PPN", "11.000.000"),
                ("PPh 23", "-2.000.000"),
                ("Grand Total", "109.000.000"),
            ],
            ("100000000", "11000000", "109000000"),
            id="tax withheld above the only total",
        ),
        pytest.param(
            [
                ("Tax Base VAT", "91.666.667"),
                ("VAT (12%)", "11.000.000"),
                ("Tax Art 4(2)", "(10.000.000)"),
                ("Grand Total", "101.000.000"),
            ],
            ("100000000", "11000000", "101000000"),
            id="no net but the line's",
        ),
        pytest.param(
            [
                ("Subtotal", "100.000.000"),
                ("PPN 11%", "11.000.000"),
                ("Materai", "10.000"),
                ("Total", "111.010.000"),
            ],
            ("100000000", "11000000", "111010000"),
            id="stamp duty",
        ),
        pytest.param(
            [
                ("Jumlah Jasa", "100.000.000"),
                ("PPN 11%", "11.000.000"),
                ("PPh 23", "2.000.000"),
                ("Reimbursement", "5.000.000"),
                ("Total", "114.000.000"),
            ],
            ("100000000", "11000000", "114000000"),
            id="reimbursement and tax withheld",
        ),
        pytest.param(
            [
                ("Sub Total", "100.000.000"),
                ("VAT", "11.000.000"),
                ("TOTAL", "111.000.000"),
                ("Payment", "(111.000.000)"),
                ("Amount Due", "0,00"),
            ],
            ("100000000", "11000000", "111000000"),
            id="nothing is left to pay",
        ),
    ],
)
def test_indonesian_sums_close_in_several_ways(foot: Foot, wanted: Sums) -> None:
    assert sums_of([WORK], foot) == wanted


@pytest.mark.parametrize(
    ("foot", "wanted"),
    [
        pytest.param(
            [
                ("Total", "500.000.000"),
                ("Uang Muka 30%", "150.000.000"),
                ("PPN 11%", "16.500.000"),
                ("Total Tagihan", "166.500.000"),
            ],
            ("150000000", "16500000", "166500000"),
            id="a down payment is invoiced",
        ),
        pytest.param(
            [
                ("Sub Total", "500.000.000"),
                ("Less: Down Payment", "150.000.000"),
                ("Total", "350.000.000"),
                ("VAT 11%", "38.500.000"),
                ("Grand Total", "388.500.000"),
            ],
            ("350000000", "38500000", "388500000"),
            id="a down payment is taken off",
        ),
    ],
)
def test_down_payments_make_the_net(foot: Foot, wanted: Sums) -> None:
    assert sums_of([BUILDING], foot) == wanted


@pytest.mark.parametrize(
    ("foot", "wanted"),
    [
        pytest.param(
            [
                ("Subtotal", "100.00"),
                ("Discount 10%", "-10.00"),
                ("Tax 20%", "18.00"),
                ("Balance Due", "108.00"),
            ],
            ("100.00", "18.00", "108.00"),
            id="a discount between subtotal and tax",
        ),
        pytest.param(
            [
                ("Subtotal", "100.00"),
                ("Discount", "20.00"),
                ("Shipping", "5.00"),
                ("Total", "85.00"),
            ],
            ("100.00", None, "85.00"),
            id="a discount and freight without tax",
        ),
        pytest.param(
            [("SUBTOTAL", "100.00"), ("TAX 14.3%", "14.30"), ("GRAND TOTAL", "114")],
            ("100.00", "14.30", "114"),
            id="a total in whole units",
        ),
        pytest.param(
            [
                ("Subtotal", "100.00"),
                ("VAT 20%", "20.00"),
                ("Total", "120.00"),
                ("Less retention 5%", "-6.00"),
                ("Amount due", "114.00"),
            ],
            ("100.00", "20.00", "120.00"),
            id="retention",
        ),
        pytest.param(
            [("Subtotal", "100.00"), ("VAT 0% (reverse charge)", "0.00"), ("Total", "100.00")],
            ("100.00", "0.00", "100.00"),
            id="reverse charge",
        ),
        pytest.param(
            [("Total HT", "100.00"), ("TVA 20%", "20.00"), ("Total Net TTC", "120.00")],
            ("100.00", "20.00", "120.00"),
            id="a gross that is called net, too",
        ),
        pytest.param(
            [("Subtotal", "CN¥ 100.00"), ("Tax 6%", "CN¥ 6.00"), ("Total", "CN¥ 106.00")],
            ("100.00", "6.00", "106.00"),
            id="a currency that nobody knows",
        ),
    ],
)
def test_discounts_and_charges_are_part_of_the_sum(foot: Foot, wanted: Sums) -> None:
    assert sums_of([CHAIRS], foot) == wanted


def test_taxes_of_several_rates_are_added_up_and_none_proves_itself() -> None:
    rates = [("Net 7%", "100.00"), ("VAT 7%", "7.00"), ("Net 19%", "200.00"), ("VAT 19%", "38.00")]
    foot = [*rates, ("Total net", "300.00"), ("Total VAT", "45.00"), ("Total", "345.00")]

    assert sums_of([CHAIRS, BOOKS], foot) == ("300.00", "45.00", "345.00")


def test_amounts_that_stand_higher_than_their_labels_are_no_lines() -> None:
    texts: list[Text] = [*HEAD, *row(180, *HEADINGS), *row(200, *WORK)]
    foot = [("Sub Total", "100.000.000"), ("PPN 11%", "11.000.000"), ("Total", "111.000.000")]
    for at, (label, amount) in enumerate(foot):
        texts += [(40, 240 + 20 * at, label), (480, 235.2 + 20 * at, amount)]
    data = run(make_pdf([texts]))

    assert len(data["lines"]) == 1
    assert data["totals"]["net"] == "100000000"
    assert data["totals"]["tax"] == "11000000"
    assert data["totals"]["gross"] == "111000000"


def test_numbers_in_sentences_are_no_part_of_a_sum() -> None:
    note: Text = (40, 400, "The invoice is subject to final tax (PPh) 4 (2) with a rate of 10%.")
    foot = [(380, 240, "VAT 11%"), (480, 240, "11.000.000")]
    foot += [(380, 254, "Tax Art 4(2)"), (480, 254, "(10.000.000)")]
    foot += [(380, 268, "Grand Total"), (480, 268, "101.000.000")]
    data = run(make_pdf([[*HEAD, *row(180, *HEADINGS), *row(200, *WORK), *foot, note]]))

    assert Decimal(data["totals"]["tax"]) == 11_000_000
    assert Decimal(data["totals"]["net"]) == 100_000_000


def test_an_amount_in_a_sentence_is_not_the_total() -> None:
    note: Text = (
        40,
        400,
        "For your books only: the total of this invoice in euros comes to 4,210.55",
    )
    foot = [(380, 240, "Amount payable"), (480, 240, "100.00")]
    data = run(make_pdf([[*HEAD, *row(180, *HEADINGS), *row(200, *CHAIRS), *foot, note]]))

    assert data["totals"]["gross"] == "100.00"
