"""What was found, as JSON. No box where the page itself has no places to show."""

import json
from collections.abc import Mapping
from typing import Any

from docmill.pipelines.extract.chunks import Chunk
from docmill.pipelines.extract.fields import Field
from docmill.pipelines.extract.normal import Customs, normal
from docmill.pipelines.extract.running import Leaf
from docmill.reading.blocks import Block
from docmill.reading.pages import Box, Page
from docmill.reading.tables import Cell, Table


def page(page: Page) -> dict[str, Any]:
    boxed = not page.flow
    return {
        "number": page.number,
        "width": page.width,
        "height": page.height,
        "scanned": page.scanned,
        "text": page.text,
        "lines": [{"text": line.text, "box": _box(line.box, boxed)} for line in page.lines],
    }


def blocks(leaf: Leaf, tables: list[dict[str, Any]], *, boxed: bool) -> list[dict[str, Any]]:
    """The parts of a page in reading order; tables go on the list, a block tells their index."""
    found: list[dict[str, Any]] = []
    for block in leaf.blocks:
        shape = _block(block, boxed)
        if block.table:
            shape["table"] = len(tables)
            tables.append(_table(block.table, leaf.number, boxed))
        found.append(shape)
    return found


def _block(block: Block, boxed: bool) -> dict[str, Any]:
    shape = {"kind": str(block.kind), "text": block.text, "box": _box(block.box, boxed)}
    return {**shape, "level": block.level} if block.level else shape


def _table(table: Table, number: int, boxed: bool) -> dict[str, Any]:
    return {
        "page": number,
        "box": _box(table.box, boxed),
        "rows": table.rows,
        "columns": table.columns,
        "cells": [_cell(cell, boxed) for cell in table.cells],
    }


def _cell(cell: Cell, boxed: bool) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "row_span": cell.row_span,
        "column_span": cell.column_span,
        "text": cell.text,
        "box": _box(cell.box, boxed),
    }


def field(field: Field, customs: Customs, *, boxed: bool) -> dict[str, Any]:
    return {
        "label": field.name,
        "value": field.value.text,
        "type": field.kind,
        "normal": normal(field.value.text, field.kind, customs),
        "confidence": field.confidence,
        "page": field.page,
        "box": _box(field.value.box, boxed),
        "label_box": _box(field.label.box, boxed),
    }


def asked(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as one of the document's fields, under the name it was asked for."""
    value, kind = answer["value"], answer["type"]
    kept = {"date": "date", "amount": "amount", "number": "amount", "integer": "amount"}
    plain = value if isinstance(value, str) else json.dumps(value)
    normal = {kept.get(kind, "text"): plain} if kind != "text" else {}
    if money := answer.get("currency"):
        normal["currency"] = money
    shown = {key: answer[key] for key in ("type", "confidence", "page", "box")}
    return {"label": name, "value": answer["text"], "normal": normal, "asked": True, **shown}


def chunk(chunk: Chunk, *, boxed: bool) -> dict[str, Any]:
    return {
        "page": chunk.page,
        "box": _box(chunk.box, boxed),
        "heading": chunk.heading,
        "text": chunk.text,
    }


def _box(box: Box, boxed: bool) -> list[float] | None:
    return box.rounded() if boxed else None
