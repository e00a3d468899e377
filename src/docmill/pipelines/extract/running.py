"""Running heads and feet: what stands at the edge of page after page, but for its numbers."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from docmill.reading.blocks import Block, Kind
from docmill.reading.pages import Page

EDGE: Final = 0.12  # of the page's height
OFTEN: Final = 3
SHARE: Final = 0.3
LONGEST: Final = 200

_FIGURES: Final = re.compile(r"\d+|\b[ivxlc]+\b")
_NUMBER: Final = re.compile(r"\W*(?:page|seite|hal(?:aman|\.)?|p\.|página)?\W*#(?:\D{1,6}#)?\W*")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A page that was read: its number and size, and what is on it."""

    number: int
    height: float
    blocks: tuple[Block, ...]


def leaf_of(page: Page, blocks: Sequence[Block]) -> Leaf:
    return Leaf(page.number, page.height, tuple(blocks))


def marked(leaves: Sequence[Leaf]) -> list[Leaf]:
    """The same pages, with what repeats at their edges named header or footer."""
    seen = Counter(key for leaf in leaves for key in {key for _, key in _edges(leaf)})
    least = max(OFTEN, SHARE * len(leaves))
    return [
        _marked(leaf, {key for key, count in seen.items() if count >= least}) for leaf in leaves
    ]


def _marked(leaf: Leaf, often: set[tuple[Kind, str]]) -> Leaf:
    repeated = {
        index: key[0] for index, key in _edges(leaf) if key in often or _NUMBER.fullmatch(key[1])
    }
    blocks = tuple(
        replace(block, kind=repeated[index], level=0) if index in repeated else block
        for index, block in enumerate(leaf.blocks)
    )
    return replace(leaf, blocks=blocks)


def _edges(leaf: Leaf) -> Iterator[tuple[int, tuple[Kind, str]]]:
    """The blocks at the top and the bottom by index, with their texts as they repeat."""
    for index, block in enumerate(leaf.blocks):
        if block.table or len(block.text) > LONGEST:
            continue
        text = _FIGURES.sub("#", block.text.lower())
        if block.box.y1 < EDGE * leaf.height:
            yield index, (Kind.HEADER, text)
        elif block.box.y0 > (1 - EDGE) * leaf.height:
            yield index, (Kind.FOOTER, text)
