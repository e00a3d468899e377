"""Pages on which nothing could be read, and what their sender is told."""

from collections.abc import Sequence

from docmill.core.faults import DocmillError
from docmill.reading import ocr
from docmill.reading.pages import Page


def require_text(pages: Sequence[Page], code: str = "BAD_PDF") -> None:
    """Raises where no page has a word."""
    if any(page.lines for page in pages):
        return
    if any(page.scanned for page in pages):
        reason = "There is no text on any page: they are pictures, and OCR found nothing on them."
    elif ocr.is_installed():
        reason = "There is no text on any page, and no picture of one."
    else:
        reason = "There is no text on any page, and OCR for pictures of text is not installed here."
    raise DocmillError(code, "there is no text on any page", reason=reason)
