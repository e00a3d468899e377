"""What public templates print: names left open, parties without a form of company."""

from typing import Any

import pytest

from docmill.invoices.reader.names import is_name, is_placeholder, is_town
from docmill.reading.labels import names_company
from eval.pdf import make_pdf
from invoice_pdfs import HEADINGS, paper, row, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FACTS = [(420.0, 40.0, "Invoice No: A-17"), (420.0, 54.0, "Invoice date: 05.06.2024")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]

Texts = list[tuple[float, float, str]]


def read_names(texts: Texts) -> tuple[str | None, str | None]:
    found = run(paper(ROWS, TOTALS, [*FACTS, *texts]))
    return found["seller"]["name"], found["buyer"]["name"]


def test_words_left_open_in_a_template_are_a_name_over_an_address() -> None:
    texts = [
        *((50.0, 100.0, "Invoice to"), (50.0, 112.0, "Client Name")),
        *((50.0, 124.0, "12 Quay Road"), (50.0, 136.0, "Dover, DE 19901")),
    ]
    assert read_names([*SELLER, *texts]) == ("Vale Works Ltd", "Client Name")


def test_the_same_words_are_a_label_where_a_name_follows() -> None:
    texts = [
        *((50.0, 100.0, "Client Name"), (50.0, 112.0, "Delta Yard")),
        *((50.0, 124.0, "12 Quay Road"), (50.0, 136.0, "Dover, DE 19901")),
    ]
    assert read_names([*SELLER, *texts])[1] == "Delta Yard"


@pytest.mark.parametrize(
    "text", ["Your Company", "[Company Name]", "Client Name", "Customer Company", "Kundenname"]
)
def test_what_a_template_leaves_open_is_a_name_only_where_one_is_due(text: str) -> None:
    assert is_placeholder(text)
    assert is_name(text, given=True)


def test_a_town_with_its_state_is_no_name() -> None:
    assert is_town("Dover, DE 19901")
    assert not is_town("Dover Works, Quay Road 12")


def test_sirs_before_a_name_are_no_part_of_it() -> None:
    texts = [
        (50.0, 100.0, "Bill to"),
        (50.0, 112.0, "M/s. Delta Yard"),
        (50.0, 124.0, "9 Dock Road"),
    ]
    assert read_names([*SELLER, *texts])[1] == "Delta Yard"


def read_head(facts: Texts, totals: list[tuple[str, str]] = TOTALS) -> dict[str, Any]:
    return run(paper(ROWS, totals, [*SELLER, (420.0, 40.0, "Invoice No: A-17"), *facts]))


def test_the_month_comes_first_or_last_so_that_payment_is_due_after_the_invoice() -> None:
    found = read_head([(420.0, 54.0, "Date: 09/08/2025"), (420.0, 68.0, "Due Date: 08/09/2025")])
    assert (found["issue_date"], found["due_date"]) == ("2025-08-09", "2025-09-08")


def test_the_month_comes_first_or_last_so_that_payment_is_due_soon() -> None:
    found = read_head(
        [
            *((420.0, 54.0, "Date: 02/09/2025"), (420.0, 68.0, "Due Date: 09/09/2025")),
            (50.0, 76.0, "Dover, DE 19901, United States"),
        ]
    )
    assert (found["issue_date"], found["due_date"]) == ("2025-09-02", "2025-09-09")


def test_the_day_of_the_order_is_that_of_an_invoice_which_has_no_other() -> None:
    order = (420.0, 54.0, "Order Date: 5 June 2024")
    assert read_head([order])["issue_date"] == "2024-06-05"
    issued = (420.0, 68.0, "Invoice Date: 7 June 2024")
    assert read_head([order, issued])["issue_date"] == "2024-06-07"


def test_a_letter_before_amounts_is_the_rand() -> None:
    totals = [("Subtotal", "R 500.00"), ("VAT 20%", "R 100.00"), ("Total", "R 600.00")]
    date = (420.0, 54.0, "Invoice Date: 7 June 2024")
    assert read_head([date], totals)["currency"] == "ZAR"


def test_a_count_before_the_words_of_a_line_is_its_quantity() -> None:
    texts = [
        *((50.0, 200.0, "Item"), (480.0, 200.0, "Amount")),
        *((50.0, 214.0, "3 x Coffee"), (480.0, 214.0, "12.00")),
        *((50.0, 228.0, "1 x Cake"), (480.0, 228.0, "5.00")),
        *((50.0, 250.0, "Total"), (480.0, 250.0, "17.00")),
    ]
    lines = run(make_pdf([[*SELLER, *FACTS, *texts]]))["lines"]
    assert [(line["description"], line["quantity"]) for line in lines] == [
        ("Coffee", "3"),
        ("Cake", "1"),
    ]


