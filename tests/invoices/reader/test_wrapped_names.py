"""Names in two lines, places and codes that are no names, and other causes of real suppliers."""

import numpy as np
import pytest

from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.names import is_name, is_place, split_parts
from docmill.reading.cleaning import clean
from docmill.reading.pdfium import Characters
from docmill.reading.words import find_words
from eval.pdf import make_pdf
from invoice_pdfs import HEADINGS, paper, row, run

ROWS = [("1", "Paper A4", "10", "50.00", "500.00")]
TOTALS = [("Subtotal", "500.00"), ("VAT 20%", "100.00"), ("Total", "600.00")]
FACTS = [(420.0, 40.0, "Invoice No: A-17"), (420.0, 54.0, "Invoice date: 05.06.2024")]
SELLER = [(50.0, 40.0, "Vale Works Ltd"), (50.0, 52.0, "1 High Street"), (50.0, 64.0, "Tel 0113 4")]
SHIP = [(160.0, 100.0, "Ship to"), (160.0, 112.0, "Delta Yard"), (160.0, 124.0, "9 Dock Road")]

Texts = list[tuple[float, float, str]]


def read_buyer(texts: Texts) -> str | None:
    return run(paper(ROWS, TOTALS, [*FACTS, *SELLER, *texts]))["buyer"]["name"]


def test_a_name_goes_on_where_its_column_had_no_room_for_the_next_word() -> None:
    texts = [
        *((50.0, 100.0, "Bill to"), (50.0, 112.0, "Columbia Regional")),
        *((50.0, 124.0, "Irrigation Board"), (50.0, 136.0, "12 Quay Road"), *SHIP),
    ]
    assert read_buyer(texts) == "Columbia Regional Irrigation Board"


def test_a_person_under_a_company_is_no_part_of_its_name_where_there_was_room() -> None:
    texts = [
        *((50.0, 100.0, "Bill to"), (50.0, 112.0, "Columbia Dental")),
        *((50.0, 124.0, "Jane Hill"), (50.0, 136.0, "12 Quay Road")),
    ]
    assert read_buyer(texts) == "Columbia Dental"


def test_a_name_that_another_place_has_in_one_piece_is_not_cut() -> None:
    texts = [
        *((50.0, 100.0, "Bill to"), (50.0, 112.0, "Columbia Dental")),
        *((50.0, 124.0, "Jane Hill"), (50.0, 136.0, "12 Quay Road")),
        (50.0, 160.0, "Order of Columbia Dental Jane Hill"),
    ]
    assert read_buyer(texts) == "Columbia Dental Jane Hill"


def test_the_end_of_a_name_with_its_form_is_joined_to_the_line_above() -> None:
    texts = [
        *((50.0, 100.0, "Nabywca"), (50.0, 112.0, "Roboty Drogowe i Mostowe w")),
        *((50.0, 124.0, "Kielcach Sp. z o.o."), (50.0, 136.0, "ul. Polna 3")),
    ]
    assert read_buyer(texts) == "Roboty Drogowe i Mostowe w Kielcach Sp. z o.o."


def test_the_kind_of_an_organisation_in_the_second_line_is_part_of_its_name() -> None:
    texts = [
        *((50.0, 100.0, "Bill to"), (50.0, 112.0, "Aldbourne Village")),
        *((50.0, 124.0, "Hall Charity"), (50.0, 136.0, "12 Quay Road")),
    ]
    assert read_buyer(texts) == "Aldbourne Village Hall Charity"


@pytest.mark.parametrize(
    "text",
    [
        "Marlborough SN8 2DA",
        "Ottawa K1A 0B1",
        "Bay 4, Canal Wharf",
        "Unit 6 Weir Mill",
        "Camino s/n",
    ],
)
def test_a_line_of_an_address_is_a_place_and_no_name(text: str) -> None:
    assert is_place(text)
    assert not is_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "YK18 TRU",
        "Repairs · Servicing · Diagnostics",
        "dua juta tiga ratus ribu rupiah",
        "KUITANSI",
    ],
)
def test_a_code_a_list_of_services_and_an_amount_in_words_are_no_names(text: str) -> None:
    assert not is_name(text)


@pytest.mark.parametrize("text", ["Portes Quiles, C.B.", "Tech256 Studio", "MB Tech256"])
def test_a_form_nobody_listed_and_a_word_with_figures_may_be_names(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PT Karya Satu - PT Karya Dua", "PT Karya Satu - PT Karya Dua"),
        ("Delta - Comércio de Vidros, S.A.", "Delta - Comércio de Vidros, S.A."),
        ("Vale Works Ltd - 1 High Street - Leeds", "Vale Works Ltd"),
        ("Vale Works - your partner since 1990", "Vale Works"),
    ],
)
def test_a_dash_inside_a_name_does_not_end_it(text: str, name: str) -> None:
    assert split_parts(text)[0] == name


def test_who_owns_a_contract_is_billed_and_who_owns_an_account_is_paid() -> None:
    texts = [(50.0, 100.0, "Titular: Club Ribera"), (50.0, 112.0, "Contrato: 4471")]
    assert read_buyer(texts) == "Club Ribera"
    banked = [
        *((50.0, 100.0, "Cliente: Club Ribera"), (50.0, 130.0, "Titular: Vale Works Ltd")),
        (50.0, 142.0, "IBAN: ES91 2100 0418 4502 0005 1332"),
    ]
    assert read_buyer(banked) == "Club Ribera"


