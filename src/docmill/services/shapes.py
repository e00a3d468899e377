"""What a model wrote, as JSON: read strictly, and held against the schema it was given."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from docmill.core.json_values import is_list, is_object

# What a run can use of one answer; a document of the length that is sent gives far less.
MOST_CHARS: Final = 2_000_000
MOST_ITEMS: Final = 3000
LONGEST_TEXT: Final = 4000
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str, int, float),  # a number that should have been a text still says what it says
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def parse_object(text: str) -> dict[str, Any]:
    """The object that a text is. Raises ValueError, also for NaN and for a key that comes twice."""
    value = json.loads(
        text,
        parse_float=_parse_float,
        parse_constant=_refuse_constant,
        object_pairs_hook=_make_object,
    )
    if not is_object(value):
        raise ValueError("it is no object")
    return value


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key comes twice")
    return made


def find_mismatch(value: Any, schema: Mapping[str, Any]) -> str:
    """Where a value is not as its schema says, or is out of all proportion; empty where it is."""
    return next(_find_mismatches(value, schema, "answer"), "")


def _find_mismatches(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if not _is_of_type(value, schema.get("type")):
        yield f"{where} is of another type"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of those offered"
    elif isinstance(value, str) and len(value) > LONGEST_TEXT:
        yield f"{where} is too long"
    elif is_object(value):
        yield from _check_object(value, schema, where)
    elif is_list(value):
        yield from _check_list(value, schema, where)


def _check_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    """A value that may be null may also be left out; a name nobody asked for is a mistake."""
    parts: Mapping[str, Any] = schema.get("properties", {})
    if any(name not in parts for name in value):
        yield f"{where} has a name that was not asked for"
    for name, part in parts.items():
        if name in value or not _is_of_type(None, part.get("type")):
            yield from _find_mismatches(value.get(name), part, f"{where}.{name}")


def _check_list(value: list[Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if len(value) > MOST_ITEMS:
        yield f"{where} has {len(value)} items"
        return
    for item in value:
        yield from _find_mismatches(item, schema.get("items", {}), f"{where}[]")


def _is_of_type(value: Any, types: Any) -> bool:
    """`types` is a name or a list of names; a truth value is no number."""
    names: list[str] = [types] if isinstance(types, str) else list(types or _TYPES)
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)
