"""Files that a PDF carries inside it."""

from typing import Any, Final

import pypdfium2

MAX_FILES: Final = 50
MAX_BYTES: Final = 20 * 2**20


def attachments(data: bytes) -> list[tuple[str, bytes]]:
    """Name and content of each embedded file; none where the PDF cannot be opened."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError:
        return []
    try:
        return _files(document)
    except pypdfium2.PdfiumError:
        return []
    finally:
        document.close()


def _files(document: Any) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for index in range(min(document.count_attachments(), MAX_FILES)):
        file = document.get_attachment(index)
        content = bytes(file.get_data())
        if len(content) <= MAX_BYTES:
            found.append((file.get_name(), content))
    return found
