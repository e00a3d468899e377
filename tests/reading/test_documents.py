import io

import pytest

from docmill.core.faults import DocmillError
from docmill.reading.documents import open_document
from pdfs import make_pdf


def test_the_content_type_may_carry_parameters() -> None:
    with open_document(io.BytesIO(b"hello"), "text/plain; charset=utf-8") as document:
        assert next(document.pages).text == "hello"


def test_a_file_is_read_from_its_start_wherever_it_stands() -> None:
    file = io.BytesIO(make_pdf([[(72, 72, "hello")]]))
    file.read()
    with open_document(file, "application/pdf") as document:
        assert next(document.pages).text == "hello"


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(DocmillError, match="UNSUPPORTED_TYPE"):
        open_document(io.BytesIO(b"GIF89a"), "image/gif")
