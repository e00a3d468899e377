"""The pipeline `extract`: any document to its text, layout, fields, passages and their vectors."""

from dataclasses import dataclass
from typing import Any, Final

from docmill.core.pipeline import PDF, Output, Source, Tools
from docmill.embeddings import local
from docmill.pipelines.extract import shapes
from docmill.pipelines.extract.chunks import Chunk, chunks_of
from docmill.pipelines.extract.fields import Field, fields_of
from docmill.pipelines.extract.normal import customs_of
from docmill.pipelines.extract.readers import opened
from docmill.pipelines.extract.running import Leaf, leaf_of, marked
from docmill.pipelines.extract.sought import Sought
from docmill.pipelines.extract.vectors import BEGIN, vectors_of
from docmill.reading.blocks import blocks_of
from docmill.reading.pages import Document

MAX_FIELDS: Final = 10_000
MAX_CHUNKS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Read:
    """A document that was read to its end."""

    pages: list[dict[str, Any]]
    leaves: list[Leaf]
    fields: list[Field]
    warnings: list[str]
    flow: bool
    word_count: int
    sought: Sought | None = None


@dataclass(frozen=True, slots=True)
class Extract:
    """Reads page by page, so that memory holds one page and the result."""

    name: str = "extract"
    version: str = "2"
    accepts: tuple[str, ...] = (PDF,)
    asks: bool = True

    def warm(self) -> None:
        """What every run needs, once for all of them."""
        local.embedder()

    def run(self, source: Source, tools: Tools) -> Output:
        with opened(source, tools) as document:
            read = _read(document, tools, Sought.of(source.options, tools))
            metadata = {**document.metadata, "page_count": document.page_count}
            reader = document.reader
        chunks = [*chunks_of(read.leaves)][:MAX_CHUNKS]
        data = {"pipeline": self.name, "version": self.version, "reader": reader}
        data |= {"metadata": metadata}
        data |= _found(read, chunks)
        data |= _asked(read, tools)
        rows = _rows(data, chunks, tools) if tools.rows else {}
        tools.progress(100, f"{len(read.pages)} of {metadata['page_count']} pages read")
        return Output(data, rows=rows)


def _read(document: Document, tools: Tools, sought: Sought | None) -> Read:
    read = Read([], [], [], document.warnings, False, 0)
    flow, words = False, 0
    for page in document.pages:
        read.pages.append(shapes.page(page))
        blocks, fields = blocks_of(page), fields_of(page)
        read.leaves.append(leaf_of(page, blocks))
        if len(read.fields) < MAX_FIELDS:
            read.fields.extend(fields)
        if sought:
            sought.look(page, fields, blocks)
        words += sum(len(line.words) for line in page.lines)
        flow = page.flow
        if not page.lines:
            read.warnings.append(f"page {page.number} has no text")
        whole = BEGIN if tools.rows else 100
        percent = whole * page.number // document.page_count
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    if len(read.fields) > MAX_FIELDS:
        read.warnings.append(f"only the first {MAX_FIELDS} fields are given")
        del read.fields[MAX_FIELDS:]
    return Read(read.pages, marked(read.leaves), read.fields, read.warnings, flow, words, sought)


def _found(read: Read, chunks: list[Chunk]) -> dict[str, Any]:
    boxed = not read.flow
    tables: list[dict[str, Any]] = []
    for page, leaf in zip(read.pages, read.leaves, strict=True):
        page["blocks"] = shapes.blocks(leaf, tables, boxed=boxed)
    customs = customs_of(page["text"] for page in read.pages)
    return {
        "pages": read.pages,
        "fields": [shapes.field(field, customs, boxed=boxed) for field in read.fields],
        "tables": tables,
        "chunks": [shapes.chunk(chunk, boxed=boxed) for chunk in chunks],
        "warnings": read.warnings,
        "word_count": read.word_count,
    }


def _asked(read: Read, tools: Tools) -> dict[str, Any]:
    """The fields that were asked for, where any were."""
    if not read.sought:
        return {}
    customs = customs_of(page["text"] for page in read.pages)
    found, warnings = read.sought.found(customs, tools)
    read.warnings.extend(warnings)
    return {
        "asked": {
            field.name: answer.shown(field.kind, boxed=not read.flow) for field, answer in found
        }
    }


def _rows(data: dict[str, Any], chunks: list[Chunk], tools: Tools) -> dict[str, Any]:
    """What goes into the tables."""
    known = vectors_of(chunks, tools)
    data["warnings"].extend(known.warnings)
    sizes = {page["number"]: [page["width"], page["height"]] for page in data["pages"]}
    passages = [
        {**chunk, "page_size": sizes[chunk["page"]], "embeddings": parts, "model": known.model}
        for chunk, parts in zip(data["chunks"], known.vectors, strict=True)
    ]
    return {"fields": data["fields"], "chunks": passages}


pipeline: Final = Extract()
