"""How much of a made-up page's truth a reading of it holds: its tables, its order, its parts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Final

from eval.html_page import Part, Put
from eval.score_words import agreement

SAME: Final = 0.7  # F1 of the words from which on two tables are the same
KINDS: Final = {"heading": "heading", "paragraph": "paragraph", "list_item": "list_item"}


@dataclass
class Share:
    """Of what is true and of what was found, how much is both."""

    right: float = 0
    found: float = 0
    true: float = 0

    def add(self, other: "Share") -> None:
        self.right += other.right
        self.found += other.found
        self.true += other.true

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.found + self.true) if self.found + self.true else 1.0


@dataclass
class Score:
    """`pairs`: words that follow each other; `order`: words in one long order; `relations`: cells
    beside and under each other; `cells`: with row, column and spans; `kinds` and `whole`: parts."""

    tables: Share = field(default_factory=Share)
    relations: Share = field(default_factory=Share)
    cells: Share = field(default_factory=Share)
    pairs: Share = field(default_factory=Share)
    order: Share = field(default_factory=Share)
    kinds: Share = field(default_factory=Share)
    whole: Share = field(default_factory=Share)

    def add(self, other: "Score") -> None:
        for each in fields(self):
            getattr(self, each.name).add(getattr(other, each.name))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def scored(parts: Sequence[Part], data: dict[str, Any]) -> Score:
    """What `extract` gave for a page of these parts."""
    blocks = [block for page in data["pages"] for block in page["blocks"]]
    score = Score()
    score_tables(score, parts, [_puts(table) for table in data["tables"]], len(data["pages"]))
    shown = [word for block in blocks if block["kind"] not in {"header", "footer"}
             for word in words(block["text"])]  # fmt: skip
    _score_order(score, parts, shown)
    for part in parts:
        if part.kind in KINDS:
            _score_part(score, part, blocks)
    return score


def _puts(table: dict[str, Any]) -> list[Put]:
    return [
        Put(cell["row"], cell["column"], cell["text"], cell["row_span"], cell["column_span"])
        for cell in table["cells"]
    ]


def score_tables(
    score: Score, parts: Sequence[Part], found: Sequence[Sequence[Put]], pages: int
) -> None:
    true = [part.cells for part in parts if part.cells]
    links, truth = _all(found), _all(true)
    score.relations = Share(len(links & truth), len(links), len(truth))
    if pages > 1:  # a table over two pages is two
        return
    left = list(found)
    score.tables = Share(0, len(found), len(true))
    for cells in true:
        best = max(left, key=lambda each: _likeness(each, cells), default=None)
        score.cells.true += len(cells)
        if best is None or _likeness(best, cells) < SAME:
            continue
        left.remove(best)
        score.tables.right += 1
        score.cells.right += len(set(map(_key, best)) & set(map(_key, cells)))
    score.cells.found = sum(len(each) for each in found)


def _key(put: Put) -> tuple[Any, ...]:
    return put.row, put.column, put.row_span, put.column_span, _plain(put.text)


def _plain(text: str) -> str:
    return re.sub(r"\s", "", text)


def _likeness(one: Iterable[Put], other: Iterable[Put]) -> float:
    ours, theirs = (
        Counter(word for put in puts for word in put.text.split()) for puts in (one, other)
    )
    return 2 * (ours & theirs).total() / max(ours.total() + theirs.total(), 1)


def _all(tables: Iterable[Sequence[Put]]) -> set[tuple[str, str, str]]:
    return {link for cells in tables for link in relations(cells)}


def relations(cells: Sequence[Put]) -> set[tuple[str, str, str]]:
    """Each cell with the next one that is not empty, to the right and below, as ICDAR 2013 does."""
    grid = {
        (put.row + r, put.column + c): put
        for put in cells for r in range(put.row_span) for c in range(put.column_span)
    }  # fmt: skip
    found: set[tuple[str, str, str]] = set()
    for name, key in (("right", lambda at: (at[0], at[1])), ("below", lambda at: (at[1], at[0]))):
        places = sorted(grid, key=key)
        for one, other in pairwise(places):
            same = key(one)[0] == key(other)[0] and grid[one] is not grid[other]
            if same:
                found.add((name, _plain(grid[one].text), _plain(grid[other].text)))
    return found


def _score_order(score: Score, parts: Sequence[Part], ours: Sequence[str]) -> None:
    shown = Counter(pairwise(ours))
    for stream in {part.stream for part in parts}:
        true = [word for part in parts if part.stream == stream for word in words(part.text)]
        pairs = Counter(pairwise(true))
        kept = (pairs & shown).total()
        score.pairs.add(Share(kept, pairs.total(), pairs.total()))
        score.order.add(Share(agreement(true, ours) * len(true), len(true), len(true)))


def _score_part(score: Score, part: Part, blocks: Sequence[dict[str, Any]]) -> None:
    true = Counter(words(part.text))
    best = max(blocks, key=lambda block: _overlap(true, block["text"]), default=None)
    right = best is not None and best["kind"] == KINDS[part.kind]
    whole = best is not None and Counter(words(best["text"])) == true
    score.kinds.add(Share(right, 1, 1))
    score.whole.add(Share(whole, 1, 1))


def _overlap(true: Counter[str], text: str) -> float:
    found = Counter(words(text))
    common = (true & found).total()
    return common + common / max(found.total(), 1)
