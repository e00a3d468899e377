"""What `study` makes of texts: python -m eval.score_study FILE... [--show]

For each file: how many words it gives, how many of these are stop words, numbers or names, how many
are defined, and how many of the examples stand in the document letter by letter. The judges are
not the pipeline's own lists: the commonest words of wordfreq, and the capitals of the text itself.
"""

import argparse
import io
import re
import time
from pathlib import Path
from typing import Any

import wordfreq

from docmill.core.plugins import Source, Tools
from docmill.documents.content_types import HEAD_BYTES, TAIL_BYTES, detect_type
from docmill.reading.documents import open_document
from docmill.study.pipeline import pipeline

STOP_WORDS = 300
SPACES = re.compile(r"\s+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="also every word and its definition")
    given = parser.parse_args()
    pipeline.warm()
    print(
        f"{'file':24} {'words':>7} {'s':>5} {'vocab':>5} {'stop':>4} {'num':>4} {'name':>4}", end=""
    )
    print(f" {'defined':>8} {'examples':>8} {'in text':>8} {'cards':>5}")
    for path in given.files:
        _measure(path, show=given.show)


def _measure(path: Path, *, show: bool) -> None:
    data = path.read_bytes()
    kind = detect_type(data[:HEAD_BYTES], data[-TAIL_BYTES:])
    began = time.monotonic()
    found: Any = pipeline.run(
        Source(io.BytesIO(data), path.name, kind), Tools(progress=lambda _percent, _stage: None)
    ).data
    seconds = time.monotonic() - began
    with open_document(io.BytesIO(data), kind) as document:
        text = SPACES.sub(" ", " ".join(page.text for page in document.pages))
    words = found["vocabulary"]
    stops = set(wordfreq.top_n_list("en", STOP_WORDS))
    examples = [example for word in words for example in word["examples"]]
    counts = (
        sum(word["word"] in stops for word in words),
        sum(any(char.isdigit() for char in word["word"]) for word in words),
        sum(_is_name(word["word"], text) for word in words),
    )
    defined = sum(bool(word["definition"]) for word in words) / max(len(words), 1)
    inside = sum(example in text for example in examples) / max(len(examples), 1)
    print(f"{path.name[:24]:24} {found['wordCount']:7} {seconds:5.1f} {len(words):5}", end="")
    print("".join(f" {count:4}" for count in counts), end="")
    print(f" {defined:8.1%} {len(examples):8} {inside:8.1%} {len(found['flashcards']):5}")
    for word in words if show else ():
        print(f"  {word['word']} ({word['partOfSpeech']}, {word['level']}): {word['definition']}")
        print(f"      {word['examples'][0]}")


def _is_name(word: str, text: str) -> bool:
    """Whether it has a capital inside sentences more often than not."""
    capital = len(re.findall(rf"(?<=[a-z,;] ){word.capitalize()}\b", text))
    return capital > len(re.findall(rf"\b{word}", text))


if __name__ == "__main__":
    main()
