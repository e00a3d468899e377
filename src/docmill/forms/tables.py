"""A study set as CSV: its vocabulary, or its cards."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

COLUMNS: Final = (
    "word", "partOfSpeech", "level", "definition", "example", "page", "count", "frequency", "forms",
)  # fmt: skip
CARD: Final = ("front", "back", "kind", "word")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def vocabulary(data: Mapping[str, Any], _title: str) -> bytes:
    return _written(COLUMNS, (_row(word) for word in data["vocabulary"]))


def cards(data: Mapping[str, Any], _title: str) -> bytes:
    return _written(CARD, ([card[name] for name in CARD] for card in data["flashcards"]))


def _row(word: Mapping[str, Any]) -> list[Any]:
    plain = {name: word.get(name) for name in COLUMNS}
    first = {"example": next(iter(word["examples"]), ""), "page": next(iter(word["pages"]), "")}
    return list((plain | first | {"forms": " ".join(word["forms"])}).values())


def _written(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """With a mark by which spreadsheets know UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([_harmless(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def _harmless(value: Any) -> Any:
    """Text from a document must not become a formula in somebody's spreadsheet."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value