def test_the_buyer_stands_far_from_its_label_in_a_table_of_two_columns() -> None:
    rows = (("Number", "A-17"), ("Bill to", "Jane Hill"), ("Invoice date", "05.06.2024"))
    texts = [
        (x, 90.0 + 14 * at, text)
        for at, each in enumerate(rows)
        for x, text in zip((50.0, 320.0), each, strict=True)
    ]
    data = run(paper(ROWS, TOTALS, [*SELLER, *texts]))
    assert data["buyer"]["name"] == "Jane Hill"


def test_who_signs_is_not_the_seller_and_a_title_is_no_label_of_a_buyer() -> None:
    texts = [
        *(
            (50.0, 40.0, "factura"),
            (50.0, 60.0, "Titular: Club Ribera"),
            (340.0, 90.0, "17/10/2025"),
        ),
        *(
            (50.0, 90.0, "Portes Quiles, C.B."),
            (50.0, 102.0, "C/ Mayor 3"),
            (50.0, 114.0, "06001 Badajoz"),
        ),
        *((340.0, 150.0, "Lucia Ferrer"), (340.0, 162.0, "Gerente")),
    ]
    data = run(paper(ROWS, TOTALS, texts))
    assert (data["seller"]["name"], data["buyer"]["name"]) == ("Portes Quiles, C.B.", "Club Ribera")


def test_a_label_may_ask_for_the_name_of_a_party_and_hyphens_may_be_printed_ones() -> None:
    texts = [
        *((50.0, 90.0, "Nom du vendeur:"), (160.0, 90.0, "Compagnie des Nappes")),
        *((50.0, 110.0, "Nom de l'acheteur:"), (160.0, 110.0, "Les Coachs")),
        (50.0, 130.0, "Facture n° FA-0042"),
    ]
    data = run(paper(ROWS, TOTALS, texts))
    assert (data["seller"]["name"], data["buyer"]["name"]) == ("Compagnie des Nappes", "Les Coachs")
    assert clean("18\u201008\u20112026") == "18-08-2026"


def read_number(texts: Texts) -> str | None:
    return run(paper(ROWS, TOTALS, [*SELLER, *texts]))["invoice_number"]


def test_a_receipt_names_the_invoice_that_it_pays() -> None:
    texts = [(340.0, 40.0, "Invoice number A-17"), (340.0, 54.0, "Receipt number 2841-3435")]
    assert read_number([*texts, (340.0, 68.0, "Receipt number 2841-3435")]) == "A-17"
    assert read_number(texts[1:]) == "2841-3435"


def test_an_accent_printed_beside_its_letter_does_not_cut_a_label() -> None:
    texts = [
        (340.0, 40.0, "Numero"),
        (379.0, 40.0, "\u00b4"),
        (382.0, 40.0, "de facture: 2021-001-F"),
    ]
    assert read_number(texts) == "2021-001-F"


def test_a_town_with_its_zip_code_is_no_number() -> None:
    assert read_number([(340.0, 40.0, "Reno, NV 89502")]) is None


def test_the_invoice_that_is_credited_is_not_the_credit_notes_number() -> None:
    texts = [(340.0, 40.0, "KREDITFAKTURA"), (340.0, 52.0, "Nr 03606")]
    assert (
        read_number([*texts, (50.0, 150.0, "Krediterar faktura 60920 daterad 2025-07-20.")])
        == "03606"
    )


def test_a_word_behind_the_letters_that_end_a_number_is_part_of_it() -> None:
    assert read_number([(340.0, 40.0, "Invoice No: 202608.19-RAT Tunas")]) == "202608.19-RAT Tunas"


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("Inspection (VAT exempt)", "charge"),
        ("PPN 11% atas uang muka", "tax"),
        ("Uang Muka (DP) 30%", "paid"),
        ("Cuota de servicio", ""),
        ("Cuota IVA 21%", "tax"),
    ],
)
def test_what_a_label_makes_of_an_amount(label: str, role: str) -> None:
    assert find_role(label)[0] == role


def test_a_down_payment_and_its_tax_are_the_totals_where_they_come_to_what_is_due() -> None:
    totals = [("Total Pesanan", "500.00"), ("Uang Muka (DP) 30%", "150.00")]
    totals += [("PPN 11% atas uang muka", "16.50"), ("Total yang harus dibayar saat ini", "166.50")]
    data = run(paper(ROWS, totals, [*FACTS, *SELLER]))
    assert data["totals"]["gross"] == "166.50"
    assert data["totals"]["tax"] == "16.50"


def test_a_row_of_rates_and_a_credit_of_nothing_are_no_lines() -> None:
    texts = [*FACTS, *SELLER, *row(180, *HEADINGS), *row(196, *ROWS[0])]
    texts += [(380.0, 210.0, "Credit"), (480.0, 210.0, "0.00")]
    texts += [(380.0, 224.0, "Total"), (480.0, 224.0, "500.00")]
    assert [line["amount"] for line in run(make_pdf([texts]))["lines"]] == ["500.00"]


def test_line_ends_that_pdfium_makes_up_between_touching_letters_tear_no_word() -> None:
    boxes = np.array([[0, 0, 5, 9], [5, 9, 5, 9], [5, 9, 5, 9], [5, 0, 10, 9]], np.float64)
    codes = np.array([ord("a"), 0x0D, 0x0A, ord("b")], np.uint32)

    def read(made: np.ndarray) -> list[str]:
        chars = Characters(codes, made, lambda _index: 0.0, lambda _index: False)
        return [word.text for word in find_words(chars, (100.0, 100.0))]

    assert read(boxes) == ["ab"]
    apart = boxes + np.array([[0.0] * 4] * 3 + [[2.0, 0.0, 2.0, 0.0]])
    assert read(apart) == ["a", "b"]
