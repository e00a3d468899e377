"""Draws the sample documents that come with docmill: python scripts/samples.py

Everybody in them is made up.
"""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from eval.canvas import width  # noqa: E402
from eval.pdf import A4, pdf_of  # noqa: E402

FOLDER = ROOT / "src" / "docmill" / "jobs" / "samples"
LEFT, RIGHT = 56.0, 539.0


class Sheet:
    """One page: texts, lines and boxes, with y running down from the top."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def text(self, x: float, y: float, text: str, *, size: float = 10, right: bool = False) -> None:
        left = x - width(text, "Helvetica", size) if right else x
        string = text.encode("cp1252")
        for special in (b"\\", b"(", b")"):
            string = string.replace(special, b"\\" + special)
        place = b"%.2f %.2f" % (left, A4[1] - y)
        self._parts.append(b"BT /F1 %g Tf %s Td (%s) Tj ET" % (size, place, string))

    def line(self, y: float, weight: float = 0.6) -> None:
        at = A4[1] - y
        self._parts.append(b"%g w %.2f %.2f m %.2f %.2f l S" % (weight, LEFT, at, RIGHT, at))

    def band(self, y: float, height: float) -> None:
        box = b"%.2f %.2f %.2f %.2f" % (LEFT, A4[1] - y - height, RIGHT - LEFT, height)
        self._parts.append(b"0.92 g %s re f 0 g" % box)

    @property
    def content(self) -> bytes:
        return b"\n".join(self._parts)


LINES = (
    ("BT-101", "Kertas cetak A4 80 gsm", "120", "rim", "52.500", "6.300.000"),
    ("BT-204", "Tinta printer hitam 1 liter", "24", "botol", "185.000", "4.440.000"),
    ("BT-330", "Map arsip dua lubang", "300", "buah", "18.750", "5.625.000"),
    ("JS-010", "Jasa pengiriman dalam kota", "1", "kali", "635.000", "635.000"),
)
COLUMNS = ((56.0, "Kode"), (116.0, "Uraian"))
NUMBERS = ((352.0, "Jumlah"), (396.0, "Satuan"), (462.0, "Harga satuan"), (535.0, "Total"))


def draw_invoice() -> bytes:
    sheet = Sheet()
    sheet.text(LEFT, 74, "PT Bintang Timur Niaga", size=15)
    sheet.text(LEFT, 92, "Jl. Melati Raya No. 18, Bandung 40115, Indonesia", size=9)
    sheet.text(LEFT, 105, "NPWP: 01.234.567.8-423.000", size=9)
    sheet.text(RIGHT, 74, "FAKTUR", size=20, right=True)
    sheet.line(120, 1.2)
    for at, (label, value) in enumerate(
        (
            ("No. Faktur", "BTN/2025/0318"),
            ("Tanggal", "14 Maret 2025"),
            ("Jatuh tempo", "13 April 2025"),
            ("Mata uang", "IDR"),
        )
    ):
        sheet.text(340, 148 + 15 * at, f"{label}:")
        sheet.text(430, 148 + 15 * at, value)
    for at, text in enumerate(
        (
            "Kepada:",
            "PT Samudra Cipta Karya",
            "Jl. Pahlawan No. 7, Surabaya 60174",
            "NPWP: 02.345.678.9-601.000",
        )
    ):
        sheet.text(LEFT, 148 + 15 * at, text)
    sheet.band(222, 20)
    for x, name in COLUMNS:
        sheet.text(x + 4, 236, name, size=9)
    for x, name in NUMBERS:
        sheet.text(x, 236, name, size=9, right=True)
    for at, (code, what, count, unit, price, amount) in enumerate(LINES):
        y = 262 + 20 * at
        sheet.text(60, y, code, size=9)
        sheet.text(120, y, what, size=9)
        for (x, _), value in zip(NUMBERS, (count, unit, price, amount), strict=True):
            sheet.text(x, y, value, size=9, right=True)
    sheet.line(338)
    for at, (label, value) in enumerate(
        (
            ("Subtotal", "17.000.000"),
            ("DPP Nilai Lain (11/12)", "15.583.333,33"),
            ("PPN 12%", "1.870.000"),
            ("Total", "18.870.000"),
        )
    ):
        sheet.text(340, 360 + 17 * at, label)
        sheet.text(535, 360 + 17 * at, value, right=True)
    sheet.line(434, 1.2)
    sheet.text(LEFT, 470, "Pembayaran: Bank Contoh, rekening 123-456-7890", size=9)
    sheet.text(LEFT, 800, "This is a sample that comes with docmill. Nobody in it exists.", size=8)
    return pdf_of([sheet.content], info={"Title": "Sample invoice"})


def draw_note() -> bytes:
    sheet = Sheet()
    sheet.text(LEFT, 74, "Nordlicht Securities", size=15)
    sheet.text(LEFT, 92, "Harbour Street 4, 20457 Hamburg", size=9)
    sheet.line(106, 1.2)
    sheet.text(LEFT, 134, "Trade confirmation", size=14)
    rows = (
        ("Order number", "NS-2025-004417"),
        ("Transaction", "Buy"),
        ("Security", "Nordwind Energie AG"),
        ("ISIN", "DE000NWE4203"),
        ("Quantity", "150"),
        ("Price", "212.40 EUR"),
        ("Notional amount", "31,860.00 EUR"),
        ("Commission", "25.00 EUR"),
        ("Trade date", "14 March 2025"),
        ("Settlement date", "18 March 2025"),
        ("Exchange", "XETRA"),
        ("Amount to be paid", "31,885.00 EUR"),
    )
    for at, (label, value) in enumerate(rows):
        sheet.text(LEFT, 168 + 20 * at, f"{label}:")
        sheet.text(230, 168 + 20 * at, value)
    sheet.line(424)
    sheet.text(LEFT, 800, "This is a sample that comes with docmill. It was never traded.", size=8)
    return pdf_of([sheet.content], info={"Title": "Sample trade note"})


SAMPLES: dict[str, Callable[[], bytes]] = {
    "sample-invoice.pdf": draw_invoice,
    "sample-trade-note.pdf": draw_note,
}


def main() -> None:
    for name, draw in SAMPLES.items():
        (FOLDER / name).write_bytes(draw())


if __name__ == "__main__":
    main()
