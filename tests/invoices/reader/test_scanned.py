"""Values from pictures: never surer than the words under them."""

from docmill.invoices.reader.model import Invoice, cap_confidence
from docmill.reading.pages import Box, Line, Page, Value, Word

HERE, THERE = Box(100, 100, 150, 110), Box(100, 200, 150, 210)
WORDS = (Word("1,234.00", HERE, confidence=0.61), Word("99.00", THERE, confidence=0.97))


def invoice_on(*, scanned: bool) -> Invoice:
    page = Page(
        1, 595, 842, tuple(Line((word,), word.box, word.text) for word in WORDS), scanned=scanned
    )
    values = {
        "totals.net": Value("1234.00", 0.98, 1, HERE),
        "totals.tax": Value("99.00", 0.9, 1, THERE),
    }
    return cap_confidence(Invoice(values), [page])


def test_a_value_from_a_picture_is_at_most_as_sure_as_its_least_sure_word() -> None:
    values = invoice_on(scanned=True).values
    assert [value.confidence for value in values.values()] == [0.61, 0.9]


def test_a_value_from_printed_text_stays_as_sure_as_it_was() -> None:
    values = invoice_on(scanned=False).values
    assert [value.confidence for value in values.values()] == [0.98, 0.9]
