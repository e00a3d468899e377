"""Results in other people's forms: a pipeline's JSON in, a file for another program out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from docmill.forms import anki, markdown, tables

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How a result is written: `write(data, title)`."""

    content_type: str
    ending: str
    write: Callable[[Data, str], bytes]


def _marked(data: Data, _title: str) -> bytes:
    return markdown.marked(data).encode()


def _plain(data: Data, _title: str) -> bytes:
    return markdown.plain(data).encode()


FORMS: Final[Mapping[str, Mapping[str, Form]]] = {
    "study": {
        "csv": Form("text/csv; charset=utf-8", ".csv", tables.vocabulary),
        "cards": Form("text/csv; charset=utf-8", ".cards.csv", tables.cards),
        "anki": Form("application/octet-stream", ".apkg", anki.deck),
    },
    "extract": {
        "markdown": Form("text/markdown; charset=utf-8", ".md", _marked),
        "text": Form("text/plain; charset=utf-8", ".txt", _plain),
    },
}
NAMES: Final = tuple(name for forms in FORMS.values() for name in forms)
