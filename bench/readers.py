"""Invoices read whole, beside what others take for their text alone or for a template's fields.

`python -m bench.table --only readers`: docmill, pdfplumber, invoice2data; same files, same run.
"""

import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pdfplumber
from invoice2data import extract_data
from invoice2data.extract.loader import read_templates

from bench.ground import Ground
from docmill.reading import ocr
from eval import indonesian
from eval.rows import Row
from eval.scans import scanned
from eval.score_invoices import CORPUS, read

SLOW: Final = 5  # files that are enough for whoever takes a second for each


def measure(ground: Ground) -> Iterator[Row]:
    """On the shared invoices where they are at hand, else on made ones."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        indonesian.make(made, ground.count(60, 15), 7)
        real = CORPUS / "invoices"
        known = real if real.is_dir() else made
        yield from _speed(sorted(known.glob("*.pdf"))[: ground.count(40, 8)])
        yield from _pictures(sorted(made.glob("*.pdf"))[: ground.count(6, 2)])


def _speed(files: list[Path]) -> Iterator[Row]:
    """One after the other in one process, by the process's own clock: others may be busy."""
    read(files[0])
    pages = _page_count(files)
    own = _milliseconds(read, files) / pages
    text = _milliseconds(_plumbed, files) / pages
    logging.disable(logging.CRITICAL)
    templates = read_templates()
    kept = _milliseconds(lambda path: _templated(path, templates), files) / pages
    matched = _milliseconds(_templated, files[:SLOW]) / _page_count(files[:SLOW])
    logging.disable(logging.NOTSET)
    what = f"invoices read whole, {len(files)} files, {pages} pages"
    yield Row(
        what, f"{own:.1f} ms/page", f"pdfplumber, text alone: {text:.1f} ms/page", text / own,
        floor="> 1x", kept=text > own, figures={"ms": own, "pdfplumber_ms": text},
    )  # fmt: skip
    yield Row(
        what, f"{own:.1f} ms/page",
        f"invoice2data, end to end: {matched:.1f} ms/page ({kept:.1f} with templates at hand)",
        matched / own, floor="> 10x", kept=matched > 10 * own,
        figures={"ms": own, "invoice2data_ms": matched, "at_hand_ms": kept},
    )  # fmt: skip


def _milliseconds(reader: Callable[[Path], Any], files: list[Path]) -> float:
    began = _busy()
    for path in files:
        reader(path)
    return 1000 * (_busy() - began)


def _busy() -> float:
    """Seconds of computing, those of programs it calls too."""
    return sum(os.times()[:4])


def _plumbed(path: Path) -> None:
    with pdfplumber.open(path) as pdf:
        for page in pdf.pages:
            page.extract_text()


def _templated(path: Path, templates: Any = None) -> None:
    """As its API is called: without templates it loads its own, as it does on the command line."""
    extract_data(str(path), templates=templates)


def _page_count(files: list[Path]) -> int:
    return sum(read(path)[1].get("page_count", 1) for path in files)


def _pictures(files: list[Path]) -> Iterator[Row]:
    if not ocr.is_installed():
        return
    with tempfile.TemporaryDirectory() as name:
        scans = [_scanned(path, Path(name)) for path in files]
        read(scans[0])
        began = _busy()
        pages = _page_count(scans)
        rate = pages / (_busy() - began)
    yield Row(
        f"scanned invoices, {pages} pages: pages/s/core", f"{rate:.2f}", floor="> 0.5",
        kept=rate > 0.5, figures={"pages_per_second": rate},
    )  # fmt: skip


def _scanned(path: Path, folder: Path) -> Path:
    made = folder / path.name
    made.write_bytes(scanned(path.read_bytes()))
    return made
