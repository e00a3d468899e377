"""Running heads and feet: what stands at the edge of page after page, but for its numbers."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import Steps, Tools
from docmill.reading import embeddings
from docmill.reading.blocks import Block, BlockKind
from docmill.reading.pages import Box, Page, bounding_box
from docmill.reading.tables.model import PageTable, TableCell

EDGE: Final = 0.12  # of the page's height
OFTEN: Final = 3
SHARE: Final = 0.3
MAX_EDGE_TEXT: Final = 200

_FIGURES: Final = re.compile(r"\d+|\b[ivxlc]+\b")
_NUMBER: Final = re.compile(r"\W*(?:page|seite|hal(?:aman|\.)?|p\.|página)?\W*#(?:\D{1,6}#)?\W*")


@dataclass(frozen=True, slots=True)
class PageBlocks:
    """A page that was read: its number and size, and what is on it."""

    number: int
    height: float
    blocks: tuple[Block, ...]


def to_page_blocks(page: Page, blocks: Sequence[Block]) -> PageBlocks:
    return PageBlocks(page.number, page.height, tuple(blocks))


def mark_running_heads(pages: Sequence[PageBlocks]) -> list[PageBlocks]:
    """The same pages, with what repeats at their edges named header or footer."""
    seen = Counter(key for page in pages for key in {key for _, key in _find_edge_blocks(page)})
    least = max(OFTEN, SHARE * len(pages))
    return [
        _mark_page(page, {key for key, count in seen.items() if count >= least}) for page in pages
    ]


def _mark_page(page: PageBlocks, often: set[tuple[BlockKind, str]]) -> PageBlocks:
    repeated = {
        index: key[0]
        for index, key in _find_edge_blocks(page)
        if key in often or _NUMBER.fullmatch(key[1])
    }
    blocks = tuple(
        replace(block, kind=repeated[index], level=0) if index in repeated else block
        for index, block in enumerate(page.blocks)
    )
    return replace(page, blocks=blocks)


def _find_edge_blocks(page: PageBlocks) -> Iterator[tuple[int, tuple[BlockKind, str]]]:
    """The blocks at the top and the bottom by index, with their texts as they repeat."""
    for index, block in enumerate(page.blocks):
        if block.table or len(block.text) > MAX_EDGE_TEXT:
            continue
        text = _FIGURES.sub("#", block.text.lower())
        if block.box.y1 < EDGE * page.height:
            yield index, (BlockKind.HEADER, text)
        elif block.box.y0 > (1 - EDGE) * page.height:
            yield index, (BlockKind.FOOTER, text)


PASSAGE_CHARS: Final = (
    1800  # characters: most paragraphs stay whole, and have their neighbours with them
)
PART_CHARS: Final = 350  # about what one vector can stand for
PATH: Final = " › "
PATH_CHARS: Final = 200

_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+(?=[^a-z\s])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage, on one page; `heading` is the way to it through the headings above.

    `parts` are its texts again, in pieces that each say one thing.
    """

    page: int
    box: Box
    heading: str
    text: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PassagePiece:
    """A text that is not cut any more."""

    text: str
    box: Box


def cut_passages(pages: Sequence[PageBlocks]) -> Iterator[Chunk]:
    path: list[Block] = []
    for page in pages:
        waiting: list[PassagePiece] = []
        bare = False
        for block in page.blocks:
            if block.kind in {BlockKind.HEADER, BlockKind.FOOTER}:
                continue
            if block.kind is not BlockKind.HEADING:
                waiting += _cut_block(block)
                bare = False
                continue
            if not bare:  # a heading alone answers nothing; it goes with what comes under it
                yield from _pack_pieces(page.number, _join_headings(path), waiting)
                waiting = []
            waiting.append(PassagePiece(block.text, block.box))
            bare = True
            path = [*(above for above in path if above.level < block.level), block]
        yield from _pack_pieces(page.number, _join_headings(path), waiting)


def _join_headings(path: Sequence[Block]) -> str:
    return PATH.join(block.text for block in path)[-PATH_CHARS:]


def _pack_pieces(page: int, heading: str, pieces: Sequence[PassagePiece]) -> Iterator[Chunk]:
    """Pieces put together as long as they fit."""
    held: list[PassagePiece] = []
    size = 0
    for piece in pieces:
        if held and size + len(piece.text) > PASSAGE_CHARS:
            yield _make_chunk(page, heading, held)
            held, size = [], 0
        held.append(piece)
        size += len(piece.text) + 1
    if held:
        yield _make_chunk(page, heading, held)


def _make_chunk(page: int, heading: str, pieces: Sequence[PassagePiece]) -> Chunk:
    text = "\n".join(piece.text for piece in pieces)
    parts = tuple(_make_parts([piece.text for piece in pieces]))
    return Chunk(page, bounding_box([piece.box for piece in pieces]), heading, text, parts)


def _make_parts(texts: Sequence[str]) -> Iterator[str]:
    """Short texts together, long ones cut at their sentences."""
    held = ""
    for part in (part for text in texts for part in _cut_text(text, PART_CHARS)):
        if held and len(held) + len(part) > PART_CHARS:
            yield held
            held = ""
        held = f"{held}\n{part}" if held else part
    if held:
        yield held


def _cut_block(block: Block) -> Iterator[PassagePiece]:
    if block.table:
        yield from _cut_table(block.table)
        return
    for text in _cut_text(block.text, PASSAGE_CHARS):
        yield PassagePiece(text, block.box)


def _cut_text(text: str, most: int) -> Iterator[str]:
    """A long text in sentences, as many together as there is room for, and those in words."""
    if len(text) <= most:
        yield text
        return
    held = ""
    for part in (
        word for sentence in _SENTENCE.split(text) for word in _cut_sentence(sentence, most)
    ):
        if held and len(held) + len(part) >= most:
            yield held
            held = ""
        held = f"{held} {part}" if held else part
    if held:
        yield held


