"""What was found in any document as people read it, for its page."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from docmill.core.shown import Shown, ShownTable, ShownValue

MOST_TABLES: Final = 20
MOST_ROWS: Final = 100
MOST_PASSAGES: Final = 200
DOUBT: Final = 0.6


def show_extract(data: Mapping[str, Any]) -> Shown:
    """Fields, tables, and the text by paragraphs; the download has what is too much for a page."""
    fields = [_show_field(each) for each in data.get("fields") or ()]
    tables = [_show_table(each) for each in (data.get("tables") or ())[:MOST_TABLES]]
    passages = list(islice(_list_paragraphs(data), MOST_PASSAGES))
    return Shown([("Fields", fields)] if fields else (), tables, passages)


def _show_field(each: Mapping[str, Any]) -> ShownValue:
    return ShownValue(
        str(each.get("label") or each.get("name") or ""),
        str(each.get("value") or ""),
        each.get("page"),
        each.get("box"),
        (each.get("confidence") or 1.0) < DOUBT,
    )


def _show_table(table: Mapping[str, Any]) -> ShownTable:
    count, width = min(int(table["rows"]), MOST_ROWS), int(table["columns"])
    rows = [[ShownValue("", "") for _ in range(width)] for _ in range(count)]
    for cell in table["cells"]:
        if cell["row"] < count:
            rows[cell["row"]][cell["column"]] = _show_cell(cell, table)
    head, body = (rows[0], rows[1:]) if rows else ([], [])
    return ShownTable(f"Table on page {table.get('page')}", [one.text for one in head], body)


def _show_cell(cell: Mapping[str, Any], table: Mapping[str, Any]) -> ShownValue:
    return ShownValue("", str(cell.get("text") or ""), table.get("page"), cell.get("box"))


def _list_paragraphs(data: Mapping[str, Any]) -> Iterator[ShownValue]:
    for page in data.get("pages") or ():
        blocks: Sequence[Mapping[str, Any]] = page.get("blocks") or ()
        for block in blocks:
            if text := str(block.get("text") or ""):
                yield ShownValue(str(block.get("kind")), text, page["number"], block.get("box"))
