"""How well `extract` sees what is on a page: tables, reading order, headings, lists.

`python -m eval.score_layout [--half tuned|held|all] [--each] [--only NAME] [--show]`, or
`python -m eval.table --only layout`. Pages of known
truth in many styles are printed by Chromium; PDFs are kept in eval/out/layout. Half of the styles
are held out: nothing in the reader was tuned on them.
"""

import argparse
import hashlib
import io
import multiprocessing
import shutil
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pdfplumber
from playwright.sync_api import sync_playwright

from docmill.core.plugins import PDF, Source, Tools
from docmill.extract.pipeline import pipeline
from eval import html_tables, html_texts, html_texts_held, html_texts_more
from eval.html_page import HtmlPage, Part, Put
from eval.layout_metrics import Score, score_tables, scored
from eval.rows import Row

OUT: Final = Path(__file__).parent / "out" / "layout"
SEEDS: Final = 4
HALVES: Final = ("tuned", "held")
FLOORS: Final = {"ruled tables": 0.95, "tables without a grid": 0.9}
ORDER: Final = 0.97
RULED: Final = frozenset({"grid", "outer", "steep", "double"})
SHOWN: Final = ("tables", "relations", "cells", "pairs", "order", "kinds", "whole")


@dataclass(frozen=True, slots=True)
class Case:
    """A page of one style and what is true of it."""

    group: str
    name: str
    path: Path
    parts: tuple[Part, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=("tuned", "held", "all"), default="tuned")
    parser.add_argument("--each", action="store_true", help="a line for every style")
    parser.add_argument("--only", default="", help="styles with this in their name")
    parser.add_argument("--show", action="store_true", help="what was read, beside the truth")
    given = parser.parse_args()
    halves = HALVES if given.half == "all" else (given.half,)
    for half in halves:
        cases = [case for case in made(half, SEEDS) if given.only in case.name]
        results = read_all(cases)
        print(f"{half:38}" + "".join(f"{name:>10}" for name in SHOWN))
        for line in _lines(cases, results, each=given.each):
            print(line)
        if given.show:
            _show(cases, results)


def measure(quick: bool) -> Iterator[Row]:
    """Both halves together; pdfplumber's tables on a part of the same pages."""
    if shutil.which("chromium") is None:
        yield Row("tables and order of made-up pages", "not measured: no chromium")
        return
    cases = [case for half in HALVES for case in made(half, (1 if quick else SEEDS))]
    scores = [score for score, *_ in read_all(cases)]
    for group, floor in FLOORS.items():
        chosen = [score for case, score in zip(cases, scores, strict=True) if case.group == group]
        peers = [plumbed(case) for case in cases[:: (1 if quick else SEEDS)] if case.group == group]
        ours, theirs = total(chosen).relations.f1, total(peers).relations.f1
        yield Row(
            f"cells beside each other, {len(chosen)} pages: {group}", f"F1 {ours:.3f}",
            f"pdfplumber: {theirs:.3f}", floor=f">= {floor}", kept=ours >= floor,
            figures={"f1": ours, "pdfplumber": theirs},
        )  # fmt: skip
    whole = total(scores)
    false = sum(score.tables.found - score.tables.right for score in scores)
    yield Row(
        f"order of {len(cases)} made-up pages", f"{whole.order.f1:.3f}",
        f"right kinds {whole.kinds.f1:.3f}, false tables {false:.0f}",
        floor=f">= {ORDER}", kept=whole.order.f1 >= ORDER,
        figures={"order": whole.order.f1, "kinds": whole.kinds.f1, "false_tables": false},
    )  # fmt: skip


def total(scores: Iterable[Score]) -> Score:
    found = Score()
    for score in scores:
        found.add(score)
    return found


def plumbed(case: Case) -> Score:
    """What pdfplumber's table finder makes of the same page."""
    with pdfplumber.open(case.path) as pdf:
        grids = [grid for page in pdf.pages for grid in page.extract_tables()]
        count = len(pdf.pages)
    tables = [
        [
            Put(row, column, text)
            for row, texts in enumerate(grid)
            for column, text in enumerate(texts)
            if text
        ]
        for grid in grids
    ]
    score = Score()
    score_tables(score, case.parts, tables, count)
    return score


def made(half: str, seeds: int) -> list[Case]:
    """The pages of one half, printed unless they are there already."""
    tuned = half == "tuned"
    sheets: list[tuple[str, str, HtmlPage]] = []
    for style in html_tables.TUNED if tuned else html_tables.HELD:
        group = "ruled tables" if style.rules in RULED else "tables without a grid"
        sheets += [(group, style.name, html_tables.page(style, seed)) for seed in range(seeds)]
    plain = (*html_texts.TUNED, *html_texts_more.MORE)
    for make in plain if tuned else html_texts_held.HELD:
        name = make.__name__
        sheets += [("pages of text", name, html_texts.page(make, seed)) for seed in range(seeds)]
    _print([page.page for *_, page in sheets])
    return [Case(group, name, _path(page.page), tuple(page.parts)) for group, name, page in sheets]


def _path(page: str) -> Path:
    return OUT / f"{hashlib.sha256(page.encode()).hexdigest()[:16]}.pdf"


def _print(pages: Iterable[str]) -> None:
    missing = [page for page in pages if not _path(page).exists()]
    if not missing:
        return
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page()
        for page in missing:
            tab.set_content(page)
            tab.pdf(path=_path(page), prefer_css_page_size=True, print_background=True)
        browser.close()


def read(case: Case) -> tuple[Score, dict[str, Any], float]:
    """What `extract` makes of it, how good that is, and the seconds of a processor it took."""
    source = Source(io.BytesIO(case.path.read_bytes()), case.path.name, PDF)
    began = time.process_time()
    data = dict(pipeline.run(source, Tools(progress=lambda _percent, _stage: None)).data)
    took = time.process_time() - began
    return scored(case.parts, data), data, took


def read_all(cases: Sequence[Case]) -> list[tuple[Score, dict[str, Any], float]]:
    with multiprocessing.Pool(2) as pool:
        return pool.map(read, cases, chunksize=4)


def _lines(cases: Sequence[Case], results: Sequence[Any], *, each: bool) -> Iterator[str]:
    sums: dict[str, Score] = defaultdict(Score)
    seconds = pages = 0
    for case, (score, data, took) in zip(cases, results, strict=True):
        names = {case.group, "all", *([f"  {case.group[:5]} {case.name}"] if each else [])}
        for name in names:
            sums[name].add(score)
        seconds, pages = seconds + took, pages + len(data["pages"])
    for name, score in sorted(sums.items(), key=lambda item: item[0].strip()):
        yield f"{name:38}" + "".join(f"{getattr(score, each).f1:10.3f}" for each in SHOWN)
    false = sum(score.tables.found - score.tables.right for score, *_ in results)
    yield f"{false:.0f} false tables; {1000 * seconds / max(pages, 1):.1f} ms a page"


def _show(cases: Sequence[Case], results: Sequence[Any]) -> None:
    for case, (score, data, _) in zip(cases, results, strict=True):
        print(f"\n=== {case.name} {case.path} {score.relations.f1:.3f} {score.pairs.f1:.3f}")
        for page in data["pages"]:
            for block in page["blocks"]:
                print(f"[{block['kind']}] {block['text']}")
        for part in case.parts:
            for row in sorted({put.row for put in part.cells}):
                print("TRUE", [(put.text, put.column, put.row_span, put.column_span)
                               for put in part.cells if put.row == row])  # fmt: skip


if __name__ == "__main__":
    main()
