"""Text that XML takes: one line, without the characters it refuses or nobody can see."""

import re
import unicodedata
from typing import Any, Final, TypeGuard

# Directions, zero widths and marks of byte order; noncharacters are refused by strict parsers.
_UNSEEN: Final = "\xad\u061c\u200b\u200e\u200f\u2060-\u206f\u202a-\u202e\ufeff\ufff9-\ufffb"
_NONCHARACTERS: Final = "\ufdd0-\ufdef" + "".join(
    chr(plane + low) for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF)
)
_GONE: Final = re.compile(f"[{_UNSEEN}{_NONCHARACTERS}\ud800-\udfff]")


def clean(value: object) -> str:
    """What a JSON value says as one line of text; nothing for null, lists and objects."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    text = str(value)
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    spaced = " ".join(_GONE.sub("", text).split())
    shown = "".join(char for char in spaced if unicodedata.category(char) != "Cc")
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