def _cut_sentence(sentence: str, most: int) -> Sequence[str]:
    if len(sentence) <= most:
        return [sentence]
    return [word[at : at + most] for word in sentence.split() for at in range(0, len(word), most)]


def _cut_table(table: PageTable) -> Iterator[PassagePiece]:
    """Rows of a table, which begin with its first row wherever they are cut apart."""
    rows = [list(cells) for _, cells in groupby(table.cells, key=lambda cell: cell.row)]
    head = _join_cells(rows[0])[: PASSAGE_CHARS // 3]
    held: list[list[TableCell]] = []
    size = 0
    for row in rows:
        text = _join_cells(row)
        if held and size + len(text) > PASSAGE_CHARS:
            yield _join_rows(held, head)
            held, size = [], len(head)
        held.append(row)
        size += len(text) + 1
    yield _join_rows(held, head)


def _join_rows(rows: Sequence[Sequence[TableCell]], head: str) -> PassagePiece:
    lines = [_join_cells(row) for row in rows]
    if rows[0][0].row > 0:
        lines = [head, *lines]
    return PassagePiece("\n".join(lines), bounding_box([cell.box for row in rows for cell in row]))


def _join_cells(row: Sequence[TableCell]) -> str:
    return " | ".join(cell.text for cell in row)


SERVICE: Final = "embed"
MAX_PARTS: Final = 10_000  # parts: what comes after them is found by its words alone
CPU_SECONDS: Final = 300.0  # the same after so much, well before the run itself would be cut off
AT_A_TIME: Final = 64  # in one question to a service
END_PERCENT: Final = 99  # percent
WIDEST: Final = 16_000  # numbers in a vector: what PostgreSQL can keep of them

Vectors = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """The model's name, and of each passage the vectors of its parts, as PostgreSQL reads them."""

    model: str
    vectors: list[list[str]]
    warnings: list[str]


def make_vectors(chunks: Sequence[Chunk], tools: Tools, begin: int = 0) -> PassageVectors:
    """From `begin` percent on; the first part of every passage before any second, so that all
    have one where not all fit.
    """
    texts = [_texts_with_heading(chunk) for chunk in chunks]
    parts = sorted((part, index) for index, own in enumerate(texts) for part in range(len(own)))
    found: list[list[str]] = [[] for _ in chunks]
    model, done, until = "", 0, time.process_time() + CPU_SECONDS
    for maker, vectors in _embed_texts(
        [texts[index][part] for part, index in parts[:MAX_PARTS]], tools
    ):
        model = maker
        for (_, index), vector in zip(parts[done:], vectors, strict=False):
            found[index].append(vector)
        done += len(vectors)
        percent = begin + (END_PERCENT - begin) * done // len(parts)
        tools.progress(percent, f"vector {done} of {len(parts)}")
        if time.process_time() > until:
            break
    return PassageVectors(model, found, _warn_of_missing(done, len(parts)) if model else [])


def _warn_of_missing(done: int, parts: int) -> list[str]:
    if done == parts:
        return []
    return [f"meaning was made of {done} of {parts} parts of passages; words find the rest"]


def _texts_with_heading(chunk: Chunk) -> Sequence[str]:
    return _add_heading(chunk.heading, chunk.parts)


def cut_again(heading: str, text: str) -> Sequence[str]:
    """What vectors are made of, from a passage as it is kept."""
    return _add_heading(heading, [*_make_parts(text.split("\n"))])


def _add_heading(path: str, parts: Sequence[str]) -> Sequence[str]:
    """The parts, each under the nearest heading, which often names what they speak of."""
    heading = path.rpartition(PATH)[2]
    return [part if heading in part else f"{heading}\n{part}" for part in parts]


def _embed_texts(texts: Sequence[str], tools: Tools) -> Iterator[tuple[str, list[str]]]:
    """A few at a time, so that there is always something to tell; written as PostgreSQL reads."""
    embedder = embeddings.load_embedder()
    if SERVICE in tools.services:
        for start in range(0, len(texts), AT_A_TIME):
            model, vectors = _ask_for_vectors(texts[start : start + AT_A_TIME], tools)
            yield model, [format_vector(vector) for vector in vectors]
    elif embedder:
        yield from (
            (embeddings.MODEL_NAME, vectors)
            for vectors in _embed_with_model(texts, embedder, tools)
        )


def _embed_with_model(
    texts: Sequence[str], embedder: embeddings.Embedder, tools: Tools
) -> Iterator[list[str]]:
    """The local model's, the first from what an earlier try has kept."""
    steps = Steps(tools.memory, f"vectors of {embeddings.MODEL_NAME}", list[str])
    done = 0
    for vectors in steps.recall():
        yield vectors
        done += len(vectors)
    for made in embedder.embed_each(texts[done:]):
        vectors = [format_vector(vector) for vector in made.tolist()]
        steps.add(vectors, sum(map(len, vectors)))
        yield vectors


def _ask_for_vectors(texts: Sequence[str], tools: Tools) -> tuple[str, Vectors]:
    answer: Any = tools.ask(SERVICE, {"texts": list(texts)})
    vectors: list[list[float]] = answer["vectors"]
    width = len(vectors[0]) if vectors else 0
    if [len(vector) for vector in vectors] != [width] * len(texts) or width > WIDEST:
        detail = f"{len(texts)} embeddings must come, of up to {WIDEST} numbers each"
        raise DocmillError("SERVICE_REFUSED", detail)
    return embeddings.identify_model(answer["model"], width).key, vectors


def format_vector(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.4f}" for number in vector) + "]"
