"""The pipeline `auto`: looks at the first pages, asks every other pipeline, and reads as the best.

It knows no pipeline by name: those that can tell their documents keep the protocol `Recognizes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from typing import Any, Final

from docmill.core import installed
from docmill.core.faults import DocmillError
from docmill.core.plugins import (
    AUTO,
    BY_PIPELINE,
    ELSEWHERE,
    PDF,
    Output,
    Pipeline,
    Recognition,
    Recognizes,
    Source,
    Tools,
    list_mappings,
)
from docmill.reading.documents import open_document
from docmill.reading.pages import Page, PagedDocument

# More pages tell no more of what a document is.
LOOKED_AT: Final = 4
# How far a run is, in percent, when all pages are read: no pipeline counts it as less.
PAGES_READ: Final = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """How a document is to be read, and why."""

    pipeline: Pipeline
    recognition: Recognition


@cache
def find_readers() -> tuple[Pipeline, ...]:
    """The installed pipelines that can tell their documents."""
    names = sorted(name for name in installed.find_installed() if name != AUTO)
    loaded = installed.load_pipelines(names).pipelines.values()
    return tuple(one for one in loaded if isinstance(one, Recognizes))


@dataclass(frozen=True, slots=True)
class AutoPipeline:
    """One reading of the pages serves both: what is decided by, and what is read."""

    name: str = AUTO
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    @property
    def mappings(self) -> tuple[str, ...]:
        """Of all of them: one that is asked for is used where its pipeline reads the document."""
        names = (name for one in find_readers() for name in list_mappings(one))
        return tuple(dict.fromkeys(names))

    def warm(self) -> None:
        find_readers()

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools) as document:
            first = _look(document, tools)
            choice = choose_pipeline(source, first)
            name, why = choice.pipeline.name, choice.recognition.sentence
            if name in source.options.get(ELSEWHERE, ()):
                return Output({}, pipeline=name, decision=why)
            output = _read(choice.pipeline, source, tools, _put_back(document, first))
        return replace(output, pipeline=name, decision=why)


def choose_pipeline(source: Source, pages: list[Page]) -> Choice:
    """Whoever is surest; a pipeline that breaks on these pages has no say."""
    found: list[Choice] = []
    for one in find_readers():
        if source.content_type in one.accepts and isinstance(one, Recognizes):
            source.file.seek(0)
            found.append(Choice(one, one.recognize(source, pages)))
    if not found:
        raise DocmillError("UNSUPPORTED_TYPE", f"nobody reads {source.content_type}")
    return max(found, key=lambda choice: choice.recognition.score)


def _look(document: PagedDocument, tools: Tools) -> list[Page]:
    """The first pages, told one by one: a page that is a picture takes seconds."""
    first: list[Page] = []
    for page in islice(document.pages, LOOKED_AT):
        first.append(page)
        percent = PAGES_READ * page.number // document.page_count
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    return first


def _put_back(document: PagedDocument, first: list[Page]) -> PagedDocument:
    """The document as if nobody had looked at it yet."""
    return replace(document, pages=chain(first, document.pages))


def _read(pipeline: Pipeline, source: Source, tools: Tools, document: PagedDocument) -> Output:
    source.file.seek(0)
    known = list_mappings(pipeline)
    mapping = source.mapping if source.mapping in known else next(iter(known), None)
    given: Mapping[str, Any] = source.options.get(BY_PIPELINE, {}).get(pipeline.name, {})
    options = {name: value for name, value in source.options.items() if name != BY_PIPELINE}
    inner = replace(source, mapping=mapping, options={**options, **given})
    return pipeline.run(inner, replace(tools, document=document))


pipeline: Final = AutoPipeline()
