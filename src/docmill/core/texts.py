"""Text that may be kept and shown: which characters nobody can use, and text without them."""

from typing import Final

# Nobody sees them: soft hyphens, zero widths, marks of byte order. Some turn the direction of
# text around, which is a way to mislead readers. Strict parsers refuse the noncharacters.
UNSEEN: Final = frozenset(
    {
        *(0xAD, 0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xD800, 0xE000),
        *range(0xFDD0, 0xFDF0),
        *range(0xFFF9, 0xFFFC),
        *(plane + low for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF)),
    }
)


def clean_text(text: str) -> str:
    """Without what PostgreSQL or XML refuse: NUL, lone surrogates, control characters."""
    return "".join(
        char
        for char in text
        if char >= " " and not "\ud800" <= char <= "\udfff" and char not in "\x7f\ufffe\uffff"
    )


def strip_invisible(text: str) -> str:
    """Clean, and without what nobody sees or what turns the direction of text around."""
    return clean_text("".join(char for char in text if ord(char) not in UNSEEN))


def make_storable(text: str) -> str:
    """With its lines, without what PostgreSQL refuses in any text: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
