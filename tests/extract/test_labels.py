import io

import pytest

from docmill.core.plugins import PDF
from docmill.extract.reader.labels import LabelledField, find_fields
from docmill.reading.documents import open_document
from pdfs import Text, make_pdf


def fields(*page: Text) -> list[LabelledField]:
    with open_document(io.BytesIO(make_pdf([page])), PDF) as document:
        return find_fields(next(document.pages))


def said(*page: Text) -> list[tuple[str, str]]:
    return [(field.name, field.value.text) for field in fields(*page)]


def test_a_value_follows_its_colon() -> None:
    assert said((72, 72, "Invoice No: INV-17")) == [("Invoice No", "INV-17")]


def test_a_value_glued_to_its_colon_is_found_with_its_place() -> None:
    (field,) = fields((72, 72, "GTIN:598785412598745"))

    assert (field.name, field.value.text) == ("GTIN", "598785412598745")
    assert field.label.box.x1 == field.value.box.x0


def test_several_pairs_in_one_run_are_told_apart() -> None:
    assert said((72, 72, "SIRET : 12345678 - DUNS : D1235")) == [
        ("SIRET", "12345678"),
        ("DUNS", "D1235"),
    ]
    assert said((72, 72, "Date: 31.01.2024 Order No: 55")) == [
        ("Date", "31.01.2024"),
        ("Order No", "55"),
    ]
    assert said((72, 72, "Company no: 514440874; Withheld tax file: 917369274")) == [
        ("Company no", "514440874"),
        ("Withheld tax file", "917369274"),
    ]


def test_a_value_may_stand_to_the_right_of_its_label() -> None:
    assert said((72, 72, "Due date:"), (200, 72, "31.01.2024")) == [("Due date", "31.01.2024")]
    assert said((72, 72, "Due date"), (200, 72, "31.01.2024")) == [("Due date", "31.01.2024")]
    assert said((72, 72, "Due date"), (200, 72, ": 31.01.2024")) == [("Due date", "31.01.2024")]


def test_a_value_may_stand_below_its_label() -> None:
    assert said((72, 72, "Bill to:"), (72, 86, "Ann Smith")) == [("Bill to", "Ann Smith")]
    assert said((72, 72, "Invoice date"), (72, 86, "31.01.2024")) == [
        ("Invoice date", "31.01.2024")
    ]


def test_a_table_column_is_not_a_field() -> None:
    rows: list[Text] = [(72, 86 + 14 * row, f"{row}.50") for row in range(4)]

    assert said((72, 72, "Price"), *rows) == []


@pytest.mark.parametrize(
    "text", ["See https://example.com/a:b", "It is 10:30 now", "Just a sentence without anything."]
)
def test_text_without_fields_gives_none(text: str) -> None:
    assert said((72, 72, text)) == []


def test_a_colon_and_a_known_look_are_surer_than_a_gap_and_plain_text() -> None:
    (colon_typed,) = fields((72, 72, "Date: 31.01.2024"))
    (colon_text,) = fields((72, 72, "Name: Ann Smith"))
    (gap_typed,) = fields((72, 72, "Date"), (200, 72, "31.01.2024"))
    (below_typed,) = fields((72, 72, "Date"), (72, 86, "31.01.2024"))
    sure = [field.confidence for field in (colon_typed, colon_text, gap_typed, below_typed)]

    assert sure == sorted(sure, reverse=True)
    assert len(set(sure)) == 4
    assert all(0 < one < 1 for one in sure)


def test_a_town_with_its_code_and_a_time_of_day_name_nothing() -> None:
    assert said((72, 72, "06000 Nice"), (72, 86, "me@buyer.example")) == []
    assert said((72, 72, "until 17:39 Part: 1/4")) == []


def test_a_label_whose_colon_stands_apart_is_not_the_value_above_it() -> None:
    page: tuple[Text, ...] = ((72, 72, "Buyer:"), (72, 86, "Number"), (200, 86, ": 549910"))

    assert said(*page) == [("Number", "549910")]
