"""Where a PDF that does not open is damaged."""

import io

import pytest

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF
from docmill.reading.damage import explain_damage
from docmill.reading.documents import open_document
from pdfs import encrypted_pdf, make_pdf, zero_page_pdf


def test_a_file_that_ends_in_the_middle_is_not_closed_properly() -> None:
    cut = make_pdf([[(72, 72, "text")]])[:-60]
    assert (
        explain_damage(cut)
        == f"It is not closed properly: it ends at byte {len(cut):,} in the middle."
    )


def test_a_table_that_is_not_where_it_should_be_is_named_by_its_byte() -> None:
    broken = b"%PDF-1.4\n" + b"x" * 200 + b"\nstartxref\n50\n%%EOF\n"
    assert explain_damage(broken).startswith("It is damaged at byte 50")


def test_what_does_not_begin_like_a_pdf_is_said_so() -> None:
    assert explain_damage(b"GIF89a").startswith("It does not begin like a PDF")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (encrypted_pdf(), "It is locked with a password."),
        (zero_page_pdf(), "It has no pages."),
    ],
)
def test_each_fault_has_a_sentence_of_its_own(document: bytes, reason: str) -> None:
    with pytest.raises(DocmillError) as caught, open_document(io.BytesIO(document), PDF):
        pass
    assert caught.value.reason == reason
