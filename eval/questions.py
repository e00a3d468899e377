"""Questions and the passages that answer them, from public texts that machines or packages have.

The questions on licences were reworded after failures of search were seen, so they flatter. Those
on Python were written before search was run on them, and looked at while it was made better. Those
on prose were written before search was run on them too, their passages drawn at random, and have
not been looked at since.
"""

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docmill.core.owners import OwnerKey
from eval.texts import text_of

DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Pair:
    question: str
    passage: str


@dataclass(frozen=True, slots=True)
class Quiz:
    """`texts` by name; empty where this machine does not have them."""

    about: str
    texts: Mapping[str, bytes]
    pairs: tuple[Pair, ...]

    @property
    def owner(self) -> OwnerKey:
        return OwnerKey(f"session:{self.about}")


def quizzes() -> Iterator[Quiz]:
    for about in ("licence", "python", "prose"):
        given: dict[str, Any] = json.loads((DATA / f"{about}_questions.json").read_text("utf-8"))
        yield Quiz(about, dict(_texts(given)), tuple(Pair(*pair) for pair in given["pairs"]))


def _texts(given: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    if "module" in given:
        topics: Mapping[str, str] = importlib.import_module(given["module"]).topics
        yield from ((name, topics[name].encode()) for name in given["texts"])
    elif "folder" in given:
        folder = Path(given["folder"])
        if folder.is_dir():
            yield from ((name, (folder / name).read_bytes()) for name in given["texts"])
    else:
        found = {one["name"]: text_of(one) for one in given["texts"]}
        yield from ((name, text) for name, text in found.items() if text and all(found.values()))
