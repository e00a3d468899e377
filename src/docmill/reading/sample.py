"""A small PDF to read before anything else: a first reading builds what all later ones use."""

from collections.abc import Sequence
from typing import Final

TOP: Final = 780
PITCH: Final = 16
COLUMN: Final = 120

_HEAD: Final = """%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 5 0 R
/Resources<</Font<</F 4 0 R>>>>>> endobj
4 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>> endobj
6 0 obj <</Title(Sample)>> endobj
"""


def make_sample(rows: Sequence[str]) -> bytes:
    """One page with these rows; a bar in a row begins its next column. Without brackets."""
    shown = " ".join(
        f"1 0 0 1 {40 + COLUMN * column} {TOP - PITCH * at} Tm ({cell.strip()}) Tj"
        for at, row in enumerate(rows)
        for column, cell in enumerate(row.split("|"))
    )
    content = f"BT /F 10 Tf {shown} ET"
    body = f"5 0 obj <</Length {len(content)}>> stream\n{content}\nendstream endobj\n"
    return f"{_HEAD}{body}trailer <</Root 1 0 R/Info 6 0 R/Size 7>>\n%%EOF\n".encode("cp1252")
