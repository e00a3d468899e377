"""PDFs written by hand: objects put together, texts set where they are wanted."""

import zlib
from collections.abc import Sequence

Text = tuple[float, float, str]
A4 = (595.0, 842.0)


def assemble(objects: Sequence[bytes], trailer: str = "") -> bytes:
    """A PDF file of these objects, numbered from 1; the first is the catalog."""
    data = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places: list[int] = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    data += f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\n".encode("latin-1")
    return bytes(data + b"startxref\n%d\n%%%%EOF\n" % start)


def stream(data: bytes, entries: str = "") -> bytes:
    """A stream object's body."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries.encode(), data)


def packed(data: bytes) -> bytes:
    """A deflated stream object's body."""
    return stream(zlib.compress(data), "/Filter /FlateDecode")


def written(texts: Sequence[Text], height: float, font_size: float = 10) -> bytes:
    """The content of a page: each text starts at x, its baseline at y from the top."""
    parts = [b"BT /F1 %g Tf" % font_size]
    for x, y, text in texts:
        string = text.encode("cp1252", "replace")
        for special in (b"\\", b"(", b")"):
            string = string.replace(special, b"\\" + special)
        parts.append(b"1 0 0 1 %g %g Tm (%s) Tj" % (x, height - y, string))
    return b"\n".join([*parts, b"ET"])


def _font(name: str) -> str:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"


def pdf_of(
    contents: Sequence[bytes],
    size: tuple[float, float] = A4,
    page_entries: str = "",
    info: dict[str, str] | None = None,
    trailer: str = "",
) -> bytes:
    """A PDF with one page for each content; `page_entries` goes into every page's dictionary."""
    kids = " ".join(f"{5 + 2 * index} 0 R" for index in range(len(contents)))
    facts = " ".join(f"/{key} ({value})" for key, value in (info or {}).items())
    box = f"/MediaBox [0 0 {size[0]:g} {size[1]:g}]"
    fonts = f"/F1 3 0 R /F2 {_font('Times-Roman')} /F3 {_font('Courier')}"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>".encode(),
        _font("Helvetica").encode(),
        f"<< {facts} >>".encode("latin-1"),
    ]
    for index, content in enumerate(contents):
        page = f"<< /Type /Page /Parent 2 0 R {box} /Contents {6 + 2 * index} 0 R {page_entries}"
        objects.append(f"{page} /Resources << /Font << {fonts} >> >> >>".encode())
        objects.append(stream(content))
    return assemble(objects, f"/Info 4 0 R {trailer}")


def make_pdf(
    pages: Sequence[Sequence[Text]],
    size: tuple[float, float] = A4,
    page_entries: str = "",
    info: dict[str, str] | None = None,
) -> bytes:
    """A PDF in Helvetica 10 with these texts: (x, baseline y from the top, text)."""
    contents = [written(texts, size[1]) for texts in pages]
    return pdf_of(contents, size, page_entries, info)
