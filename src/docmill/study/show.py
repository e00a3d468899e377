"""Words of a document as people read them, for its page."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docmill.core.shown import Shown, ShownTable, ShownValue

MOST: Final = 200


def show_study(data: Mapping[str, Any]) -> Shown:
    """The words to learn, with what they mean."""
    words: Sequence[Mapping[str, Any]] = (data.get("vocabulary") or ())[:MOST]
    rows = [
        [
            ShownValue("Word", str(word.get("lemma") or ""), _first_page(word)),
            ShownValue("Level", str(word.get("level") or "")),
            ShownValue("Meaning", str(word.get("definition") or "")),
        ]
        for word in words
    ]
    return Shown(tables=[ShownTable("Words", ("Word", "Level", "Meaning"), rows)] if rows else ())


def _first_page(word: Mapping[str, Any]) -> int | None:
    pages: Sequence[int] = word.get("pages") or ()
    return pages[0] if pages else None