def test_a_sentence_with_words_of_headings_heads_no_lines() -> None:
    prose = (
        "please find the charges for work that was carried out, and pay the whole sum in 15 days"
    )
    texts = [
        *((50.0, 180.0, prose), (50.0, 200.0, "Description"), (480.0, 200.0, "Fee (USD)")),
        *((50.0, 214.0, "Product 1"), (480.0, 214.0, "1,686.81")),
        *((50.0, 228.0, "Product 2"), (480.0, 228.0, "313.19")),
        *((50.0, 250.0, "Total"), (480.0, 250.0, "2,000.00")),
    ]
    lines = run(make_pdf([[*SELLER, *FACTS, *texts]]))["lines"]
    assert [line["amount"] for line in lines] == ["1686.81", "313.19"]


def test_a_letter_is_part_of_an_amount_that_it_touches() -> None:
    totals = [("Subtotal", "R500.00"), ("VAT 20%", "R100.00"), ("Total", "R600.00")]
    date = (420.0, 54.0, "Invoice Date: 7 June 2024")
    assert read_head([date], totals)["totals"]["gross"] == "600.00"


def test_who_has_paid_is_named_in_the_sentence_of_a_receipt() -> None:
    texts = [(50.0, 100.0, "Received with thanks from Neha Gupta"), (50.0, 112.0, "9 Dock Road")]
    assert read_names([*SELLER, *texts])[1] == "Neha Gupta"


def test_a_mailbox_at_a_shared_host_names_its_owner() -> None:
    texts = [
        *((50.0, 40.0, "Jo Bloggs"), (50.0, 52.0, "27 Quay Road"), (50.0, 64.0, "Leeds LS1 4AP")),
        *((300.0, 40.0, "Hannah Lowe"), (300.0, 52.0, "1 High Street")),
        *((300.0, 64.0, "London SW1A 1AA"), (300.0, 90.0, "hannahlowe@gmail.com")),
    ]
    assert read_names(texts) == ("Hannah Lowe", "Jo Bloggs")


def test_a_town_with_a_postcode_behind_a_comma_is_no_name() -> None:
    assert is_town("Durban, 4001")


def test_the_day_of_payment_is_that_of_a_receipt_which_has_no_other() -> None:
    assert read_head([(420.0, 54.0, "Date paid: 7 June 2024")])["issue_date"] == "2024-06-07"


def test_a_tax_that_a_total_includes_is_the_tax() -> None:
    texts = [*row(180, *HEADINGS), *row(196, *ROWS[0])]
    foot = [(440.0, 224.0, "Total £500.00"), (440.0, 238.0, "Includes VAT of £83.33")]
    totals = run(make_pdf([[*SELLER, *FACTS, *texts, *foot]]))["totals"]
    assert (totals["tax"], totals["gross"]) == ("83.33", "500.00")


def test_the_year_of_the_day_of_payment_is_no_amount() -> None:
    texts = [(420.0, 68.0, "Payment due June 19, 2024"), (440.0, 250.0, "Total due $500.00")]
    lines = [(50.0, 214.0, "Retouching"), (440.0, 214.0, "$500.00")]
    assert run(make_pdf([[*SELLER, *FACTS, *texts, *lines]]))["totals"]["gross"] == "500.00"


def test_lines_without_a_heading_come_to_what_is_due() -> None:
    texts = [
        *((50.0, 214.0, "Half-day session"), (480.0, 214.0, "$450.78")),
        *((50.0, 228.0, "Retouching"), (480.0, 228.0, "$100.22")),
        *((400.0, 250.0, "Total due"), (480.0, 250.0, "$551.00")),
    ]
    lines = run(make_pdf([[*SELLER, *FACTS, *texts]]))["lines"]
    assert [line["amount"] for line in lines] == ["450.78", "100.22"]


def test_who_a_paper_is_for_stands_in_the_line_over_an_address() -> None:
    texts = [(50.0, 100.0, "Invoice for Delta Yard"), (50.0, 112.0, "Dover, DE 19901")]
    assert read_names([*SELLER, *texts])[1] == "Delta Yard"
    texts = [(50.0, 100.0, "Invoice for Garden Works"), (50.0, 112.0, "All prices in dollars")]
    assert read_names([*SELLER, *texts])[1] != "Garden Works"


def test_the_line_over_an_attention_is_the_buyer() -> None:
    buyer = [
        *((50.0, 40.0, "Corner Diner"), (50.0, 52.0, "Attention: Tom Reed")),
        *((50.0, 64.0, "7 Dock Court"), (50.0, 76.0, "Newtown NSW 2042")),
    ]
    seller = [
        *((300.0, 40.0, "Vale Electrical"), (300.0, 52.0, "18 Station Street")),
        (300.0, 64.0, "Broome WA 6725"),
    ]
    assert read_names([*buyer, *seller]) == ("Vale Electrical", "Corner Diner")


