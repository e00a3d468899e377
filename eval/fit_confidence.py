"""Fits how sure values are, and says how far that can be believed on layouts not fitted on.

python -m eval.fit_confidence [--write] [--errors] [--no-scans | --scans COUNT]

Every figure printed is of documents whose layout the fit has not seen (cross-validation by layout).
"""

import argparse
import itertools
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from docmill.core.promise import RATE, UNLIKELY
from docmill.core.scoring import JudgedValue
from docmill.invoices.checks import find_certain
from docmill.invoices.confidence import KINDS, OPTIONAL, Describer, PlacedText, name_field
from docmill.invoices.fields import value_at
from docmill.invoices.scoring import HEAD, judge_invoice
from eval.calibrating import FOLDS, DocumentTruth, FitRow, cross_validate, fit
from eval.readings import CORPUS, GENERATORS, Reading, read_set

WRITTEN: Final = Path(__file__).parents[1] / "src/docmill/invoices/confidence.json"
FOLDERS: Final = ("invoices", "invoices_more", "invoices_id")
SCANNED_MADE: Final = 60
TUNED: Final = 0.6  # what a layout counts that the reader was made with
MADE: Final = {
    "structures": 0.15,
    "multilingual": 0.3,
    "indonesian": 0.3,
    "letters": 0.3,
    "suppliers": 0.15,
}


def read_all(*, scans: bool = True, most: int = 0) -> list[Reading]:
    """Everything; `most` scans of each folder, spread over it, where all would take too long."""
    found: list[Reading] = []
    for name in (*FOLDERS, *GENERATORS):
        if name in GENERATORS or (CORPUS / name).is_dir():
            found += read_set(name, "invoice")
    for name in FOLDERS if scans else ():
        if (CORPUS / name).is_dir():
            found += read_set(name, "invoice", scans=True, most=most)
    if scans:
        made = min(most or SCANNED_MADE, SCANNED_MADE)
        found += read_set("structures", "invoice", scans=True, most=made)
    return found


def list_rows(reading: Reading) -> Iterator[FitRow]:
    """The values of a document that the truth judges, and what it has of the optional ones."""
    known = Describer.of(reading.data, [PlacedText(*each) for each in reading.texts])
    for each in judge_invoice(reading.record, reading.data):
        if each.value is not None and name_field(each.path) in KINDS:
            yield _make_row(reading, each, known.describe(each.path))
    truth = reading.record["truth"]
    for path in OPTIONAL:
        if value_at(reading.data, path) is None and HEAD[path] in truth:
            right = truth[HEAD[path]] is None
            missed = JudgedValue("", path, f"no {path}", right=right, wanted=None)
            yield _make_row(reading, missed, known.describe_absence(path))


def _make_row(reading: Reading, each: JudgedValue, features: dict[str, float]) -> FitRow:
    weight = MADE.get(reading.set, 1.0 if reading.held else TUNED)
    return FitRow(
        set=f"{reading.set}{' scans' if reading.scanned else ''}",
        group=f"{reading.set}/{reading.group}",
        document=name_document(reading),
        path=each.path,
        field=each.field,
        kind=KINDS[each.field],
        features=features,
        right=each.right,
        weight=weight,
        held=reading.held,
        score=each.confidence,
    )


def print_sure(found: Sequence[tuple[FitRow, float]]) -> None:
    """By field and set: how many values are sure, and how many of those are right."""
    sets = list(dict.fromkeys(row.set for row, _ in found))
    print(f"{'0.9 and more':18}" + "".join(f"{name[:17]:>18}" for name in sets))
    for field in KINDS:
        cells: list[str] = []
        for name in sets:
            inside = [
                (row.right, sure >= 0.9)
                for row, sure in found
                if row.field == field and row.set == name
            ]
            good = [right for right, is_sure in inside if is_sure]
            share = f"{100 * sum(good) / len(good):5.1f}" if good else "    -"
            cells.append(f"{len(good):5}/{len(inside):4} {share} %")
        print(f"{field:18}" + "".join(f"{cell:>18}" for cell in cells))


def print_steps(found: Sequence[tuple[FitRow, float]]) -> None:
    lows = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1.01)
    for low, high in itertools.pairwise(lows):
        inside = [(row, sure) for row, sure in found if low <= sure < high and row.kind != "absent"]
        if inside:
            mean = sum(sure for _, sure in inside) / len(inside)
            right = sum(row.right for row, _ in inside) / len(inside)
            print(f"  {low:5.3f}: {len(inside):5} values, mean {mean:.3f}, right {right:.3f}")


def judge_documents(readings: Sequence[Reading]) -> dict[str, DocumentTruth]:
    found: dict[str, DocumentTruth] = {}
    for reading in readings:
        values = list(judge_invoice(reading.record, reading.data))
        wrong = sum(not each.right for each in values)
        clean = not find_certain(reading.data, reading.data["checks"])
        found[name_document(reading)] = DocumentTruth(clean, wrong, max(len(values), 1))
    return found


def name_document(reading: Reading) -> str:
    return f"{reading.set}/{reading.record['file']}/{reading.scanned}"


def print_touchless(
    readings: Sequence[Reading], expected: dict[str, float], found: Sequence[tuple[FitRow, float]]
) -> None:
    """Of each set: documents approved by rule, and the wrong values among theirs."""
    truths, least = judge_documents(readings), defaultdict[str, float](lambda: 1.0)
    for row, sure in found:
        least[row.document] = min(least[row.document], sure)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for reading in readings:
        name = name_document(reading)
        truth = truths[name]
        kept = truth.clean and expected[name] <= RATE and least[name] >= UNLIKELY
        medium = " scans" if reading.scanned else ""
        labels = [f"{reading.set}{medium}"]
        if reading.set in FOLDERS:
            labels += [f"corpus{medium}", *([f"held out{medium}"] if reading.held else [])]
        for label in labels:
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


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--no-scans", action="store_true")
    parser.add_argument("--scans", type=int, default=0, metavar="COUNT")
    asked = parser.parse_args(arguments)
    readings = read_all(scans=not asked.no_scans, most=asked.scans)
    rows = [row for reading in readings for row in list_rows(reading)]
    found, expected = cross_validate(rows, judge_documents(readings))
    print_sure(found)
    for name, part in (
        ("all", found),
        ("corpus", [each for each in found if each[0].set.split()[0] in FOLDERS]),
        ("held-out layouts", [e for e in found if e[0].held and e[0].set.split()[0] in FOLDERS]),
    ):
        print(name)
        print_steps(part)
    print(f"approved by rule at {100 * RATE:g} %")
    print_touchless(readings, expected, found)
    if asked.errors:
        for row, sure in sorted(found, key=lambda pair: -pair[1]):
            if not row.right and sure >= 0.85:
                print(f"{sure:.3f} {row.score:.2f} {row.document} {row.path}")
    if asked.write:
        _write(rows, judge_documents(readings))
    return 0


def _write(rows: Sequence[FitRow], truths: dict[str, DocumentTruth]) -> None:
    fitted = fit(rows, truths)
    origin = {
        "made_by": "python -m eval.fit_confidence --write",
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
    WRITTEN.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
