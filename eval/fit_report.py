"""What a fit of confidence comes to on layouts it has not seen, printed; and the file it makes."""

import argparse
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docmill.core.calibration import Calibration
from docmill.core.promise import RATE, UNLIKELY
from eval.calibrating import FOLDS, SURE, DocumentTruth, FitRow, Sample, cross_validate, fit
from eval.readings import KEPT

SCANS: Final = " scans"
LEAST_RIGHT: Final = 0.97  # of the sure values of a field, in every set

Estimates = Sequence[tuple[FitRow, float]]


@dataclass(frozen=True, slots=True)
class FitTask:
    """What is fitted: values with their truth, the documents they stand in, and where to.

    kinds: by field, its kind. folders: the sets of real documents. made_by: the command.
    """

    rows: Sequence[FitRow]
    documents: Mapping[str, DocumentTruth]
    kinds: Mapping[str, str]
    folders: Sequence[str]
    written: Path
    made_by: str


def parse_asked(arguments: Sequence[str], description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--no-scans", action="store_true")
    parser.add_argument("--scans", type=int, default=0, metavar="COUNT")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="FOLDER", help="of readings")
    return parser.parse_args(arguments)


def run_fit(task: FitTask, *, write: bool, errors: bool) -> None:
    """Score the fit on what it has not seen, and keep that of all if it is wanted."""
    sample = Sample.of(task.rows)
    found, expected = cross_validate(sample, task.documents)
    real = [each for each in found if each[0].set.removesuffix(SCANS) in task.folders]
    print_sure(found, list(task.kinds))
    for name, part in (
        ("all", found),
        ("corpus", real),
        ("held-out layouts", [each for each in real if each[0].held]),
    ):
        print(name)
        print_steps(part)
    print(f"approved by rule at {100 * RATE:g} %")
    print_touchless(task, expected, found)
    for row, sure in sorted(found, key=lambda pair: -pair[1]) if errors else ():
        if not row.right and sure >= 0.85:
            print(f"{sure:.3f} {row.score:.2f} {row.document} {row.path}")
    if write:
        write_fit(task, fit(sample, task.documents))


def print_sure(found: Estimates, fields: Sequence[str]) -> None:
    """By field and set: how many values are sure, and how many of those are right.

    Then the fields of sets in which too few of them are.
    """
    cells: dict[tuple[str, str], list[bool]] = defaultdict(list)
    counts = Counter((row.field, row.set) for row, _ in found)
    for row, sure in found:
        if sure >= SURE:
            cells[row.field, row.set].append(row.right)
    sets = list(dict.fromkeys(row.set for row, _ in found))
    print(f"{'0.9 and more':18}" + "".join(f"{name[:17]:>18}" for name in sets))
    for field in fields:
        told = [_tell_share(cells[field, name], counts[field, name]) for name in sets]
        print(f"{field:18}" + "".join(f"{cell:>18}" for cell in told))
    for (field, name), rights in cells.items():
        if sum(rights) < LEAST_RIGHT * len(rights):
            wrong = len(rights) - sum(rights)
            print(f"  below {100 * LEAST_RIGHT:g} %: {field} of {name}, {wrong} of {len(rights)}")


def _tell_share(rights: Sequence[bool], count: int) -> str:
    share = f"{100 * sum(rights) / len(rights):5.1f}" if rights else "    -"
    return f"{len(rights):5}/{count:4} {share} %"


def print_steps(found: Estimates) -> None:
    lows = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1.01)
    for low, high in itertools.pairwise(lows):
        inside = [(row, sure) for row, sure in found if low <= sure < high and row.kind != "absent"]
        if inside:
            mean = sum(sure for _, sure in inside) / len(inside)
            right = sum(row.right for row, _ in inside) / len(inside)
            print(f"  {low:5.3f}: {len(inside):5} values, mean {mean:.3f}, right {right:.3f}")


def print_touchless(task: FitTask, expected: Mapping[str, float], found: Estimates) -> None:
    """Of each set: documents approved by rule, and the wrong values among theirs."""
    least = defaultdict[str, float](lambda: 1.0)
    for row, sure in found:
        least[row.document] = min(least[row.document], sure)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, truth in task.documents.items():
        kept = truth.clean and expected[name] <= RATE and least[name] >= UNLIKELY
        for label in _list_labels(task, truth):
            count = counts[label]
            count[0] += 1
            if kept:
                count[1] += 1
                count[2] += truth.count
                count[3] += truth.wrong
    for name, (documents, approved, values, wrong) in counts.items():
        print(
            f"  {name:22} {approved:4} of {documents:4} ({100 * approved / documents:5.1f} %), "
            f"wrong {wrong} of {values} ({100 * wrong / max(values, 1):.2f} %)"
        )


def _list_labels(task: FitTask, truth: DocumentTruth) -> list[str]:
    own = truth.set.removesuffix(SCANS)
    medium = truth.set[len(own) :]
    if own not in task.folders:
        return [truth.set]
    return [truth.set, f"corpus{medium}", *([f"held out{medium}"] if truth.held else [])]


def write_fit(task: FitTask, fitted: Calibration) -> None:
    rows = task.rows
    origin = {
        "made_by": task.made_by,
        "documents": len({row.document for row in rows}),
        "layouts": len({row.group for row in rows}),
        "values": len(rows),
        "sets": list(dict.fromkeys(row.set for row in rows)),
        "folds": FOLDS,
    }
    kept = {
        "origin": origin,
        "weights": fitted.weights,
        "tables": fitted.tables,
        "documents": fitted.documents,
    }
    task.written.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
