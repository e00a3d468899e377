import zlib

import pytest

from docmill.core.faults import DocmillError
from docmill.reading import pdf
from pdfs import assemble, bomb_pdf, make_pdf, packed, stream


def test_an_ordinary_file_passes() -> None:
    pdf.check_streams(make_pdf([[(72, 72, "hello")]]))
    pdf.check_streams(assemble([packed(b"0 0 10 10 re f " * 1000)]))


def test_a_small_stream_that_unpacks_to_much_is_refused() -> None:
    with pytest.raises(DocmillError, match="BAD_PDF: a stream unpacks"):
        pdf.check_streams(bomb_pdf(20_000_000))


def test_a_bomb_packed_twice_is_refused() -> None:
    twice = zlib.compress(zlib.compress(b" " * 50_000_000, 9), 9)

    with pytest.raises(DocmillError, match="BAD_PDF: a stream unpacks"):
        pdf.check_streams(assemble([stream(twice, "/Filter [/FlateDecode /FlateDecode]")]))


def test_many_streams_are_weighed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_TOTAL_BYTES", 10_000)

    with pytest.raises(DocmillError, match="streams unpack to more"):
        pdf.check_streams(assemble([packed(b"x" * 1000)] * 11))


def test_pictures_are_not_weighed() -> None:
    picture = stream(zlib.compress(b"\0" * 20_000_000), "/Subtype /Image /Filter /FlateDecode")

    pdf.check_streams(assemble([picture]))


def test_damaged_streams_are_left_to_the_reader() -> None:
    pdf.check_streams(assemble([stream(zlib.compress(b"x" * 1000)[:20] + b"\xff" * 50)]))
