"""Values from pictures: never surer than the words under them."""

from docmill.pipelines.invoice.model import Invoice, Totals, Value
from docmill.pipelines.invoice.scanned import capped
from docmill.reading.pages import Box, Line, Page, Word

HERE, THERE = Box(100, 100, 150, 110), Box(100, 200, 150, 210)
WORDS = (Word("1,234.00", HERE, confidence=0.61), Word("99.00", THERE, confidence=0.97))


def invoice_on(*, scanned: bool) -> Invoice:
    page = Page(
        1, 595, 842, tuple(Line((word,), word.box, word.text) for word in WORDS), scanned=scanned
    )
    totals = Totals(net=Value("1234.00", 0.98, 1, HERE), tax=Value("99.00", 0.9, 1, THERE))
    return capped(Invoice(totals=totals), [page])


def test_a_value_from_a_picture_is_at_most_as_sure_as_its_least_sure_word() -> None:
    totals = invoice_on(scanned=True).totals
    assert totals.net
    assert totals.tax
    assert (totals.net.confidence, totals.tax.confidence) == (0.61, 0.9)


def test_a_value_from_printed_text_stays_as_sure_as_it_was() -> None:
    totals = invoice_on(scanned=False).totals
    assert totals.net
    assert totals.net.confidence == 0.98
