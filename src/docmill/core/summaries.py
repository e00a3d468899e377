"""What a reading says in short: a row of the queue shows it, and programs get it as `summary`."""

from collections.abc import Mapping
from typing import Any, Final

from docmill.core.amounts import NOTATIONS
from docmill.core.texts import make_storable, strip_invisible

# `title` is a supplier, a broker or a first heading; `note` such as `3 lines`.
TEXTS: Final = ("title", "number", "date", "amount", "currency", "note")
CHECK: Final = "check"  # how many values a person should look at
NOTATION: Final = "notation"  # how the document writes amounts: `1.234,50`
STATE: Final = "state"  # where a review stands
TO_CHECK: Final = "to check"
APPROVED: Final = "approved"
REJECTED: Final = "rejected"
LONGEST: Final = 200
MOST: Final = 1_000_000

Summary = Mapping[str, Any]


def clean_summary(given: object) -> dict[str, Any] | None:
    """What may be kept of a summary that comes from a reader of strangers' bytes; None: nothing.

    A reader can say that something is to be checked, and never that somebody has approved it.
    """
    if not isinstance(given, Mapping):
        return None
    known: Mapping[Any, Any] = given  # pyright: ignore[reportUnknownVariableType]
    kept: dict[str, Any] = {}
    for name in TEXTS:
        if isinstance(text := known.get(name), str) and (short := clean_sentence(text)):
            kept[name] = short
    count = known.get(CHECK)
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST:
        kept[CHECK] = count
    if isinstance(sample := known.get(NOTATION), str) and sample in NOTATIONS:
        kept[NOTATION] = sample
    if known.get(STATE) == TO_CHECK:
        kept[STATE] = TO_CHECK
    return kept or None


def clean_sentence(text: str, longest: int = LONGEST) -> str:
    """One line that can be stored and shown."""
    line = " ".join(text[: 4 * longest].split())
    return make_storable(strip_invisible(line))[:longest].strip()
