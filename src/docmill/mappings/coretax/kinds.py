"""Goods (A) or services (B): what a line's unit and words say."""

import re
from typing import Final

from docmill.mappings import units
from docmill.mappings.scope import Scope
from docmill.mappings.texts import at, clean

GOODS: Final = "A"
SERVICES: Final = "B"
_OF_SERVICES: Final = (
    "Tahun", "Bulan", "Minggu", "Hari", "Jam", "Menit", "Persen", "Kegiatan", "Laporan", "Lumpsum",
    "Orang",
)  # fmt: skip
_WORDS: Final = re.compile(
    r"\b(?:jasa|layanan|sewa|biaya|ongkos|ongkir|konsultasi|konsultan|pelatihan|perawatan|perbaikan"
    r"|pemasangan|instalasi|pengiriman|langganan|komisi|pekerjaan|servis|services?|consult\w*"
    r"|training|maintenance|repair|installation|rental|rent|lease|subscription|fees?|freight"
    r"|shipping|hosting|support|commission|labou?r|handling)\b",
    re.IGNORECASE,
)


def kind(scope: Scope, line: object) -> str:
    """What the line says itself, else what it looks like, else what the owner mostly sells."""
    if (said := clean(at(line, "opt"))) in (GOODS, SERVICES):
        return said
    found, description = units.unit(at(line, "unit")), clean(at(line, "description"))
    if (found is not None and found.name in _OF_SERVICES) or _WORDS.search(description):
        return SERVICES
    own = scope.profile.opt.upper()
    return own if own in (GOODS, SERVICES) else GOODS