def test_the_title_of_a_paper_is_no_name_whatever_it_is_for() -> None:
    assert not is_name("RENT INVOICE")
    assert not is_name("Home Repair Invoice")


def test_who_lets_is_the_seller_of_a_rent() -> None:
    texts = [
        *((50.0, 100.0, "Landlord / Agent"), (50.0, 112.0, "Delta Yard"), (50.0, 124.0, "9 Road")),
        *((300.0, 100.0, "Tenant"), (300.0, 112.0, "Vale Coffee"), (300.0, 124.0, "7 Street")),
    ]
    assert read_names(texts) == ("Delta Yard", "Vale Coffee")


def test_a_county_is_no_company() -> None:
    assert not names_company("Harbour Park, Westport, Co. Mayo")
    assert names_company("Smith & Co. Leeds")
    assert names_company("Vale Trading Co.")


def test_a_name_that_a_line_gives_may_end_in_a_number() -> None:
    texts = [(50.0, 100.0, "Prepared for Bayside Strata Plan 4471, 7 Dock Court, Dover, DE 19901")]
    assert read_names([*SELLER, *texts])[1] == "Bayside Strata Plan 4471"


def test_the_first_day_in_the_lines_is_not_that_of_the_invoice() -> None:
    texts = [
        *((250.0, 100.0, "INVOICE 127"), (250.0, 112.0, "2 February 2026")),
        *((50.0, 200.0, "Lesson date"), (200.0, 200.0, "Subject"), (300.0, 200.0, "Hours")),
        *((400.0, 200.0, "Price"), (500.0, 200.0, "Amount"), (50.0, 214.0, "29 January 2026")),
        *((200.0, 214.0, "Physics"), (300.0, 214.0, "1.50"), (400.0, 214.0, "£88.00")),
        *((500.0, 214.0, "£132.00"), (50.0, 228.0, "Total"), (500.0, 228.0, "£132.00")),
    ]
    assert run(make_pdf([[*SELLER, *texts]]))["issue_date"] == "2026-02-02"


def test_what_repeats_the_amount_of_the_only_line_is_no_line() -> None:
    sums = [("Goods", "500.00"), ("Less discount", "-5.00"), ("Total excl. VAT", "495.00")]
    sums += [("VAT 20%", "99.00"), ("Invoice total", "594.00")]
    foot = [
        text
        for at, (label, amount) in enumerate(sums)
        for text in ((400.0, 212.0 + 14 * at, label), (500.0, 212.0 + 14 * at, amount))
    ]
    texts = [*row(180, "", *HEADINGS[1:]), *row(196, "", *ROWS[0][1:])]
    lines = run(make_pdf([[*SELLER, *FACTS, *texts, *foot]]))["lines"]
    assert [line["amount"] for line in lines] == ["500.00"]


def test_more_labels_of_what_is_to_be_paid() -> None:
    texts = [*row(180, *HEADINGS), *row(196, *ROWS[0]), (440.0, 224.0, "Total inc GST $500.00")]
    assert run(make_pdf([[*SELLER, *FACTS, *texts]]))["totals"]["gross"] == "500.00"
    texts = [
        *((50.0, 200.0, "Half-day session"), (480.0, 200.0, "$ 1,754.70")),
        *((50.0, 214.0, "Travel"), (480.0, 214.0, "$ 200.94")),
        *((50.0, 240.0, "Please remit"), (480.0, 240.0, "$ 1,955.64")),
    ]
    assert run(make_pdf([[*SELLER, *FACTS, *texts]]))["totals"]["gross"] == "1955.64"


def test_the_title_of_a_confirmation_is_no_name() -> None:
    assert not is_name("Booking confirmation and invoice")


def test_who_checks_are_made_out_to_is_the_seller() -> None:
    texts = [
        *((50.0, 100.0, "Service for:"), (50.0, 112.0, "Delta Yard"), (50.0, 124.0, "9 Dock Road")),
        *((50.0, 400.0, "Delta Yard"), (50.0, 412.0, "9 Dock Road")),
        *((300.0, 400.0, "Please make checks payable to:"), (300.0, 412.0, "Vale Coffee")),
        (300.0, 424.0, "7 Mill Street"),
    ]
    assert read_names(texts) == ("Vale Coffee", "Delta Yard")


def test_a_number_in_brackets_behind_the_word_invoice_is_its_number() -> None:
    texts = [
        *(
            (50.0, 100.0, "Please find below my invoice (2026/5350) for the work we agreed."),
            (50.0, 112.0, "7 June 2024"),
        ),
        *row(180, *HEADINGS),
        *row(196, *ROWS[0]),
    ]
    assert run(make_pdf([[*SELLER, *texts]]))["invoice_number"] == "2026/5350"
