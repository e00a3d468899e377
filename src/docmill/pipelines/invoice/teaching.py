"""The teacher: reads a corrected document once more and says what its corrections teach.

No pipeline for uploads, and so under no entry point; the web asks for it by its address.
"""

from dataclasses import dataclass
from typing import Final

from docmill.core.pipeline import PDF, Output, Source, Tools
from docmill.pipelines.invoice import lessons, walked
from docmill.pipelines.invoice.layout import sheet_of
from docmill.pipelines.invoice.reader import marked
from docmill.reading.documents import open_document


@dataclass(frozen=True, slots=True)
class Teacher:
    """Give `options`: `fields` (the corrected values by path), `seller`, `lessons` (known ones)."""

    name: str = "invoice-teacher"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type, tools) as document:
            sheet = marked(sheet_of(walked(document, tools)))
        given = source.options
        found = lessons.taught(sheet, given["fields"], given["seller"], given["lessons"])
        return Output({"lessons": found})


pipeline: Final = Teacher()
