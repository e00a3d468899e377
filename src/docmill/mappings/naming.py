"""Everything a line of a mapping file names must exist: keys, functions, formats, paths."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from docmill.mappings import schema
from docmill.mappings.formats import FORMATS
from docmill.mappings.functions import FUNCTIONS
from docmill.mappings.texts import is_list

_CALL: Final = re.compile(r"([a-z0-9_]+)\(\)")
_LISTED: Final = 12  # more names than that are not read by anybody
_NOT: Final = "not "


def unknown(what: str, name: str, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"there is no {what} {name!r}; did you mean {near[0]!r}?"
    listed = ", ".join(names[:_LISTED]) + (", .." if len(names) > _LISTED else "")
    return f"there is no {what} {name!r}; allowed: {listed}"


def called(word: str) -> str:
    """The function that `name()` calls, or nothing when the word is a path."""
    found = _CALL.fullmatch(word)
    return found[1] if found else ""


def condition(when: str) -> tuple[bool, str]:
    """A condition as (wanted, word): `not due_date` holds when there is none."""
    return not when.startswith(_NOT), when.removeprefix(_NOT)


def wrong_keys(keys: Mapping[str, Any], allowed: Iterable[str]) -> Iterator[str]:
    for key, value in keys.items():
        if key not in allowed:
            yield unknown("key", key, allowed)
        elif key == "required" and not isinstance(value, bool):
            yield "required is true or false"
        elif key == "path" and not _is_path(value):
            yield "path is a text in quotes, or a list of them"
        elif key not in ("required", "path") and not isinstance(value, str):
            yield f"{key} is a text in quotes"


def _is_path(value: Any) -> bool:
    rows = value if is_list(value) else [value]
    return bool(rows) and all(isinstance(row, str) for row in rows)


def paths_of(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(row) for row in value) if is_list(value) else ()


def fields_inside(repeat: str) -> tuple[str, ...]:
    """What `.name` may name inside a repeat: the fields of a line, or of a function's rows."""
    function = FUNCTIONS.get(called(repeat))
    if function is None or function.row is None:
        return schema.LINE if repeat == "lines" else ()
    made = [name for name, value in vars(function.row).items() if isinstance(value, property)]
    return (*(each.name for each in fields(function.row)), *made)


def wrong_repeat(repeat: str) -> Iterator[str]:
    rows = [f"{name}()" for name, function in FUNCTIONS.items() if function.row]
    allowed = ["lines", schema.INVOICES, *rows]
    if repeat and repeat not in allowed:
        yield unknown("list", repeat, allowed)


def wrong_names(keys: Mapping[str, Any], inside: tuple[str, ...]) -> Iterator[str]:
    """`inside` are the fields of the nearest repeat, for paths that begin with a dot."""
    values = {name for name, function in FUNCTIONS.items() if not function.row}
    compute, shape = str(keys.get("compute", "")), str(keys.get("format", "text"))
    if compute and compute not in values:
        yield unknown("function", compute, values)
    if shape not in FORMATS:
        yield unknown("format", shape, FORMATS)
    for path in paths_of(keys.get("path", [])):
        yield from wrong_path(path, inside)
    _, word = condition(str(keys.get("when", "")))
    if function := called(word):
        if function not in values:
            yield unknown("function", function, values)
    elif word:
        yield from wrong_path(word, inside)
    yield from _wrong_reads(str(keys.get("reads", "")))


def wrong_path(path: str, inside: tuple[str, ...]) -> Iterator[str]:
    if not path.startswith("."):
        if path not in schema.PATHS:
            yield unknown("path", path, schema.PATHS)
    elif not inside:
        yield f"{path!r} begins with a dot, but no repeat gives it an item here"
    elif path[1:] not in inside:
        yield unknown("path", path, (f".{name}" for name in inside))


def _wrong_reads(path: str) -> Iterator[str]:
    """What is read back goes into the invoice, never into a profile."""
    allowed = [name for name in schema.PATHS if not name.startswith("profile.")]
    allowed += [f".{name}" for name in schema.LINE]
    if path and path not in allowed:
        yield unknown("path", path, allowed)
