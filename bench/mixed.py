"""A mixed stream of documents: as they came, long ones, and scans, each with its pipeline."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pypdfium2

from eval.scans import scanned

SEED: Final = 14
HARMFUL: Final = "hostile"  # files made to do harm: each is a kind of its own
LONGEST: Final = 60  # pages of a text
LONGEST_SCAN: Final = 6


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    content: bytes
    pipeline: str


def choose_samples(corpus: Path, count: int, seed: int = SEED) -> Iterator[Sample]:
    """The same each time: of four documents two as they came, a long one and a scan.

    Half are left to docmill; the others are asked for as what they are, or as plain documents.
    """
    dice = random.Random(seed)
    folders = [one for one in sorted(corpus.iterdir()) if one.is_dir() and one.name != HARMFUL]
    files = {one.name: sorted(one.rglob("*.pdf")) for one in folders}
    for number in range(count):
        folder = dice.choice(sorted(files))
        own = "trades" if "trades" in folder else "invoice"
        content, kind = _make_content(dice, files[folder])
        pipeline = dice.choice(["auto", "auto", own, "extract"])
        yield Sample(f"{number:04}-{kind}-{folder}.pdf", content, pipeline)


def _make_content(dice: random.Random, files: Sequence[Path]) -> tuple[bytes, str]:
    kind = dice.choice(["plain", "plain", "long", "scan"])
    if kind == "plain":
        # Two of the same content would be one job.
        return dice.choice(files).read_bytes() + b"\n%%%d" % dice.getrandbits(64), kind
    most = LONGEST_SCAN if kind == "scan" else LONGEST
    joined = _join(dice, files, pages=max(1, int(most ** dice.random())))
    return (scanned(joined) if kind == "scan" else joined), kind


def _join(dice: random.Random, files: Sequence[Path], *, pages: int) -> bytes:
    """Pages of documents of one folder, one after the other."""
    library: Any = pypdfium2
    whole = library.PdfDocument.new()
    while len(whole) < pages:
        try:
            with library.PdfDocument(dice.choice(files)) as part:
                whole.import_pages(part, list(range(min(len(part), pages - len(whole)))))
        except library.PdfiumError:  # one that only its password opens
            continue
    return _write(whole)


def _write(pdf: Any) -> bytes:
    out = BytesIO()
    pdf.save(out)
    pdf.close()
    return out.getvalue()
