"""The pipeline `extract`: any document to its text, layout, fields, passages and vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from docmill.core.field_request import RequestedField, read_fields
from docmill.core.plugins import PDF, Output, Recognition, Source, Tools
from docmill.extract.reader import model_answers, result
from docmill.extract.reader.chunking import (
    Chunk,
    PageBlocks,
    cut_passages,
    make_vectors,
    mark_running_heads,
    to_page_blocks,
)
from docmill.extract.reader.field_search import FieldAnswer, LabelSearch
from docmill.extract.reader.labels import LabelledField, find_fields
from docmill.extract.reader.layout_service import open_source
from docmill.extract.reader.values import Conventions, find_conventions
from docmill.reading import embeddings
from docmill.reading.blocks import Block, BlockKind, find_blocks
from docmill.reading.pages import Page, PagedDocument
from docmill.reading.turning import Frames, find_frames, set_upright

FieldAnswers = Sequence[tuple[RequestedField, FieldAnswer]]


class FieldSearch:
    """Sees each page once; keeps of it what may be an answer, and what a model is sent."""

    def __init__(
        self, asked: Sequence[RequestedField], *, model: bool, mode: str | None = None
    ) -> None:
        self._mode: str | None = mode
        self._asked: Sequence[RequestedField] = asked
        self._labels: LabelSearch = LabelSearch(asked)
        self._prompt: model_answers.PromptPages | None = (
            model_answers.PromptPages() if model else None
        )

    @classmethod
    def from_options(cls, options: Mapping[str, Any], tools: Tools) -> Self | None:
        asked, mode = read_fields(options), options.get("fields_reader")
        model = mode != model_answers.RULES and model_answers.SERVICE in tools.services
        return cls(asked, model=model, mode=mode) if asked else None

    def look(self, page: Page, fields: Sequence[LabelledField], blocks: Sequence[Block]) -> None:
        self._labels.look(page, fields, blocks)
        if self._prompt:
            self._prompt.take(page)

    def answer(self, conventions: Conventions, tools: Tools) -> tuple[FieldAnswers, list[str]]:
        """Each field with its answer, and what went wrong on the way."""
        answers, warnings = self._labels.answer(conventions), list[str]()
        if self._prompt and self._prompt.pages:
            answers, warnings = model_answers.ask_model(
                self._asked, answers, self._prompt.pages, tools, self._mode
            )
        return list(zip(self._asked, answers, strict=True)), warnings


MAX_FIELDS: Final = 10_000
MAX_CHUNKS: Final = 20_000
TITLE_PAGES: Final = 3
# What a page costs, about, in seconds: to read it, and to make the vectors of what is on it.
PRINTED_SECONDS, SCANNED_SECONDS, VECTOR_SECONDS = 0.02, 1.0, 0.2


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document that was read to its end."""

    pages: list[dict[str, Any]]
    blocks_by_page: list[PageBlocks]
    fields: list[LabelledField]
    warnings: list[str]
    places: result.Places
    word_count: int
    percent: int = 0
    search: FieldSearch | None = None


@dataclass(frozen=True, slots=True)
class Extract:
    """Reads page by page, so that memory holds one page and the result."""

    name: str = "extract"
    version: str = "3"
    accepts: tuple[str, ...] = (PDF,)
    asks: bool = True

    def warm(self) -> None:
        """What every run needs, once for all of them."""
        embeddings.load_embedder()

    def recognize(self, _source: Source, _pages: Sequence[Page]) -> Recognition:
        """It reads any document, where nobody knows it for one of his own."""
        return Recognition(0.5, "Read as a document: it is neither an invoice nor a trade note.")

    def run(self, source: Source, tools: Tools) -> Output:
        with open_source(source, tools) as document:
            read = _read_document(document, tools, FieldSearch.from_options(source.options, tools))
            metadata = {**document.metadata, "page_count": document.page_count}
            reader = document.reader
        chunks = [*cut_passages(read.blocks_by_page)][:MAX_CHUNKS]
        data = {"pipeline": self.name, "version": self.version, "reader": reader}
        data |= {"metadata": metadata}
        data |= _describe_document(read, chunks)
        data |= _describe_answers(read, tools)
        rows = _make_rows(data, chunks, tools, read.percent) if tools.rows else {}
        tools.progress(100, f"{len(read.pages)} of {metadata['page_count']} pages read")
        return Output(data, rows=rows, summary=_summarize(data, read))


