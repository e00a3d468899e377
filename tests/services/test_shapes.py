"""What a model wrote is read strictly and held against its schema."""

from typing import Any

import pytest

from docmill.services.shapes import MOST_ITEMS, find_mismatch, parse_object

LINE: dict[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": ["string", "null"]}},
    "required": ["amount"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total": {"type": ["string", "null"]},
        "side": {"type": "string", "enum": ["buy", "sell"]},
        "lines": {"type": "array", "items": LINE},
    },
    "required": ["total", "side", "lines"],
    "additionalProperties": False,
}
GOOD: dict[str, Any] = {"total": "5", "side": "buy", "lines": [{"amount": "5"}]}


@pytest.mark.parametrize(
    "text",
    ["", "null", "[1]", "{", '{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}',
     '{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 1}}', "```json\n{}\n```", "Here it is: {}"],
)  # fmt: skip
def test_what_is_no_plain_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_object(text)


def test_an_object_is_read() -> None:
    assert parse_object('{"a": [1, 2.5, null, "x"]}') == {"a": [1, 2.5, None, "x"]}


@pytest.mark.parametrize("given", [{}, {"total": None}, {"total": 5}, {"lines": []}])
def test_an_answer_of_the_schema_is_taken(given: dict[str, Any]) -> None:
    """A number for a text says the same; what may be null may be missing."""
    assert find_mismatch({**GOOD, **given}, SCHEMA) == ""
    assert find_mismatch({name: GOOD[name] for name in ("side", "lines")}, SCHEMA) == ""


WRONG: list[dict[str, Any]] = [
    {"total": ["5"]}, {"total": True}, {"total": {"a": 1}}, {"side": "hold"}, {"side": None},
    {"lines": {}}, {"lines": ["5"]}, {"lines": [{"amount": [1]}]}, {"lines": [{"sum": "1"}]},
    {"extra": 1}, {"lines": [{}] * (MOST_ITEMS + 1)}, {"total": "9" * 100_000},
]  # fmt: skip


@pytest.mark.parametrize("given", WRONG)
def test_an_answer_of_another_shape_is_refused(given: dict[str, Any]) -> None:
    assert find_mismatch({**GOOD, **given}, SCHEMA) != ""


@pytest.mark.parametrize("given", [[], "text", None, 3])
def test_something_else_than_an_object_is_refused(given: Any) -> None:
    assert find_mismatch(given, SCHEMA) != ""
