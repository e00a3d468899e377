"""PDFs as a scanner makes them: every page nothing but a picture."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pypdfium2
from numpy.typing import NDArray

from eval.pdf import assemble, stream

Gray = NDArray[np.uint8]
DPI = 200


def as_is(pixels: Gray) -> Gray:
    return pixels


def scanned(data: bytes, change: Callable[[Gray], Gray] = as_is) -> bytes:
    """Every page of a PDF as nothing but a gray picture of it."""
    library: Any = pypdfium2
    pdf = library.PdfDocument(data)
    pdf.init_forms()  # what was typed into fields is printed too
    try:
        pictures = [page.render(scale=DPI / 72, grayscale=True).to_numpy() for page in pdf]
    finally:
        pdf.close()
    return picture_pdf([change(each.reshape(each.shape[:2])) for each in pictures])


def picture_pdf(pictures: list[Gray]) -> bytes:
    kids = " ".join(f"{3 + 3 * at} 0 R" for at in range(len(pictures)))
    tree = f"<< /Type /Pages /Kids [{kids}] /Count {len(pictures)} >>"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", tree.encode()]
    for at, pixels in enumerate(pictures):
        rows, columns = pixels.shape
        width, height = columns * 72 / DPI, rows * 72 / DPI
        box = f"/MediaBox [0 0 {width:g} {height:g}] /Contents {4 + 3 * at} 0 R"
        uses = f"/Resources << /XObject << /I {5 + 3 * at} 0 R >> >>"
        about = f"/Subtype /Image /Width {columns} /Height {rows} /BitsPerComponent 8"
        objects += [
            f"<< /Type /Page /Parent 2 0 R {box} {uses} >>".encode(),
            stream(f"{width:g} 0 0 {height:g} 0 0 cm /I Do".encode()),
            stream(
                zlib.compress(np.ascontiguousarray(pixels).tobytes()),
                f"/Type /XObject {about} /ColorSpace /DeviceGray /Filter /FlateDecode",
            ),
        ]
    return assemble(objects)
