"""Fits the confidence of invoices: how often values with a given score are right, by field.

python -m eval.fit_confidence [--write] [--generated 60]

It reads the shared corpora and generated invoices with the reader's bare scores. Without `--write`
the curves are fitted on one half of the layouts and shown on the other; with it they are fitted on
all and replace the reader's.
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices.pipeline import InvoicePipeline
from docmill.invoices.reader.confidence import FILE, SCAN, TEXT, Curve, Curves, read_curve
from eval import indonesian, multilingual
from eval.score_invoices import CORPUS, judged

SETS: Final = ("invoices", "invoices_more", "invoices_id")
MAKERS: Final[dict[str, Callable[[Path, int, int], object]]] = {
    "indonesian": indonesian.make,
    "multilingual": multilingual.make,
}
SEED: Final = 4711
# A curve of fewer values says little; the field then keeps its score.
FEWEST: Final = 30
# As if so many values had been seen besides in each step, half of them right.
PRIOR: Final = 1.0
HEAD: Final = """\
# How sure the reader of invoices is, fitted by `python -m eval.fit_confidence --write`.
# From {values} values of {documents} documents in {layouts} layouts ({sets}).
# field\tkind of page\tfrom this score on\tso often right
"""


@dataclass(frozen=True, slots=True)
class ScoredValue:
    """A value that was read: its layout and field, its score, and whether it is right."""

    layout: str
    path: str
    kind: str
    score: float
    right: bool


def read_bare(path: Path) -> tuple[str, dict[str, Any]]:
    """What the reader finds, with its own scores."""
    content = path.read_bytes()
    source = Source(io.BytesIO(content), path.name, PDF)
    tools = Tools(progress=lambda _percent, _stage: None)
    try:
        found = dict(InvoicePipeline(curves={}).run(source, tools).data)
    except DocmillError as exc:
        found = {"error": {"code": exc.fault.code}}
    return hashlib.sha256(content).hexdigest(), found


def collect(folder: Path) -> Iterator[ScoredValue]:
    """Every value of a folder with truth, held against it."""
    records = json.loads((folder / "truth.json").read_text())
    with multiprocessing.Pool(2) as pool:
        found = dict(pool.map(read_bare, [folder / record["file"] for record in records]))
    layouts = {
        record["file"]: f"{folder.name}/{record.get('vendor') or record['group']}"
        for record in records
    }
    scanned = {
        record["file"]: bool(found[record["sha256"]].get("scanned_pages")) for record in records
    }
    for one in judged(records, found):
        if one.value is not None and one.value != "missing":
            kind = SCAN if scanned[one.file] else TEXT
            yield ScoredValue(layouts[one.file], one.path, kind, one.confidence, one.right)


def fit_curve(values: Sequence[ScoredValue]) -> Curve:
    """Steps that rise with the score: neighbours that would fall are one step."""
    steps: list[list[float]] = []  # first score, right, all
    for score in sorted({one.score for one in values}):
        rights = [one.right for one in values if one.score == score]
        steps.append([score, sum(rights), len(rights)])
        while len(steps) > 1 and _share(steps[-1]) <= _share(steps[-2]):
            _, right, count = steps.pop()
            steps[-1][1] += right
            steps[-1][2] += count
    return tuple((score, round(_share([score, right, count]), 3)) for score, right, count in steps)


def _share(step: Sequence[float]) -> float:
    _, right, count = step
    return (right + PRIOR / 2) / (count + PRIOR)


def fit_all(values: Iterable[ScoredValue]) -> Curves:
    """By field and kind of page; scans of which there are few take the curve of all pages."""
    grouped: dict[tuple[str, str], list[ScoredValue]] = defaultdict(list)
    for one in values:
        grouped[one.path, one.kind].append(one)
    curves: dict[tuple[str, str], Curve] = {}
    for path in sorted({path for path, _ in grouped}):
        text, scan = grouped[path, TEXT], grouped[path, SCAN]
        for kind, own in ((TEXT, text), (SCAN, scan)):
            enough = own if len(own) >= FEWEST else [*text, *scan]
            if len(enough) >= FEWEST:
                curves[path, kind] = fit_curve(enough)
    return curves


def _is_first_half(layout: str) -> bool:
    return hashlib.sha256(layout.encode()).digest()[0] % 2 == 0


def show(values: Sequence[ScoredValue], curves: Curves) -> None:
    """By field: how many are sure, and how many of those are right, before and after."""
    print(f"{'field':22} {'values':>6} {'right':>6}   score >= 0.9    fitted >= 0.9")
    for path in [*sorted({one.path for one in values}), "all"]:
        own = [one for one in values if path in {one.path, "all"}]
        bare = [one.right for one in own if one.score >= 0.9]
        fitted = [one.right for one in own if _fit(one, curves) >= 0.9]
        right = sum(one.right for one in own) / len(own)
        print(f"{path:22} {len(own):6} {right:6.1%}   {_describe(bare)}   {_describe(fitted)}")


def _fit(one: ScoredValue, curves: Curves) -> float:
    curve = curves.get((one.path, one.kind))
    return read_curve(curve, one.score) if curve else one.score


def _describe(rights: Sequence[bool]) -> str:
    return f"{sum(rights) / len(rights):6.1%} of {len(rights):4}" if rights else " " * 14


def write(values: Sequence[ScoredValue], curves: Curves, documents: int) -> None:
    layouts = {one.layout for one in values}
    sets = ", ".join(sorted({layout.partition("/")[0] for layout in layouts}))
    head = HEAD.format(values=len(values), documents=documents, layouts=len(layouts), sets=sets)
    rows = [
        f"{path}\t{kind}\t{score:.2f}\t{right:.3f}\n"
        for (path, kind), curve in sorted(curves.items())
        for score, right in curve
    ]
    target = Path(str(files("docmill.invoices.reader") / FILE))
    target.write_text(head + "".join(rows), "utf-8")
    print(f"wrote {len(rows)} steps to {target.name}")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the reader's curves")
    parser.add_argument("--generated", type=int, default=60, help="documents of each generator")
    given = parser.parse_args(arguments)
    values: list[ScoredValue] = []
    documents = 0
    with tempfile.TemporaryDirectory() as name:
        folders = [CORPUS / one for one in SETS if (CORPUS / one).is_dir()]
        for kind, make in MAKERS.items():
            make(Path(name) / kind, given.generated, SEED)
            folders.append(Path(name) / kind)
        for folder in folders:
            values += collect(folder)
            documents += len(json.loads((folder / "truth.json").read_text()))
    if given.write:
        write(values, fit_all(values), documents)
        return
    first = [one for one in values if _is_first_half(one.layout)]
    show([one for one in values if not _is_first_half(one.layout)], fit_all(first))


if __name__ == "__main__":
    main(sys.argv[1:])
