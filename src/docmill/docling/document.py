"""What `extract` found as a DoclingDocument: the JSON that docling's programs exchange."""

from collections.abc import Mapping
from typing import Any, Final

from docmill.reading.markdown import body_blocks, split_item, to_grid

SCHEMA: Final = {"schema_name": "DoclingDocument", "version": "1.0.0"}
BODY: Final = {"$ref": "#/body"}
LABELS: Final = {"heading": "section_header", "list_item": "list_item"}

Data = Mapping[str, Any]


def build_document(data: Data, name: str) -> dict[str, Any]:
    texts: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    order: list[dict[str, str]] = []
    sizes = {page["number"]: page["height"] for page in data["pages"]}
    for block in body_blocks(data):
        place = _locate(block, sizes)
        if block["kind"] == "table" and "table" in block:
            order.append({"$ref": f"#/tables/{len(tables)}"})
            tables.append(_build_table(data["tables"][block["table"]], len(tables), place))
            continue
        text = _build_text(block, len(texts), place)
        texts.append(text)
        if block["kind"] == "list_item":
            _add_to_list(text, groups, order, texts)
        else:
            order.append({"$ref": text["self_ref"]})
    return {
        **SCHEMA,
        "name": name,
        "furniture": _build_node("#/furniture", "_root_", []) | {"content_layer": "furniture"},
        "body": _build_node("#/body", "_root_", order),
        "groups": groups,
        "texts": texts,
        "pictures": [],
        "tables": tables,
        "key_value_items": [],
        "form_items": [],
        "pages": {str(page["number"]): _build_page(page) for page in data["pages"]},
    }


def _build_node(ref: str, name: str, children: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "self_ref": ref,
        "children": children,
        "content_layer": "body",
        "name": name,
        "label": "unspecified",
    }


def _build_text(block: Data, number: int, place: list[dict[str, Any]]) -> dict[str, Any]:
    text = " ".join(block["text"].split())
    found: dict[str, Any] = {
        "self_ref": f"#/texts/{number}",
        "parent": BODY,
        "children": [],
        "content_layer": "body",
        "label": LABELS.get(block["kind"], "text"),
        "prov": place,
        "orig": text,
        "text": text,
    }
    if block["kind"] == "heading":
        found["level"] = block.get("level") or 1
    if block["kind"] == "list_item":
        mark, rest = split_item(text)
        found |= {"text": rest, "enumerated": mark != "-", "marker": mark}
    return found


def _add_to_list(
    text: dict[str, Any],
    groups: list[dict[str, Any]],
    order: list[dict[str, str]],
    texts: list[dict[str, Any]],
) -> None:
    """Items that follow each other are of one list."""
    before = texts[-2]["parent"] if len(texts) > 1 else BODY
    if not groups or before != order[-1]:
        ref = f"#/groups/{len(groups)}"
        groups.append(_build_node(ref, "list", []) | {"parent": BODY, "label": "list"})
        order.append({"$ref": ref})
    text["parent"] = order[-1]
    groups[-1]["children"].append({"$ref": text["self_ref"]})


def _build_table(table: Data, number: int, place: list[dict[str, Any]]) -> dict[str, Any]:
    cells = [_build_cell(cell) for cell in table["cells"]]
    return {
        "self_ref": f"#/tables/{number}",
        "parent": BODY,
        "children": [],
        "content_layer": "body",
        "label": "table",
        "prov": place,
        "captions": [],
        "references": [],
        "footnotes": [],
        "data": {
            "table_cells": cells,
            "num_rows": len(to_grid(table)),
            "num_cols": table["columns"],
        },
    }


def _build_cell(cell: Data) -> dict[str, Any]:
    row, column = cell["row"], cell["column"]
    height, width = cell.get("row_span", 1), cell.get("column_span", 1)
    return {
        "row_span": height,
        "col_span": width,
        "start_row_offset_idx": row,
        "end_row_offset_idx": row + height,
        "start_col_offset_idx": column,
        "end_col_offset_idx": column + width,
        "text": " ".join(cell["text"].split()),
        "column_header": row == 0,
        "row_header": False,
        "row_section": False,
    }


def _locate(block: Data, heights: Mapping[int, float]) -> list[dict[str, Any]]:
    """Its box as docling counts: from the bottom of the page."""
    box = block.get("box")
    if box is None:
        return []
    left, top, right, bottom = box
    height = heights[block["page"]]
    edges = {"l": left, "t": height - top, "r": right, "b": height - bottom}
    return [
        {
            "page_no": block["page"],
            "bbox": edges | {"coord_origin": "BOTTOMLEFT"},
            "charspan": [0, len(block["text"])],
        }
    ]


def _build_page(page: Data) -> dict[str, Any]:
    size = {"width": page["width"], "height": page["height"]}
    return {"size": size, "page_no": page["number"]}
