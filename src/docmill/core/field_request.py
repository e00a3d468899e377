"""Fields somebody asks for by name: `total:amount,due:date`, or a JSON Schema of an object.

Both become the same plain list, which is part of what makes two jobs the same.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.fields import ValueKind
from docmill.core.json_values import is_list, is_object

OPTION: Final = "fields"
MOST: Final = 50
LONGEST: Final = 64 << 10  # bytes of a schema
LONGEST_NAME: Final = 64
LONGEST_WORDS: Final = 300
HELP: Final = (
    f"Up to {MOST} fields for extract to find: name or name:type, separated by commas, or a "
    "JSON Schema of an object. Types: text, amount, number, integer, date, id, currency, yes/no"
)

_NAME: Final = re.compile(rf"(?=.*[^\W\d_])\w[\w .#/-]{{0,{LONGEST_NAME - 1}}}")
_ALOUD: Final = frozenset({"title", "description", "default", "examples", "deprecated"})
_SHAPE: Final = frozenset({"type", "format", "anyOf"})
_AROUND: Final = _ALOUD | {
    "$schema", "$id", "$comment", "type", "properties", "required", "additionalProperties",
}  # fmt: skip


_ALSO: Final = {
    "string": ValueKind.TEXT, "money": ValueKind.AMOUNT, "float": ValueKind.NUMBER,
    "decimal": ValueKind.NUMBER,
    "int": ValueKind.INTEGER, "bool": ValueKind.YES_NO, "boolean": ValueKind.YES_NO,
    "yesno": ValueKind.YES_NO,
}  # fmt: skip
_JSON: Final = {
    "string": ValueKind.TEXT, "number": ValueKind.NUMBER, "integer": ValueKind.INTEGER,
    "boolean": ValueKind.YES_NO,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RequestedField:
    """One field: its name, what its value shall be, and more words that tell it."""

    name: str
    kind: ValueKind = ValueKind.TEXT
    title: str = ""
    description: str = ""


class FieldRequestError(Exception):
    """Where a schema is wrong, and how."""

    def __init__(self, message: str, at: str = OPTION) -> None:
        super().__init__(message)
        self.message: str = message
        self.at: str = at


def parse_fields(text: str) -> list[dict[str, str]]:
    """A schema as a job keeps it. Raises BAD_REQUEST, which says what is wrong with it."""
    try:
        fields = [*_parse_text(text.strip())]
        _check_fields(fields)
    except FieldRequestError as exc:
        raise refuse_fields(exc.message, exc.at) from exc
    return [{key: str(said) for key, said in asdict(field).items() if said} for field in fields]


def refuse_fields(message: str, at: str = OPTION) -> DocmillError:
    mistakes = [{"at": at, "message": message}]
    return DocmillError("BAD_REQUEST", f"{at}: {message}", mistakes=mistakes)


def read_fields(options: Mapping[str, Any]) -> tuple[RequestedField, ...]:
    """The fields that a job's options ask for."""
    kept: Sequence[Mapping[str, str]] = options.get(OPTION) or ()
    return tuple(
        RequestedField(
            field["name"],
            ValueKind(field["kind"]),
            field.get("title", ""),
            field.get("description", ""),
        )
        for field in kept
    )


def _check_fields(fields: Sequence[RequestedField]) -> None:
    if not fields:
        raise FieldRequestError("asks for nothing; name at least one field")
    if len(fields) > MOST:
        raise FieldRequestError(f"asks for {len(fields)} fields; at most {MOST} at a time")
    seen: set[str] = set()
    for field in fields:
        if not _NAME.fullmatch(field.name):
            says = f"a name has 1 to {LONGEST_NAME} letters, figures, spaces or _ . # / -"
            raise FieldRequestError(
                f"{field.name[:LONGEST_NAME]!r}: {says}, and a letter among them"
            )
        if field.name in seen:
            raise FieldRequestError(f"{field.name!r} is asked for twice")
        seen.add(field.name)


