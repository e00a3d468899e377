import pytest

from docmill.extract.reader.values import kind_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("31.01.2024", "date"),
        ("2024-01-31", "date"),
        ("1/31/24", "date"),
        ("31. Januar 2024", "date"),
        ("January 31, 2024", "date"),
        ("1.234,56", "amount"),
        ("1,234.56 EUR", "amount"),
        ("€ 12", "amount"),
        ("-5,00", "amount"),
        ("Rp 1.500.000", "amount"),
        ("ann@example.com", "email"),
        ("INV-2024/17", "id"),
        ("DE89 3704 0044 0532 0130 00", "id"),
        ("4711", "id"),
        ("MUSTERSTRASSE 5", "text"),
        ("net 30 days", "text"),
        ("", "text"),
    ],
)
def test_a_value_is_named_by_its_look(text: str, expected: str) -> None:
    assert kind_of(text) == expected
