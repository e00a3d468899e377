"""Scans of the shared invoices held against the text of the same papers.

python -m eval.score_scans [--half dev|held] [--most 40] [--kinds clean,skewed] [--errors]
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices.pipeline import pipeline
from eval.scans import Gray, as_is, scanned
from eval.score_invoices import CORPUS, Judged, judged

SETS: Final = ("invoices", "invoices_id", "invoices_more")
TEXT: Final = "text"
DEGREES: Final = 0.6
QUALITY: Final = 60  # of JPEG, as scanners set it
NEAR: Final = 0.05  # so near to its text a clean scan should score

Record = dict[str, Any]
Found = tuple[str, dict[str, Any], float]


def skewed(pixels: Gray) -> Gray:
    """Laid a little askew on the glass, gray instead of white, and kept as a JPEG."""
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    turned = picture.rotate(DEGREES, Image.Resampling.BICUBIC, fillcolor=255)
    dimmed = (np.asarray(turned).astype(np.float32) * 0.85 + 20).astype(np.uint8)
    kept = io.BytesIO()
    Image.fromarray(dimmed).save(kept, "JPEG", quality=QUALITY)
    return np.asarray(Image.open(kept)).astype(np.uint8)


KINDS: Final[dict[str, Callable[[Gray], Gray]]] = {"clean": as_is, "skewed": skewed}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("dev", "held"), default="held")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--kinds", default="clean,skewed")
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    papers = choose_papers(asked.half, asked.most)
    texts = _score(papers, TEXT)
    for kind in asked.kinds.split(","):
        seen = _score(papers, kind)
        print(f"{kind:8} lacks {_mean(texts) - _mean(seen):+.3f} (at most {NEAR} is asked)")
        _print_fields(texts, seen)
        if asked.errors:
            _print_lost(texts, seen)
    return 0


def choose_papers(half: str, most: int) -> list[tuple[Path, Record]]:
    """Invoices that are text, one of each layout and then the next, half of the layouts."""
    layouts: dict[str, list[tuple[Path, Record]]] = {}
    for name in SETS:
        for record in json.loads((CORPUS / name / "truth.json").read_text()):
            group = f"{name} {record.get('vendor') or record['group']}"
            held = bool(hashlib.sha256(group.encode()).digest()[0] % 2)
            if held == (half == "held") and record.get("kind") != "scan":
                layouts.setdefault(group, []).append((CORPUS / name / record["file"], record))
    order = sorted(layouts.values(), key=lambda each: each[0][1]["sha256"])
    depth = max(map(len, order))
    turns = (papers[at] for at in range(depth) for papers in order if at < len(papers))
    return [paper for paper in turns if _is_text(paper[0])][:most]


def _is_text(path: Path) -> bool:
    return not read_paper((path, TEXT))[1].get("scanned_pages")


def read_paper(work: tuple[Path, str]) -> Found:
    """A file as it is or as a scan of it: its name, what came out, and seconds of computing."""
    path, kind = work
    data = path.read_bytes()
    data = data if kind == TEXT else scanned(data, KINDS[kind])
    began = time.process_time()
    source = Source(io.BytesIO(data), path.name, PDF)
    try:
        found = dict(pipeline.run(source, Tools(progress=lambda _percent, _stage: None)).data)
    except DocmillError as exc:
        found = {"error": {"code": exc.fault.code}}
    return path.name, found, time.process_time() - began


def _score(papers: Sequence[tuple[Path, Record]], kind: str) -> list[Judged]:
    with multiprocessing.Pool(2) as pool:
        results = pool.map(read_paper, [(path, kind) for path, _ in papers], chunksize=1)
    found = {
        record["sha256"]: data for (_, record), (_, data, _) in zip(papers, results, strict=True)
    }
    values = list(judged([record for _, record in papers], found))
    pages = sum(data.get("page_count", 1) for _, data, _ in results)
    cost = sum(took for *_, took in results) / pages
    print(f"{kind:8} {len(papers)} papers, {pages} pages: {_mean(values):.3f}, {cost:.3f} s a page")
    return values


def _mean(values: Sequence[Judged]) -> float:
    """The share of right values, as a mean over papers."""
    papers: dict[str, list[bool]] = {}
    for item in values:
        papers.setdefault(item.file, []).append(item.right)
    return sum(sum(rights) / len(rights) for rights in papers.values()) / len(papers)


def _field(path: str) -> str:
    return path.partition("[")[0] + path.partition("]")[2]


def _print_fields(texts: Sequence[Judged], seen: Sequence[Judged]) -> None:
    for name in sorted({_field(item.path) for item in texts}):
        shares = [
            (sum(rights), len(rights))
            for values in (texts, seen)
            if (rights := [item.right for item in values if _field(item.path) == name])
        ]
        print(f"    {name:24}", *(f"{right:4} of {count:4}" for right, count in shares))


def _find_lost(texts: Sequence[Judged], seen: Sequence[Judged]) -> Iterator[Judged]:
    known = {(item.file, item.path) for item in texts if item.right}
    return (item for item in seen if not item.right and (item.file, item.path) in known)


def _print_lost(texts: Sequence[Judged], seen: Sequence[Judged]) -> None:
    for item in _find_lost(texts, seen):
        print(f"{item.file:20} {item.path:18} wanted {item.wanted!r}  got {item.value!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
