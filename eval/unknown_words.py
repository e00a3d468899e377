"""How the reader does on brokers whose own words it does not know.

python -m eval.unknown_words [--out DIR] [--errors]

Reads the tuning halves of the shared broker documents twice: as they are, and with every word made
unreadable that our lists know and that only one broker uses. What is lost between the two is what
hangs on words; a broker never seen brings some that no list has. It needs no document held out.
"""

import argparse
import codecs
import io
import json
import multiprocessing
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from docmill.core.plugins import PDF, Source, Tools
from docmill.reading.labels import fold
from docmill.reading.lexicon import lexicon
from docmill.reading.pages import Page, Word, make_line
from docmill.reading.turning import set_upright
from docmill.trades.reader.pipeline import make_data, read_unfitted
from docmill.trades.reader.read import read_trades
from docmill.trades.reader.rows import make_sheet
from eval.score_trades import CORPUS, half, scored

FOLDERS: Final = ("trades", "trades_more")
TOPICS: Final = ("trade", "trade number", "trade day", "trade document")
NAMES: Final = frozenset(
    {"broker", "exchange", "name_label", "not_names", "not_a_name", "security"}
)

Record = dict[str, Any]


def read_pages(path: Path) -> list[Page]:
    source = Source(io.BytesIO(path.read_bytes()), path.name, PDF)
    _, pages = read_unfitted(source, Tools(progress=lambda _percent, _stage: None))
    return [set_upright(page) for page in pages]


@cache
def list_patterns() -> list[re.Pattern[str]]:
    """The words of each concept that says what a number, a day, a row or a document is."""
    words = lexicon()
    return [
        re.compile(rf"\b{words.pattern(topic, concept)}\b")
        for topic in TOPICS
        for concept in words.names(topic)
        if concept not in NAMES
    ]


def find_known_words(pages: Iterable[Page]) -> set[str]:
    """The words of some pages that our lists know."""
    texts = {fold(" ".join(word.text for word in line.words)) for p in pages for line in p.lines}
    return {
        word
        for text in texts
        for pattern in list_patterns()
        for match in pattern.finditer(text)
        for word in match[0].split()
    }


def find_own_words(known: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Of each broker the words that no other uses."""
    users: dict[str, set[str]] = defaultdict(set)
    for broker, words in known.items():
        for word in words:
            users[word].add(broker)
    return {
        broker: {word for word in words if users[word] == {broker}}
        for broker, words in known.items()
    }


def hide_words(page: Page, unknown: set[str]) -> Page:
    """A page with some words turned into letters that mean nothing."""
    lines = tuple(make_line([_hide(word, unknown) for word in line.words]) for line in page.lines)
    return replace(page, lines=lines)


def _hide(word: Word, unknown: set[str]) -> Word:
    if not unknown.intersection(fold(word.text).split()):
        return word
    return replace(word, text=codecs.encode(word.text, "rot13"))


def read_hidden(work: tuple[str, Sequence[Page], set[str]]) -> tuple[str, dict[str, Any]]:
    digest, pages, unknown = work
    hidden = [hide_words(page, unknown) for page in pages]
    return digest, make_data(read_trades(make_sheet(hidden)))


def hide_and_read(
    records: Sequence[Record], pages: Mapping[str, Sequence[Page]]
) -> dict[str, dict[str, Any]]:
    """What is read of documents, each without the words that only its broker uses."""
    known: dict[str, set[str]] = defaultdict(set)
    for record in records:
        known[record["group"]] |= find_known_words(pages[record["sha256"]])
    own = find_own_words(known)
    work = [(r["sha256"], pages[r["sha256"]], own[r["group"]]) for r in records]
    with multiprocessing.Pool(2) as pool:
        return dict(pool.map(read_hidden, work))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "docmill-unknown")
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    records: list[Record] = []
    pages: dict[str, list[Page]] = {}
    for folder in FOLDERS:
        own = half(json.loads((CORPUS / folder / "truth.json").read_text()), "dev")
        with multiprocessing.Pool(2) as pool:
            read = pool.map(read_pages, [CORPUS / folder / record["file"] for record in own])
        pages |= {record["sha256"]: each for record, each in zip(own, read, strict=True)}
        records += own
    print("with the words of every broker")
    nothing: set[str] = set()
    plain = dict(read_hidden((digest, each, nothing)) for digest, each in pages.items())
    scored(records, plain, asked.out)
    print("without the words that only one broker uses")
    scored(records, hide_and_read(records, pages), asked.out, errors=asked.errors)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
