"""Fields somebody asks for by name: `total:amount,due:date`, or a JSON Schema of an object.

Both become the same plain list, which is part of what makes two jobs the same.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, cast

from docmill.core.faults import Faulted

OPTION: Final = "fields"
MOST: Final = 50
LONGEST: Final = 64 << 10  # bytes of a schema
LONGEST_NAME: Final = 64
LONGEST_WORDS: Final = 300
SAYS: Final = (
    f"Up to {MOST} fields that extract shall find: name or name:type with commas between, or a "
    "JSON Schema of an object. Types: text, amount, number, integer, date, id, currency, yes/no"
)

_NAME: Final = re.compile(rf"(?=.*[^\W\d_])\w[\w .#/-]{{0,{LONGEST_NAME - 1}}}")
_ALOUD: Final = frozenset({"title", "description", "default", "examples", "deprecated"})
_SHAPE: Final = frozenset({"type", "format", "anyOf"})
_AROUND: Final = _ALOUD | {
    "$schema", "$id", "$comment", "type", "properties", "required", "additionalProperties",
}  # fmt: skip


class Kind(StrEnum):
    """What a value shall be."""

    TEXT = "text"
    AMOUNT = "amount"
    NUMBER = "number"
    INTEGER = "integer"
    DATE = "date"
    ID = "id"
    CURRENCY = "currency"
    YES_NO = "yes/no"


_ALSO: Final = {
    "string": Kind.TEXT, "money": Kind.AMOUNT, "float": Kind.NUMBER, "decimal": Kind.NUMBER,
    "int": Kind.INTEGER, "bool": Kind.YES_NO, "boolean": Kind.YES_NO, "yesno": Kind.YES_NO,
}  # fmt: skip
_JSON: Final = {
    "string": Kind.TEXT, "number": Kind.NUMBER, "integer": Kind.INTEGER, "boolean": Kind.YES_NO,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """One field: its name, what its value shall be, and more words that tell it."""

    name: str
    kind: Kind = Kind.TEXT
    title: str = ""
    description: str = ""


class Mistake(Exception):  # noqa: N818  it is told, not raised to anybody
    """Where a schema is wrong, and how."""

    def __init__(self, message: str, at: str = OPTION) -> None:
        super().__init__(message)
        self.message: str = message
        self.at: str = at


def option_of(text: str) -> list[dict[str, str]]:
    """A schema as a job keeps it. Raises BAD_REQUEST, which says what is wrong with it."""
    try:
        fields = [*_fields(text.strip())]
        _check(fields)
    except Mistake as exc:
        raise wrong(exc.message, exc.at) from exc
    return [{key: str(said) for key, said in asdict(field).items() if said} for field in fields]


def wrong(message: str, at: str = OPTION) -> Faulted:
    mistakes = [{"at": at, "message": message}]
    return Faulted("BAD_REQUEST", f"{at}: {message}", mistakes=mistakes)


def asked_in(options: Mapping[str, Any]) -> tuple[Asked, ...]:
    """The fields that a job's options ask for."""
    kept: Sequence[Mapping[str, str]] = options.get(OPTION) or ()
    return tuple(
        Asked(
            field["name"],
            Kind(field["kind"]),
            field.get("title", ""),
            field.get("description", ""),
        )
        for field in kept
    )


def _check(fields: Sequence[Asked]) -> None:
    if not fields:
        raise Mistake("asks for nothing; name at least one field")
    if len(fields) > MOST:
        raise Mistake(f"asks for {len(fields)} fields; at most {MOST} at a time")
    seen: set[str] = set()
    for field in fields:
        if not _NAME.fullmatch(field.name):
            says = f"a name has 1 to {LONGEST_NAME} letters, figures, spaces or _ . # / -"
            raise Mistake(f"{field.name[:LONGEST_NAME]!r}: {says}, and a letter among them")
        if field.name in seen:
            raise Mistake(f"{field.name!r} is asked for twice")
        seen.add(field.name)


