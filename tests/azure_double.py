"""A double of Azure Document Intelligence (2024-11-30) that really reads the PDFs it is sent."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any, Final
from uuid import uuid4

from docmill.core.faults import DocmillError
from docmill.reading.blocks import Block, BlockKind, find_blocks
from docmill.reading.pages import Box, Line, Page, Word
from docmill.reading.pdf import open_pdf
from docmill.reading.tables.model import PageTable
from doubles import Asked, Double, told

KEY: Final = "the key"
API: Final = "2024-11-30"
ROOT: Final = "/documentintelligence/documentModels"
MODELS: Final = ("prebuilt-read", "prebuilt-layout")
FEATURES: Final = ("keyValuePairs",)
ROLES: Final = {BlockKind.HEADER: "pageHeader", BlockKind.FOOTER: "pageFooter"}
AT_ONCE: Final = {"retry_after": "0"}

_ANALYZE: Final = re.compile(rf"{ROOT}/([\w.~-]+):analyze")
_RESULT: Final = re.compile(rf"{ROOT}/([\w.~-]+)/analyzeResults/([\w-]+)")

Json = dict[str, Any]


@dataclass(slots=True)
class Operation:
    model: str
    pdf: bytes
    query: dict[str, str]
    polls: int = 0


def refused(status: str, code: str, inner: str = "") -> bytes:
    error: Json = {"code": code, "message": "It says why."}
    return told(status, {"error": error | ({"innererror": {"code": inner}} if inner else {})})


class AzureDouble(Double):
    """Each operation is `running` once before it is done."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: dict[str, Operation] = {}
        self.failure: Json | None = None

    @property
    def paid(self) -> list[str]:
        """The ranges of pages that were begun, in their order."""
        return [one.query["pages"] for one in self.operations.values()]

    def pages_of(self, asked: Asked) -> str:
        """The range of pages whose result is asked for; empty for another request."""
        operation = self.operations.get(asked.path.rpartition("/")[2])
        return operation.query["pages"] if operation else ""

    def respond(self, asked: Asked) -> bytes:
        if asked.headers.get("ocp-apim-subscription-key") != KEY:
            return refused("401 PermissionDenied", "401")
        if asked.query.get("api-version") != API:
            return refused("404 Resource Not Found", "404")
        if asked.method == "POST" and (found := _ANALYZE.fullmatch(asked.path)):
            return self._begin(found[1], asked)
        if asked.method == "GET" and (found := _RESULT.fullmatch(asked.path)):
            return self._result(found[1], found[2])
        return refused("404 Resource Not Found", "404")

    def _begin(self, model: str, asked: Asked) -> bytes:
        features = [one for one in asked.query.get("features", "").split(",") if one]
        if model not in MODELS:
            return refused("404 Not Found", "NotFound", "ModelNotFound")
        if set(features) - set(FEATURES):
            return refused("400 Bad Request", "InvalidArgument", "InvalidParameter")
        if asked.headers.get("content-type") != "application/octet-stream":
            return refused("415 Unsupported Media Type", "InvalidRequest")
        if not asked.body.startswith(b"%PDF"):
            return refused("400 Bad Request", "InvalidRequest", "InvalidContent")
        name = str(uuid4())
        self.operations[name] = Operation(model, asked.body, asked.query)
        where = f"{self.url}{ROOT}/{model}/analyzeResults/{name}?api-version={API}"
        return told("202 Accepted", {}, operation_location=where, **AT_ONCE)

    def _result(self, model: str, name: str) -> bytes:
        operation = self.operations.get(name)
        if operation is None or operation.model != model:
            return refused("404 Not Found", "NotFound", "OperationNotFound")
        operation.polls += 1
        at = "2026-01-01T00:00:00Z"
        state: Json = {"status": "running", "createdDateTime": at, "lastUpdatedDateTime": at}
        if operation.polls == 1:
            return told("200 OK", state, **AT_ONCE)
        if self.failure:
            failure, self.failure = self.failure, None
            return told("200 OK", {**state, "status": "failed", "error": failure})
        try:
            result = analysis(operation)
        except DocmillError:
            error = {"code": "InvalidRequest", "innererror": {"code": "InvalidContent"}}
            return told("200 OK", {**state, "status": "failed", "error": error})
        return told("200 OK", {**state, "status": "succeeded", "analyzeResult": result})


def analysis(operation: Operation) -> Json:
    first, last = map(int, operation.query["pages"].split("-"))
    writer = _Writer(pairs="keyValuePairs" in operation.query.get("features", ""))
    for page in _read(operation.pdf)[first - 1 : last]:
        writer.add(page)
    return {
        "apiVersion": API, "modelId": operation.model, "contentFormat": "text",
        "stringIndexType": operation.query["stringIndexType"], "content": writer.content,
        "pages": writer.pages, "paragraphs": writer.paragraphs, "tables": writer.tables,
        "styles": [], **({"keyValuePairs": writer.pairs} if writer.pairs is not None else {}),
    }  # fmt: skip


@lru_cache(maxsize=2)
def _read(pdf: bytes) -> list[Page]:
    """Once for all the ranges that are asked for."""
    with open_pdf(BytesIO(pdf)) as document:
        return [*document.pages]


