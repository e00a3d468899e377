"""Invoices read whole, beside what others take for their text alone or for a template's fields.

`python -m bench.readers [FOLDER]`: docmill, pdfplumber's text, invoice2data; same files, same run.
"""

import json
import logging
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pdfplumber
from invoice2data import extract_data
from invoice2data.extract.loader import read_templates

from bench import indonesian, wild
from bench.ground import Ground
from bench.invoices import CORPUS, judged, macro, read, steps_of
from bench.rows import Row
from bench.scans import scanned
from docmill.reading import ocr

SLOW: Final = 5  # files that are enough for whoever takes a second for each


def measure(ground: Ground) -> Iterator[Row]:
    """Speed on the shared invoices where they are at hand, else on made ones; then how well."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = {"indonesian": indonesian.make, "wild": wild.make}
        for kind, make in made.items():
            make(folder / kind, ground.count(60, 15), 7)
        real = CORPUS / "invoices"
        known = real if real.is_dir() else folder / "wild"
        yield from _speed(sorted(known.glob("*.pdf"))[: ground.count(40, 8)])
        yield from _pictures(sorted((folder / "indonesian").glob("*.pdf"))[: ground.count(6, 2)])
        for each in (real, folder / "indonesian", folder / "wild"):
            if each.is_dir():
                yield from _accuracy(each)


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
    if not ocr.installed():
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


def _accuracy(folder: Path) -> Iterator[Row]:
    records = json.loads((folder / "truth.json").read_text())
    with multiprocessing.Pool(2) as pool:
        results = pool.map(read, [folder / record["file"] for record in records])
    found = {digest: data for digest, data, _ in results}
    score, steps = macro(records, found), steps_of(judged(records, found))
    sure = [right for step, rights in steps.items() if step >= 0.9 for right in rights]
    share = sum(sure) / max(len(sure), 1)
    told = ", ".join(f"{step:.2f}: {sum(r)}/{len(r)}" for step, r in sorted(steps.items()))
    yield Row(
        f"{folder.name}, {len(records)} files: macro score", f"{score:.4f}",
        f"right by confidence {told}; {100 * share:.1f} % from 0.9 on",
        floor="98 % from 0.9 on", kept=share >= 0.98,
        figures={"macro": score, "sure_right": share, "right_by_confidence": told},
    )  # fmt: skip