# What programs call a document that nobody named.
NO_TITLES: Final = frozenset({"untitled", "unnamed", "document", "microsoft word - document1"})


def _summarize(data: Mapping[str, Any], read: ReadDocument) -> dict[str, Any]:
    """Its first heading, or what it calls itself, or how it begins."""
    blocks = [block for page in read.blocks_by_page[:TITLE_PAGES] for block in page.blocks]
    headings = (block.text for block in blocks if block.kind is BlockKind.HEADING)
    named = data["metadata"].get("title") or ""
    named = "" if named.lower() in NO_TITLES else named
    first = (block.text for block in blocks)
    title = next(headings, None) or named or next(first, None)
    count = data["metadata"]["page_count"]
    return {"title": title, "note": "1 page" if count == 1 else f"{count} pages"}


def _read_document(
    document: PagedDocument, tools: Tools, search: FieldSearch | None
) -> ReadDocument:
    read = ReadDocument([], [], [], document.warnings, result.Places(Frames({})), 0)
    flow, words, spent, percent = False, 0, 0.0, 0
    turned: dict[int, tuple[int, tuple[float, float]]] = {}
    for shown in document.pages:
        read.pages.append(result.describe_page(shown))
        page = set_upright(shown)
        if page is not shown:
            turned |= find_frames([shown]).turned
        blocks, fields = find_blocks(page), find_fields(page)
        read.blocks_by_page.append(to_page_blocks(page, blocks))
        if len(read.fields) < MAX_FIELDS:
            read.fields.extend(fields)
        if search:
            search.look(page, fields, blocks)
        words += sum(len(line.words) for line in page.lines)
        flow = page.flow
        if not page.lines:
            read.warnings.append(f"page {page.number} has no text")
        spent += SCANNED_SECONDS if page.scanned else PRINTED_SECONDS
        percent = _estimate_percent(spent, page.number, document.page_count, tools)
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    if len(read.fields) > MAX_FIELDS:
        read.warnings.append(f"only the first {MAX_FIELDS} fields are given")
        del read.fields[MAX_FIELDS:]
    places = result.Places(Frames(turned), boxed=not flow)
    blocks_by_page = mark_running_heads(read.blocks_by_page)
    return replace(
        read, blocks_by_page=blocks_by_page, places=places, word_count=words, percent=percent,
        search=search,
    )  # fmt: skip


def _estimate_percent(spent: float, number: int, count: int, tools: Tools) -> int:
    """How far the whole is, as if all pages were like those read so far."""
    rest = VECTOR_SECONDS * count if tools.rows else 0.0
    return int(100 * spent / (spent / number * count + rest))


def _describe_document(read: ReadDocument, chunks: list[Chunk]) -> dict[str, Any]:
    places = read.places
    tables: list[dict[str, Any]] = []
    for page, page_blocks in zip(read.pages, read.blocks_by_page, strict=True):
        page["blocks"] = result.describe_blocks(page_blocks, tables, places)
    conventions = find_conventions(page["text"] for page in read.pages)
    return {
        "pages": read.pages,
        "fields": [result.describe_field(field, conventions, places) for field in read.fields],
        "tables": tables,
        "chunks": [result.describe_chunk(chunk, places) for chunk in chunks],
        "warnings": read.warnings,
        "word_count": read.word_count,
    }


def _describe_answers(read: ReadDocument, tools: Tools) -> dict[str, Any]:
    """The fields that were asked for, where any were."""
    if not read.search:
        return {}
    conventions = find_conventions(page["text"] for page in read.pages)
    found, warnings = read.search.answer(conventions, tools)
    read.warnings.extend(warnings)
    return {
        "asked": {
            field.name: answer.to_json(field.kind, read.places.box) for field, answer in found
        }
    }


def _make_rows(
    data: dict[str, Any], chunks: list[Chunk], tools: Tools, begin: int
) -> dict[str, Any]:
    """What goes into the tables."""
    known = make_vectors(chunks, tools, begin)
    data["warnings"].extend(known.warnings)
    sizes = {page["number"]: [page["width"], page["height"]] for page in data["pages"]}
    passages = [
        {**chunk, "page_size": sizes[chunk["page"]], "embeddings": parts, "model": known.model}
        for chunk, parts in zip(data["chunks"], known.vectors, strict=True)
    ]
    answers: dict[str, Any] = data.get("asked", {})
    asked = [result.describe_answer(name, one) for name, one in answers.items() if one["page"]]
    return {"fields": [*data["fields"], *asked], "chunks": passages}


pipeline: Final = Extract()