class _Writer:
    """Pages in the service's own words: inches, polygons, and spans of one long text."""

    def __init__(self, *, pairs: bool) -> None:
        self.content: str = ""
        self.pages: list[Json] = []
        self.paragraphs: list[Json] = []
        self.tables: list[Json] = []
        self.pairs: list[Json] | None = [] if pairs else None
        self._at: dict[int, int] = {}

    def add(self, page: Page) -> None:
        start = len(self.content)
        lines = [self._line(line) for line in page.lines]
        self.pages.append({
            "pageNumber": page.number, "width": page.width / 72, "height": page.height / 72,
            "unit": "inch", "angle": 0,
            "spans": [{"offset": start, "length": len(self.content) - start}],
            "words": [self._word(word) for word in page.words], "lines": lines,
        })  # fmt: skip
        for block in find_blocks(page):
            self._block(block, page)
        if self.pairs is not None:
            self.pairs += [pair for line in page.lines for pair in self._pairs(line, page)]

    def _line(self, line: Line) -> Json:
        start = len(self.content)
        for word in line.words:
            self._at[id(word)] = len(self.content)
            self.content += word.text + " "
        self.content = self.content[:-1] + "\n"
        spans = [{"offset": start, "length": len(self.content) - start - 1}]
        return {"content": line.text, "polygon": _polygon(line.box), "spans": spans}

    def _word(self, word: Word) -> Json:
        span = {"offset": self._at[id(word)], "length": len(word.text)}
        polygon = _polygon(word.box, word.angle)
        return {"content": word.text, "polygon": polygon, "confidence": 0.99, "span": span}

    def _block(self, block: Block, page: Page) -> None:
        if block.table:
            self._table(block.table, page)
            return
        role = "title" if block.level == 1 else "sectionHeading" if block.level else ""
        role = role or ROLES.get(block.kind, "")
        placed = self._placed(block.text, block.box, page)
        self.paragraphs.append(placed | ({"role": role} if role else {}))

    def _table(self, table: PageTable, page: Page) -> None:
        """Every cell is a paragraph as well."""
        cells: list[Json] = []
        for cell in table.cells:
            placed = self._placed(cell.text, cell.box, page)
            self.paragraphs.append(placed)
            cells.append({
                "rowIndex": cell.row, "columnIndex": cell.column, "rowSpan": cell.row_span,
                "columnSpan": cell.column_span, **placed,
            })  # fmt: skip
        spans = [span for cell in cells for span in cell["spans"]]
        self.tables.append({
            "rowCount": table.rows, "columnCount": table.columns, "cells": cells,
            "boundingRegions": [_region(table.box, page)], "spans": spans,
        })  # fmt: skip

    def _placed(self, text: str, box: Box, page: Page) -> Json:
        inside = [word for word in page.words if _holds(box, word.box)]
        spans = [*_spans(sorted(self._at[id(word)] for word in inside), self.content)]
        return {"content": text, "boundingRegions": [_region(box, page)], "spans": spans}

    def _pairs(self, line: Line, page: Page) -> Iterator[Json]:
        """`label: value` in one run of words."""
        for cell in line.cells:
            at = next((i for i, word in enumerate(cell.words, 1) if word.text[-1] == ":"), 0)
            if 0 < at < len(cell.words):
                key, value = cell.words[:at], cell.words[at:]
                sides = [self._side(words, page) for words in (key, value)]
                yield {"key": sides[0], "value": sides[1], "confidence": 0.87}

    def _side(self, words: Sequence[Word], page: Page) -> Json:
        first, last = self._at[id(words[0])], self._at[id(words[-1])] + len(words[-1].text)
        regions = [_region(word.box, page) for word in words]
        text = " ".join(word.text for word in words)
        spans = [{"offset": first, "length": last - first}]
        return {"content": text, "boundingRegions": regions, "spans": spans}


def _spans(offsets: Sequence[int], content: str) -> Iterator[Json]:
    """Words that follow each other in the text, as one span each run."""
    ends = {
        offset: offset + len(re.split(r"\s", content[offset:], maxsplit=1)[0]) for offset in offsets
    }
    run: list[int] = []
    for offset in offsets:
        if run and ends[run[-1]] + 1 != offset:
            yield {"offset": run[0], "length": ends[run[-1]] - run[0]}
            run = []
        run.append(offset)
    if run:
        yield {"offset": run[0], "length": ends[run[-1]] - run[0]}


def _holds(box: Box, other: Box) -> bool:
    x, y = (other.x0 + other.x1) / 2, other.middle
    return box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1


def _region(box: Box, page: Page) -> Json:
    return {"pageNumber": page.number, "polygon": _polygon(box)}


def _polygon(box: Box, angle: int = 0) -> list[float]:
    """Four corners, from where the text begins on, clockwise."""
    x0, y0, x1, y1 = (side / 72 for side in (box.x0, box.y0, box.x1, box.y1))
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    turned = corners[angle // 90 % 4 :] + corners[: angle // 90 % 4]
    return [round(side, 4) for corner in turned for side in corner]
