"""What was found, as JSON, each box on the page as shown; none where the page has no places."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docmill.extract.reader.chunking import Chunk, PageBlocks
from docmill.extract.reader.labels import LabelledField
from docmill.extract.reader.values import Conventions, normalize
from docmill.reading.blocks import Block
from docmill.reading.pages import Box, Line, Page
from docmill.reading.tables.model import PageTable, TableCell
from docmill.reading.turning import Frames


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are on the pages as shown."""

    frames: Frames
    boxed: bool = True

    def box(self, page: int | None, box: Box | None) -> list[float] | None:
        if not self.boxed or box is None:
            return None
        return self.frames.to_shown(page or 0, box).to_list()


def describe_page(page: Page) -> dict[str, Any]:
    return {
        "number": page.number,
        "width": page.width,
        "height": page.height,
        "scanned": page.scanned,
        "text": page.text,
        "lines": [{"text": line.text, "box": _line_box(line, page)} for line in page.lines],
    }


def describe_blocks(
    page: PageBlocks, tables: list[dict[str, Any]], places: Places
) -> list[dict[str, Any]]:
    """The parts of a page in reading order; tables go on the list, a block tells their index."""
    found: list[dict[str, Any]] = []
    for block in page.blocks:
        shape = _describe_block(block, page.number, places)
        if block.table:
            shape["table"] = len(tables)
            tables.append(_describe_table(block.table, page.number, places))
        found.append(shape)
    return found


def _describe_block(block: Block, number: int, places: Places) -> dict[str, Any]:
    shape = {"kind": str(block.kind), "text": block.text, "box": places.box(number, block.box)}
    return {**shape, "level": block.level} if block.level else shape


def _describe_table(table: PageTable, number: int, places: Places) -> dict[str, Any]:
    return {
        "page": number,
        "box": places.box(number, table.box),
        "rows": table.rows,
        "columns": table.columns,
        "cells": [_describe_cell(cell, number, places) for cell in table.cells],
    }


def _describe_cell(cell: TableCell, number: int, places: Places) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "row_span": cell.row_span,
        "column_span": cell.column_span,
        "text": cell.text,
        "box": places.box(number, cell.box),
    }


def describe_field(
    field: LabelledField, conventions: Conventions, places: Places
) -> dict[str, Any]:
    return {
        "label": field.name,
        "value": field.value.text,
        "type": field.kind,
        "normal": normalize(field.value.text, field.kind, conventions),
        "confidence": field.confidence,
        "page": field.page,
        "box": places.box(field.page, field.value.box),
        "label_box": places.box(field.page, field.label.box),
    }


def describe_answer(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as one of the document's fields, under the name it was asked for."""
    value, kind = answer["value"], answer["type"]
    kept = {"date": "date", "amount": "amount", "number": "amount", "integer": "amount"}
    plain = value if isinstance(value, str) else json.dumps(value)
    normal = {kept.get(kind, "text"): plain} if kind != "text" else {}
    if money := answer.get("currency"):
        normal["currency"] = money
    shown = {key: answer[key] for key in ("type", "confidence", "page", "box")}
    return {"label": name, "value": answer["text"], "normal": normal, "asked": True, **shown}


def describe_chunk(chunk: Chunk, places: Places) -> dict[str, Any]:
    return {
        "page": chunk.page,
        "box": places.box(chunk.page, chunk.box),
        "heading": chunk.heading,
        "text": chunk.text,
    }


def _line_box(line: Line, page: Page) -> list[float] | None:
    return None if page.flow else line.box.to_list()
