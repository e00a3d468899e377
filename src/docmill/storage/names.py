"""Names of objects as text that can be stored anywhere, and back to the very same bytes.

A key is text. A name may hold bytes that are no text, or NUL, which PostgreSQL refuses. Such a byte
stands in a key as one character of a private range, U+EF00 plus the byte. A name that holds these
characters itself has their bytes written that way too, so that no two names share a key.
"""

import re
from typing import Final

BASE: Final = 0xEF00
# What no key holds as it is: NUL, bytes that are no UTF-8, and the range that stands for them.
STRANGE: Final = re.compile("[\0\ud800-\udfff\uef00\uef80-\uefff]")
STANDING: Final = re.compile("[\uef00\uef80-\uefff]+")


def key_of(name: bytes) -> str:
    """The key of an object with this name."""
    return STRANGE.sub(_escape, name.decode("utf-8", "surrogateescape"))


def name_of(key: str) -> bytes:
    """The name that `key_of` was given."""
    text = STANDING.sub(lambda found: _unescape(found[0]).decode("utf-8", "surrogateescape"), key)
    return text.encode("utf-8", "surrogateescape")


def display_name(key: str) -> str:
    """For people: bytes that are no UTF-8 are read as the Western code page they mostly are."""
    return STANDING.sub(lambda found: _unescape(found[0]).decode("cp1252", "replace"), key)


def is_hidden(name: str) -> bool:
    """Notes beside files, what programs write before they rename it, and the like.

    A PDF is a document whatever its name; what macOS keeps beside files is none.
    """
    pdf = name.lower().endswith(".pdf") and not name.startswith("._")
    return name.startswith(".") and not pdf


def _escape(found: re.Match[str]) -> str:
    return "".join(chr(BASE + byte) for byte in found[0].encode("utf-8", "surrogateescape"))


def _unescape(standing: str) -> bytes:
    return bytes(ord(char) - BASE for char in standing)
