"""Readings of whole folders, kept on disk: fitting looks at them again and again.

A reading is kept under the digest of the reader's code, so that a changed reader reads anew. What
takes longest, looking at scans, is kept by the bytes of the file under the digest of `reading/`.
"""

import hashlib
import importlib
import io
import json
import multiprocessing
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.reading.documents import open_document
from docmill.reading.pages import PagedDocument
from eval import (
    billers,
    broker_papers,
    broker_statements,
    indonesian,
    letters,
    multilingual,
    score_trades,
    structures,
    suppliers,
)
from eval.scans import scanned

ROOT: Final = Path(__file__).parents[1]
CORPUS: Final = ROOT.parent / "shared" / "corpus"
KEPT: Final = Path(tempfile.gettempdir()) / "docmill-readings"
READERS: Final = {  # what changes a reading
    "invoice": ("reading", "invoices/reader", "invoices/checks.py", "invoices/fields.py"),
    "trades": ("reading", "trades/reader"),
}
MODULES: Final = {
    "invoice": "docmill.invoices.pipeline",
    "trades": "docmill.trades.reader.pipeline",
}
GENERATORS: Final[dict[str, Callable[[Path], None]]] = {
    "structures": lambda folder: structures.make(folder, 306, 5),
    "multilingual": lambda folder: multilingual.make(folder, 80, 11),
    "indonesian": lambda folder: indonesian.make(folder, 60, 12),
    "letters": letters.make,
    "brokers": lambda folder: broker_statements.make(folder, 340, 7),
    "papers": lambda folder: broker_papers.make(folder, 236, 7),
    "sheets": lambda folder: broker_papers.make(folder, 204, 7, file=broker_papers.SHEETS),
    "slips": lambda folder: broker_papers.make(folder, 260, 7, file=broker_papers.SLIPS),
    "tickets": lambda folder: broker_papers.make(folder, 118, 7, file=broker_papers.TICKETS),
    "suppliers": lambda folder: suppliers.make(folder, 210, 3),
    "billers": lambda folder: billers.make(folder, 3, 1),
}
HOLDERS: Final = {
    "structures": structures.is_held,
    "suppliers": suppliers.is_held,
    "billers": billers.is_held,
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One document with its truth, what was read of it, and the text of its pages."""

    set: str
    record: dict[str, Any]
    data: dict[str, Any]
    texts: list[tuple[int, list[float], str]]
    scanned: bool

    @property
    def label(self) -> str:
        return f"{self.set} scans" if self.scanned else self.set

    @property
    def group(self) -> str:
        return str(self.record.get("vendor") or self.record["group"])

    @property
    def held(self) -> bool:
        """Whether its layout was kept from those who made the reader."""
        if self.set == "invoices":
            return False
        if self.set == "invoices_id":
            return self.group[-1] in "bd"
        if self.set in HOLDERS:
            return HOLDERS[self.set](self.group)
        if self.set in {"trades", "trades_more"}:
            return score_trades.is_held(self.record["file"])
        if self.set == "brokers":
            return self.group in broker_statements.HELD
        if self.set in {"papers", "sheets", "slips", "tickets"}:
            return broker_papers.is_held(self.group)
        return self.set == "letters" or bool(hashlib.sha1(self.group.encode()).digest()[0] % 2)


def read_set(
    name: str, pipeline: str, *, scans: bool = False, most: int = 0, kept_in: Path = KEPT
) -> list[Reading]:
    """A folder of the corpus or what a generator makes, read as text or as scans of it."""
    folder = make_set(name, kept_in) if name in GENERATORS else CORPUS / name
    records = json.loads((folder / "truth.json").read_text())
    records = records[:: -(-len(records) // most)] if most else records
    digest = digest_code(READERS[pipeline])
    kept = kept_in / pipeline / digest / f"{name}{'-scans' if scans else ''}.json"
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.is_file() else {}
    if missing := [each["file"] for each in records if each["file"] not in found]:
        pages = kept_in / "pages" / digest_code(["reading"])
        work = [(pipeline, folder / file, pages if scans else None) for file in missing]
        with multiprocessing.Pool(2) as pool:
            found |= dict(pool.imap_unordered(_read_file, work, chunksize=1 if scans else 8))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    return list(_pair(name, records, found, scans=scans))


def make_set(name: str, kept_in: Path = KEPT) -> Path:
    """The folder of what a generator makes; made where it is not there yet."""
    folder = kept_in / "made" / name
    if not (folder / "truth.json").is_file():
        GENERATORS[name](folder)
    return folder


def _pair(
    name: str, records: list[dict[str, Any]], found: dict[str, Any], *, scans: bool
) -> Iterator[Reading]:
    for record in records:
        data = found[record["file"]]
        if "error" not in data:
            yield Reading(name, record, data, data.get("cells", []), scans)


def digest_code(places: Iterable[str]) -> str:
    """Of the files and folders of the package that a reading depends on."""
    digest = hashlib.sha256()
    for place in places:
        path = ROOT / "src/docmill" / place
        for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if each.suffix in {".py", ".tsv", ".json"} and each.name != "confidence.json":
                digest.update(each.read_bytes())
    return digest.hexdigest()[:16]


def _read_file(work: tuple[str, Path, Path | None]) -> tuple[str, dict[str, Any]]:
    """A file as it is, or as a scan of it where it is told in which folder pages are kept."""
    pipeline, path, pages_in = work
    content = path.read_bytes()
    read = importlib.import_module(MODULES[pipeline]).read_unfitted
    tools = Tools(progress=lambda _percent, _stage: None)
    try:
        tools = replace(tools, document=open_scan(content, pages_in)) if pages_in else tools
        data, pages = read(Source(io.BytesIO(content), path.name, PDF), tools)
    except DocmillError as exc:
        return path.name, {"error": {"code": exc.fault.code}}
    cells = [
        (page.number, cell.box.to_list(), cell.text)
        for page in pages
        for line in page.lines
        for cell in line.cells
    ]
    return path.name, {**data, "cells": cells}


def open_scan(content: bytes, kept_in: Path) -> PagedDocument:
    """The pages of a PDF as they are read from a scan of it."""
    kept = kept_in / f"{hashlib.sha256(content).hexdigest()}.pickle"
    if not kept.is_file():
        with open_document(io.BytesIO(scanned(content)), PDF, drawn=False) as document:
            pages = list(document.pages)
            told = document.page_count, pages, document.warnings, document.embeds
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(told))
    count, pages, warnings, embeds = pickle.loads(kept.read_bytes())
    return PagedDocument(count, {}, iter(pages), warnings, embeds=embeds)
