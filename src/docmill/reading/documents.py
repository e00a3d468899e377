"""The one way into a document: `open_document`, by content type."""

from contextlib import AbstractContextManager
from typing import BinaryIO, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import DOCX, PDF, TEXT, Tools
from docmill.reading.docx import open_docx
from docmill.reading.pages import Document
from docmill.reading.pdf import ALONE, open_pdf
from docmill.reading.text import open_text

_OTHERS: Final = {DOCX: open_docx, TEXT: open_text}


def open_document(
    file: BinaryIO, content_type: str, tools: Tools = ALONE
) -> AbstractContextManager[Document]:
    """A context that gives the Document. Pages are read as they are asked for, and then let go.

    A page that takes long tells of its progress meanwhile; of many, those that an earlier try has
    read are not read again.
    """
    plain = content_type.partition(";")[0].strip().lower()
    if plain != PDF and plain not in _OTHERS:
        raise Faulted("UNSUPPORTED_TYPE", f"no reader for {plain}")
    file.seek(0)
    return open_pdf(file, tools) if plain == PDF else _OTHERS[plain](file)
