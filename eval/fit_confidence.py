"""Fits how sure values are, and says how far that can be believed on layouts not fitted on.

python -m eval.fit_confidence [--write] [--errors] [--no-scans | --scans COUNT] [--kept FOLDER]

Every figure printed is of documents whose layout the fit has not seen (cross-validation by layout).
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from docmill.core.scoring import JudgedValue
from docmill.invoices.checks import find_certain
from docmill.invoices.confidence import KINDS, OPTIONAL, Describer, PlacedText, name_field
from docmill.invoices.fields import value_at
from docmill.invoices.scoring import HEAD, judge_invoice
from eval.calibrating import DocumentTruth, FitRow
from eval.fit_report import FitTask, parse_asked, run_fit
from eval.readings import CORPUS, Reading, read_set

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
    "billers": 0.3,
}


def read_all(kept_in: Path, *, scans: bool = True, most: int = 0) -> list[Reading]:
    """Everything; `most` scans of each folder, spread over it, where all would take too long."""
    found: list[Reading] = []
    for name in (*FOLDERS, *MADE):
        if name in MADE or (CORPUS / name).is_dir():
            found += read_set(name, "invoice", kept_in=kept_in)
    for name in FOLDERS if scans else ():
        if (CORPUS / name).is_dir():
            found += read_set(name, "invoice", scans=True, most=most, kept_in=kept_in)
    if scans:
        made = min(most or SCANNED_MADE, SCANNED_MADE)
        found += read_set("structures", "invoice", scans=True, most=made, kept_in=kept_in)
    return found


def list_rows(reading: Reading) -> Iterator[FitRow]:
    """The values of a document that the truth judges, and what it has of the optional ones."""
    known = Describer.of(reading.data, [PlacedText(*each) for each in reading.texts])
    for each in judge_invoice(reading.record, reading.data):
        if each.value is not None and name_field(each.path) in KINDS:
            limit = known.find_limit(each.path)
            yield _make_row(reading, each, known.describe(each.path), limit)
    truth = reading.record["truth"]
    for path in OPTIONAL:
        if value_at(reading.data, path) is None and HEAD[path] in truth:
            right = truth[HEAD[path]] is None
            missed = JudgedValue("", path, f"no {path}", right=right, wanted=None)
            yield _make_row(reading, missed, known.describe_absence(path))


def _make_row(
    reading: Reading, each: JudgedValue, features: dict[str, float], limit: float = 1.0
) -> FitRow:
    weight = MADE.get(reading.set, 1.0 if reading.held else TUNED)
    return FitRow(
        set=reading.label,
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
        limit=limit,
    )


def judge_documents(readings: Sequence[Reading]) -> dict[str, DocumentTruth]:
    found: dict[str, DocumentTruth] = {}
    for reading in readings:
        values = list(judge_invoice(reading.record, reading.data))
        wrong = sum(not each.right for each in values)
        clean = not find_certain(reading.data, reading.data["checks"])
        found[name_document(reading)] = DocumentTruth(
            clean, wrong, max(len(values), 1), reading.label, reading.held
        )
    return found


def name_document(reading: Reading) -> str:
    return f"{reading.set}/{reading.record['file']}/{reading.scanned}"


def main(arguments: Sequence[str]) -> int:
    asked = parse_asked(arguments, __doc__)
    readings = read_all(asked.kept, scans=not asked.no_scans, most=asked.scans)
    task = FitTask(
        rows=[row for reading in readings for row in list_rows(reading)],
        documents=judge_documents(readings),
        kinds=KINDS,
        folders=FOLDERS,
        written=WRITTEN,
        made_by="python -m eval.fit_confidence --write",
    )
    run_fit(task, write=asked.write, errors=asked.errors)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