def _parse_text(text: str) -> Iterator[RequestedField]:
    if text.startswith(("{", "[")):
        yield from _read_schema(_parse_json(text))
        return
    for item in text.split(",") if text else ():
        name, _, kind = (part.strip() for part in item.partition(":"))
        at = f"{OPTION}.{name[:LONGEST_NAME]}"
        yield RequestedField(name, _find_kind(kind, at) if kind else ValueKind.TEXT)


def _parse_json(text: str) -> Mapping[str, Any]:
    try:
        schema: Any = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise FieldRequestError(f"begins like JSON and is none: {exc}") from exc
    if not is_object(schema):
        raise FieldRequestError("a JSON Schema of an object is wanted, not an array")
    return schema


def _read_schema(schema: Mapping[str, Any]) -> Iterator[RequestedField]:
    _check_known(schema, _AROUND, OPTION)
    properties: Any = schema.get("properties")
    if schema.get("type", "object") != "object" or not is_object(properties):
        raise FieldRequestError('must be {"type": "object", "properties": {...}}')
    for name, field in properties.items():
        at = f"{OPTION}.properties.{name[:LONGEST_NAME]}"
        if not is_object(field):
            raise FieldRequestError("must be an object such as {'type': 'string'}", at)
        _check_flat(field, at)
        _check_known(field, _ALOUD | _SHAPE, at)
        words = [_read_words(field, key, at) for key in ("title", "description")]
        yield RequestedField(name, _read_kind(field, at), *words)


def _check_flat(field: Mapping[str, Any], at: str) -> None:
    """Fields are one value each, and the refusal says where the rest is to be had."""
    told: Any = field.get("type")
    types = told if is_list(told) else [told]
    if "object" in types or "properties" in field:
        message = "is an object in an object; ask for each of its fields by itself: seller_name"
        raise FieldRequestError(message, at)
    if "array" in types or "items" in field:
        message = "is a list; a field is one value, and rows are in the result's tables"
        raise FieldRequestError(message, at)


def _check_known(schema: Mapping[str, Any], known: frozenset[str], at: str) -> None:
    """A rule that nobody would keep is better refused."""
    other = sorted(set(schema) - known)
    if other:
        raise FieldRequestError(f"{other[0]!r} is not understood here; leave it out", at)


def _read_words(field: Mapping[str, Any], key: str, at: str) -> str:
    said: Any = field.get(key, "")
    if not isinstance(said, str):
        raise FieldRequestError("must be text", f"{at}.{key}")
    return " ".join(said.split())[:LONGEST_WORDS]


def _read_kind(field: Mapping[str, Any], at: str) -> ValueKind:
    name = _read_type(field, at)
    if name not in _JSON:
        raise FieldRequestError(f"type must be one of {', '.join(_JSON)}, not {name!r}", at)
    form: Any = field.get("format")
    if form is None or form == "email":
        return _JSON[name]
    if not isinstance(form, str) or name not in {"string", "number"}:
        raise FieldRequestError("format goes with the types string and number", at)
    return _find_kind(form, at)


def _read_type(field: Mapping[str, Any], at: str) -> str:
    """The type's name; that a value may also be null is understood."""
    told: Any = field.get("type")
    choices: Any = field.get("anyOf")
    if told is None and is_list(choices):
        told = [one.get("type") if is_object(one) else one for one in choices]
    several = told if is_list(told) else [told or "string"]
    named = [one for one in several if one != "null"]
    if len(named) != 1 or not isinstance(named[0], str):
        raise FieldRequestError("must have one type, or that and null", at)
    return named[0]


def _find_kind(word: str, at: str) -> ValueKind:
    plain = word.lower().replace("yes_no", "yesno")
    known = _ALSO.get(plain) or (ValueKind(plain) if plain in {*ValueKind} else None)
    if known is None:
        raise FieldRequestError(
            f"there is no type {word[:40]!r}; types are {', '.join(ValueKind)}", at
        )
    return known
