"""Small PDFs for tests, broken ones among them: `from pdfs import make_pdf`."""

import zlib

from eval.pdf import A4, Text, assemble, make_pdf, packed, pdf_of, stream, written

__all__ = [
    "A4",
    "Text",
    "assemble",
    "bomb_pdf",
    "encrypted_pdf",
    "make_pdf",
    "many_page_claim_pdf",
    "packed",
    "pdf_of",
    "stream",
    "truncated_pdf",
    "written",
    "zero_page_pdf",
]


def encrypted_pdf() -> bytes:
    """A PDF locked with a password that nobody has (any owner and user hash will do for that)."""
    key = "41" * 32
    lock = f"/Filter /Standard /V 1 /R 2 /P -4 /O <{key}> /U <{key}>"
    trailer = f"/Encrypt << {lock} >> /ID [<00112233445566778899aabbccddeeff> <00>]"
    return pdf_of([written([(72, 72, "secret")], 842)], trailer=trailer)


def zero_page_pdf() -> bytes:
    """A valid PDF whose page tree is empty."""
    return pdf_of([])


def truncated_pdf() -> bytes:
    """A PDF cut off before its pages, as by a broken transfer."""
    return make_pdf([[(72, 72, "hello")]])[:80]


def many_page_claim_pdf(claimed: int = 1_000_000) -> bytes:
    """A PDF of about 700 bytes whose page tree claims this many pages."""
    data = make_pdf([[(72, 72, "one")]])
    return data.replace(b"/Count 1 ", b"/Count %d " % claimed)


def bomb_pdf(unpacked_bytes: int = 200_000_000) -> bytes:
    """A PDF whose only content stream is small and unpacks to this much."""
    content = zlib.compress(b" " * unpacked_bytes, 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
        stream(content, "/Filter /FlateDecode"),
    ]
    return assemble(objects)
