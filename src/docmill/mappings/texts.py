"""Text that XML takes: one line, without the characters it refuses or nobody can see."""

import unicodedata
from typing import Any, Final, TypeGuard

from docmill.core.texts import UNSEEN

_GONE: Final = dict.fromkeys(UNSEEN)


def clean(value: object) -> str:
    """What a JSON value says as one line of text; nothing for null, lists and objects."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    text = str(value)
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    words = " ".join(text.translate(_GONE).split())
    shown = "".join(char for char in words if unicodedata.category(char) != "Cc")
    return " ".join(shown.split())


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def at(data: object, path: str) -> Any:
    """The value at a dotted path of objects and dataclasses, or None."""
    found = data
    for name in path.split("."):
        found = found.get(name) if is_object(found) else getattr(found, name, None)
    return found
