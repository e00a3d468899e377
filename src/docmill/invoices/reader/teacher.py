"""The confined run in which corrections of a document become lessons."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.plugins import PDF, Output, Source, Tools
from docmill.invoices.reader import detect_notation, read_pages
from docmill.invoices.reader.column_lessons import teach_columns
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.lessons import describe_layout, teach
from docmill.reading.documents import open_document
from docmill.reading.pages import Box
from docmill.reading.turning import Frames, find_frames, set_upright


@dataclass(frozen=True, slots=True)
class Teacher:
    """Give `options`: `fields` (the corrected values by path), `columns` (the corrected cells by
    the name of their field), `seller`, `lessons` (known ones).
    """

    name: str = "invoice-teacher"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools, drawn=False) as document:
            pages = read_pages(document, tools)
        sheet, given = detect_notation(make_sheet(map(set_upright, pages))), source.options
        frames = find_frames(pages)
        fields = {path: _move_upright(each, frames) for path, each in given["fields"].items()}
        columns = {
            name: [_move_upright(each, frames) for each in cells]
            for name, cells in given.get("columns", {}).items()
        }
        known, seller = given["lessons"], given["seller"]
        about = describe_layout(sheet, seller, known)
        found = teach(sheet, fields, seller, known)
        found += [{**about, **each} for each in teach_columns(sheet, columns, known)]
        return Output({"lessons": found})


def _move_upright(given: Mapping[str, Any], frames: Frames) -> dict[str, Any]:
    """A corrected value, with the place that a person gave moved to the upright page."""
    placed = dict(given)
    if placed.get("page") and placed.get("box"):
        placed["box"] = frames.to_upright(placed["page"], Box(*placed["box"])).to_list()
    return placed


teacher: Final = Teacher()
