"""Reads the shared invoices, scores them, and says how far confidence can be believed.

python -m eval.score_invoices [FOLDER] [--out DIR] [--half dev|held] [--errors]
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices.pipeline import pipeline
from docmill.invoices.scoring import judge_invoice

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
STEPS: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)


def read(path: Path) -> tuple[str, dict[str, Any], float]:
    """One file through the pipeline: its digest, what came out, and the seconds it took."""
    data = path.read_bytes()
    began = time.process_time()
    source = Source(io.BytesIO(data), path.name, PDF)
    try:
        found = dict(pipeline.run(source, Tools(progress=lambda _percent, _stage: None)).data)
    except DocmillError as exc:
        found = {"error": {"code": exc.fault.code}}
    return hashlib.sha256(data).hexdigest(), found, time.process_time() - began


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=CORPUS / "invoices")
    parser.add_argument(
        "--out", type=Path, default=Path(tempfile.gettempdir()) / "docmill-invoices"
    )
    parser.add_argument("--half", choices=("all", "dev", "held"), default="all")
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    records = half_of(json.loads((asked.folder / "truth.json").read_text()), asked.half)
    asked.out.mkdir(parents=True, exist_ok=True)
    pipeline.warm()  # as a worker does before it forks
    with multiprocessing.Pool(2) as pool:
        results = pool.map(read, [asked.folder / record["file"] for record in records])
    for digest, found, _ in results:
        (asked.out / f"{digest}.json").write_text(json.dumps(found, ensure_ascii=False))
    truth = asked.out / "truth.json"
    truth.write_text(json.dumps(records))
    code = scored(truth, asked.out)
    values = list(judged(records, {digest: found for digest, found, _ in results}))
    _table(values)
    print(f"{1000 * sum(took for *_, took in results) / _page_count(results):.1f} ms a page")
    if asked.errors:
        _errors(values)
    return code


def scored(truth: Path, predictions: Path, least: float = 0.0) -> int:
    """The scorer's exit code: 0 when the mean over vendors reaches `least`."""
    scorer = [sys.executable, CORPUS / "score_invoices.py", truth, predictions]
    return subprocess.run([*scorer, "--group", "--min", str(least)], check=False).returncode


def macro(records: list[dict[str, Any]], found: dict[str, dict[str, Any]]) -> float:
    """The scorer's mean over vendors."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for digest, data in found.items():
            (folder / f"{digest}.json").write_text(json.dumps(data))
        truth = folder / "truth.json"
        truth.write_text(json.dumps(records))
        scorer = [sys.executable, CORPUS / "score_invoices.py", truth, folder]
        said = subprocess.run(scorer, check=True, capture_output=True, text=True).stdout
    return float(said.rsplit("macro", 1)[1])


def mean_right(records: list[dict[str, Any]], found: dict[str, dict[str, Any]]) -> float:
    """The share of right values, as a mean over layouts; needs nothing but this module."""
    layouts: dict[str, list[bool]] = defaultdict(list)
    names = {record["file"]: record.get("vendor") or record["group"] for record in records}
    for item in judged(records, found):
        layouts[names[item.file]].append(item.right)
    return sum(sum(rights) / len(rights) for rights in layouts.values()) / len(layouts)


def half_of(records: list[dict[str, Any]], half: str) -> list[dict[str, Any]]:
    """Every second vendor, so that the others stay unseen while the reader is made."""
    vendors = sorted({record.get("vendor") or record["group"] for record in records})
    kept = {"all": vendors, "dev": vendors[::2], "held": vendors[1::2]}[half]
    return [record for record in records if (record.get("vendor") or record["group"]) in kept]


def _page_count(results: Iterable[tuple[str, dict[str, Any], float]]) -> int:
    return sum(found.get("page_count", 1) for _, found, _ in results)


@dataclass(frozen=True, slots=True)
class Judged:
    """One value held against the truth."""

    file: str
    path: str
    confidence: float
    right: bool
    wanted: str
    value: Any


def judged(records: list[dict[str, Any]], found: dict[str, dict[str, Any]]) -> Iterator[Judged]:
    """Each value that the truth knows, and each line it does not."""
    for record in records:
        for each in judge_invoice(record, found[record["sha256"]]):
            value = "missing" if each.path == "lines" else each.value
            wanted = "no such line" if each.wanted is None else each.wanted
            yield Judged(each.document, each.field, each.confidence, each.right, wanted, value)


def steps_of(values: Iterable[Judged]) -> dict[float, list[bool]]:
    """Confidence against truth: of the values of each step, which are right."""
    steps: dict[float, list[bool]] = defaultdict(list)
    for item in values:
        if item.value is not None and item.value != "missing":
            steps[max(step for step in STEPS if step <= item.confidence)].append(item.right)
    return steps


def _table(values: list[Judged]) -> None:
    steps = steps_of(values)
    print("confidence   values  right")
    for step in sorted(steps):
        share = 100 * sum(steps[step]) / len(steps[step])
        print(f"{step:4.2f} and up {len(steps[step]):7} {share:6.1f} %")
    sure = [right for step, rights in steps.items() if step >= 0.9 for right in rights]
    if sure:
        print(f"0.90 and up {len(sure):7} {100 * sum(sure) / len(sure):6.1f} % together")


def _errors(values: list[Judged]) -> None:
    for item in values:
        if not item.right:
            said = f"wanted {item.wanted!r}  got {item.value!r}"
            print(f"{item.file:24} {item.path:18} {item.confidence:4.2f}  {said}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
