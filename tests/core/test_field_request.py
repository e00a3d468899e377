import json
from typing import Any

import pytest

from docmill.core.faults import DocmillError
from docmill.core.field_request import RequestedField, parse_fields, read_fields
from docmill.core.fields import ValueKind


def asked(text: str) -> tuple[RequestedField, ...]:
    kept = json.loads(json.dumps({"fields": parse_fields(text)}))
    return read_fields(kept)


def mistake(text: str) -> str:
    with pytest.raises(DocmillError) as caught:
        parse_fields(text)
    assert caught.value.fault.status == 400
    (told,) = caught.value.facts["mistakes"]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    return f"{told['at']}: {told['message']}"


def schema(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties})


def test_a_list_names_fields_and_their_types() -> None:
    assert asked("invoice_no, total:Amount ,due : date,paid:bool") == (
        RequestedField("invoice_no"),
        RequestedField("total", ValueKind.AMOUNT),
        RequestedField("due", ValueKind.DATE),
        RequestedField("paid", ValueKind.YES_NO),
    )


def test_a_json_schema_says_the_same_and_more() -> None:
    given = schema(
        invoice_no={"type": "string"},
        due={"type": ["string", "null"], "format": "date", "title": "Pay until"},
        total={"type": "string", "format": "amount", "description": "what must\n be paid"},
        pages={"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        paid={"type": "boolean"},
    )
    assert asked(given) == (
        RequestedField("invoice_no"),
        RequestedField("due", ValueKind.DATE, "Pay until"),
        RequestedField("total", ValueKind.AMOUNT, "", "what must be paid"),
        RequestedField("pages", ValueKind.INTEGER),
        RequestedField("paid", ValueKind.YES_NO),
    )
    assert parse_fields(schema(a={"type": "string"})) == parse_fields("a")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "asks for nothing"),
        ("a,,b", "1 to 64 letters"),
        ("12", "a letter among them"),
        ("a" * 65, "1 to 64 letters"),
        ("a\nb", "1 to 64 letters"),
        ("a,b,a", "'a' is asked for twice"),
        ("total:money bag", "there is no type 'money bag'; types are text, amount"),
        (",".join(f"f{at}" for at in range(51)), "asks for 51 fields; at most 50"),
        ("{", "begins like JSON and is none"),
        ("[" * 100_000, "begins like JSON and is none"),
        ('["a"]', "not an array"),
        ("{}", '"properties"'),
        ('{"type": "array", "properties": {}}', '"properties"'),
        ('{"properties": {}}', "asks for nothing"),
        ('{"properties": {"a": 1}}', "fields.properties.a: must be an object"),
        (schema(a={"type": "object"}), "fields.properties.a: is an object in an object"),
        (schema(a={"type": ["string", "number"]}), "one type, or that and null"),
        (schema(a={"type": 7}), "one type"),
        (schema(a={"anyOf": [["x"], 3]}), "one type"),
        (schema(a={"type": "string", "pattern": "x"}), "'pattern' is not understood"),
        (schema(a={"type": "string", "format": "uri"}), "there is no type 'uri'"),
        (schema(a={"type": "boolean", "format": "date"}), "format goes with"),
        (schema(a={"type": "string", "title": 3}), "fields.properties.a.title: must be text"),
    ],
)
def test_a_bad_schema_is_refused_with_what_is_wrong(text: str, says: str) -> None:
    assert says in mistake(text)


def test_fifty_fields_are_taken() -> None:
    assert len(asked(",".join(f"f{at}" for at in range(50)))) == 50
