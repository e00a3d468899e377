"""What `extract` found as Markdown or plain text: headings, paragraphs, lists and tables."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

RUNNING: Final = frozenset({"header", "footer"})
_BULLET: Final = re.compile(r"^[•‣◦▪■●○∙·–*➢✓-]\s+")
_NUMBER: Final = re.compile(r"^\(?(\d{1,9})[.)]\s+")
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>])")
# At the beginning of a line these would make it a heading, a list, a quote or a rule.
_LEADING: Final = re.compile(r"^(#{1,6}(?=\s)|[-+>](?=\s|$)|\d+(?=[.)]\s)|[-=]{3,}$)")

Data = Mapping[str, Any]


def write_markdown(data: Data) -> str:
    """Parts with a blank line between them, but none between the items of a list."""
    text, before = "", ""
    for block in body_blocks(data):
        kind: str = block["kind"]
        part = _write_block(block, data)
        if part:
            close = kind == before == "list_item"
            text += ("\n" if close else "\n\n" if text else "") + part
            before = kind
    return text + "\n" if text else ""


def write_text(data: Data) -> str:
    parts = [block["text"].strip() for block in body_blocks(data)]
    return "\n\n".join(filter(None, parts)) + "\n"


def body_blocks(data: Data) -> Iterator[Data]:
    """Every block but running headers and footers; whole pages where nothing told blocks."""
    for page in data["pages"]:
        found = page.get("blocks")
        if found is None:
            found = [{"kind": "paragraph", "text": page["text"], "box": None}]
        for block in found:
            if block["kind"] not in RUNNING:
                yield {**block, "page": page["number"]}


def to_grid(table: Data) -> list[list[str]]:
    """The texts of a table's cells, row by row; a cell over several places stands in the first."""
    rows = [[""] * table["columns"] for _ in range(table["rows"])]
    for cell in table["cells"]:
        rows[cell["row"]][cell["column"]] = " ".join(cell["text"].split())
    return rows


def split_item(text: str) -> tuple[str, str]:
    """The mark of a list item, `-` or a number, and what follows it."""
    if number := _NUMBER.match(text):
        return f"{number[1]}.", text[number.end() :]
    return "-", _BULLET.sub("", text)


def _write_block(block: Data, data: Data) -> str:
    text = " ".join(block["text"].split())
    match block["kind"]:
        case "heading":
            return f"{'#' * min(block.get('level') or 1, 6)} {_escape(text)}"
        case "list_item":
            mark, rest = split_item(text)
            return f"{mark} {_escape(rest)}"
        case "table" if "table" in block:
            return _write_table(to_grid(data["tables"][block["table"]]))
        case _:
            lines = [line.strip() for line in block["text"].splitlines()]
            return "\n".join(_LEADING.sub(r"\\\1", _escape(line)) for line in lines if line)


def _write_table(rows: list[list[str]]) -> str:
    """The first row is the head: Markdown has no table without one."""
    lines = ["| " + " | ".join(_write_cell(text) for text in row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def _write_cell(text: str) -> str:
    return _escape(text).replace("|", "\\|")


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