def _fields(text: str) -> Iterator[Asked]:
    if text.startswith(("{", "[")):
        yield from _of_schema(_parsed(text))
        return
    for item in text.split(",") if text else ():
        name, _, kind = (part.strip() for part in item.partition(":"))
        at = f"{OPTION}.{name[:LONGEST_NAME]}"
        yield Asked(name, _kind(kind, at) if kind else Kind.TEXT)


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        schema: Any = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise Mistake(f"begins like JSON and is none: {exc}") from exc
    if not isinstance(schema, dict):
        raise Mistake("a JSON Schema of an object is wanted, not an array")
    return cast("dict[str, Any]", schema)


def _of_schema(schema: Mapping[str, Any]) -> Iterator[Asked]:
    _only(schema, _AROUND, OPTION)
    properties: Any = schema.get("properties")
    if schema.get("type", "object") != "object" or not isinstance(properties, dict):
        raise Mistake('must be {"type": "object", "properties": {...}}')
    for name, told in cast("dict[str, Any]", properties).items():
        at = f"{OPTION}.properties.{name[:LONGEST_NAME]}"
        if not isinstance(told, dict):
            raise Mistake("must be an object such as {'type': 'string'}", at)
        field = cast("dict[str, Any]", told)
        _flat(field, at)
        _only(field, _ALOUD | _SHAPE, at)
        words = [_words(field, key, at) for key in ("title", "description")]
        yield Asked(name, _schema_kind(field, at), *words)


def _flat(field: Mapping[str, Any], at: str) -> None:
    """Fields are one value each, and the refusal says where the rest is to be had."""
    told: Any = field.get("type")
    types: list[Any] = cast("list[Any]", told) if isinstance(told, list) else [told]
    if "object" in types or "properties" in field:
        message = "is an object in an object; ask for each of its fields by itself: seller_name"
        raise Mistake(message, at)
    if "array" in types or "items" in field:
        message = "is a list; a field is one value, and rows are in the result's tables"
        raise Mistake(message, at)


def _only(schema: Mapping[str, Any], known: frozenset[str], at: str) -> None:
    """A rule that nobody would keep is better refused."""
    other = sorted(set(schema) - known)
    if other:
        raise Mistake(f"{other[0]!r} is not understood here; leave it out", at)


def _words(field: Mapping[str, Any], key: str, at: str) -> str:
    said: Any = field.get(key, "")
    if not isinstance(said, str):
        raise Mistake("must be text", f"{at}.{key}")
    return " ".join(said.split())[:LONGEST_WORDS]


def _schema_kind(field: Mapping[str, Any], at: str) -> Kind:
    name = _type(field, at)
    if name not in _JSON:
        raise Mistake(f"type must be one of {', '.join(_JSON)}, not {name!r}", at)
    form: Any = field.get("format")
    if form is None or form == "email":
        return _JSON[name]
    if not isinstance(form, str) or name not in {"string", "number"}:
        raise Mistake("format goes with the types string and number", at)
    return _kind(form, at)


def _type(field: Mapping[str, Any], at: str) -> str:
    """The type's name; that a value may also be null is understood."""
    told: Any = field.get("type")
    if told is None and isinstance(field.get("anyOf"), list):
        choices = cast("list[Any]", field["anyOf"])
        told = [cast("Any", one).get("type") if isinstance(one, dict) else one for one in choices]
    several: list[Any] = cast("list[Any]", told) if isinstance(told, list) else [told or "string"]
    named = [one for one in several if one != "null"]
    if len(named) != 1 or not isinstance(named[0], str):
        raise Mistake("must have one type, or that and null", at)
    return named[0]


def _kind(word: str, at: str) -> Kind:
    plain = word.lower().replace("yes_no", "yesno")
    known = _ALSO.get(plain) or (Kind(plain) if plain in {*Kind} else None)
    if known is None:
        raise Mistake(f"there is no type {word[:40]!r}; types are {', '.join(Kind)}", at)
    return known
