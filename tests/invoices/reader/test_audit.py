"""Where the page and the XML inside it differ."""

from docmill.invoices.reader.audit import add_differences, find_differences
from docmill.invoices.reader.model import Invoice
from docmill.reading.pages import Box, Value


def value(text: str, confidence: float = 0.95) -> Value:
    return Value(text, confidence, 1, Box(10, 20, 30, 40), text)


def invoice(gross: str, name: str = "Acme Ltd", amount: str = "5", sure: float = 0.95) -> Invoice:
    head = {"totals.gross": value(gross, sure), "seller.name": value(name)}
    return Invoice(head, ({"amount": value(amount)},))


def test_values_that_agree_are_no_difference() -> None:
    assert find_differences(invoice("600.00"), invoice("600", "ACME LTD")) == []


def test_a_difference_names_both_values_and_its_place() -> None:
    (found,) = find_differences(invoice("600.00"), invoice("660.00"))
    assert (found["path"], found["page"], found["xml"]) == ("totals.gross", "660.00", "600.00")
    assert found["place"] == {"page": 1, "box": [10, 20, 30, 40]}


def test_a_page_that_is_hard_to_read_says_nothing_against_the_xml() -> None:
    assert find_differences(invoice("600.00"), invoice("660.00", sure=0.5)) == []


def test_lines_are_compared_where_there_are_as_many() -> None:
    (found,) = find_differences(invoice("6", amount="5"), invoice("6", amount="7"))
    assert found["path"] == "lines[0].amount"
    more = Invoice(invoice("6").values, (*invoice("6").lines, *invoice("6").lines))
    assert find_differences(invoice("6", amount="7"), more) == []


def test_differences_join_what_is_to_be_reviewed() -> None:
    found = find_differences(invoice("600.00"), invoice("660.00"))
    data = add_differences({"review": ["currency"]}, found)
    assert data["review"] == ["currency", "totals.gross"]
    assert data["differences"] == found
