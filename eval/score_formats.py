"""How many invoices can be written as UBL and as CII, how many of those are valid, and why not.

python -m eval.score_formats [FOLDER ...] [--readings DIR] [--files]

Every written file is held against the published schemas and Schematron rules. `--readings` keeps
what was read, so that a second run writes and judges alone.
"""

import argparse
import hashlib
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.invoices import formats
from docmill.invoices.formats import choosing, validators
from docmill.invoices.formats.completeness import write_checked
from docmill.invoices.profile import Profile
from eval.score_invoices import CORPUS, read

SETS: Final = ("invoices", "invoices_more", "invoices_id", "invoices_hybrid")
MAPPINGS: Final = (choosing.UBL, choosing.CII)
GOAL: Final = 0.85


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """One invoice in one format; `lacks` is why it is not ready, `broken` what it breaks."""

    file: str
    mapping: str
    ready: bool
    lacks: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def judge(path: Path, readings: Path | None) -> list[FileVerdict]:
    data = read_kept(path, readings)
    if code := data.get("error", {}).get("code"):
        return [FileVerdict(path.name, name, False, (code,)) for name in MAPPINGS]
    return [_judge_format(path.name, data, name) for name in MAPPINGS]


def read_kept(path: Path, readings: Path | None) -> dict[str, Any]:
    """What the invoice says, from an earlier run where that was kept."""
    if readings is None:
        return read(path)[1]
    kept = readings / f"{hashlib.sha256(path.read_bytes()).hexdigest()}.json"
    if not kept.exists():
        kept.write_text(json.dumps(read(path)[1], ensure_ascii=False))
    return json.loads(kept.read_text())


def _judge_format(file: str, data: dict[str, Any], mapping: str) -> FileVerdict:
    try:
        made = write_checked(mapping, data, Profile())
    except DocmillError as exc:
        return FileVerdict(file, mapping, False, (choosing.explain_refusal(exc),))
    if made.lacks:
        return FileVerdict(file, mapping, False, made.lacks)
    problems = validators.validate(formats.load(mapping), made.emitted.xml)
    broken = [f"{one.rule} {one.value}" for one in problems if one.severity == "fatal"]
    return FileVerdict(file, mapping, True, broken=tuple(broken))


def judge_folder(folder: Path, readings: Path | None) -> Iterator[FileVerdict]:
    tasks = [(path, readings) for path in sorted(folder.glob("*.pdf"))]
    with multiprocessing.Pool(2) as pool:
        for verdicts in pool.starmap(judge, tasks, 1):
            yield from verdicts


def print_folder(name: str, verdicts: Sequence[FileVerdict], *, files: bool) -> None:
    for mapping in MAPPINGS:
        mine = [one for one in verdicts if one.mapping == mapping]
        ready = [one for one in mine if one.ready]
        valid = sum(not one.broken for one in ready)
        share = len(ready) / max(len(mine), 1)
        print(
            f"{name:16} {mapping:15} {len(mine):4} invoices {len(ready):4} ready ({share:.0%})"
            f" {valid:4} valid"
        )
        reasons = Counter(reason for one in mine for reason in one.lacks)
        for reason, count in reasons.most_common():
            print(f"    {count:4} {reason}")
        for one in mine if files else ():
            if one.lacks or one.broken:
                print(f"    {one.file}: {', '.join((*one.lacks, *one.broken))}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[CORPUS / one for one in SETS])
    parser.add_argument("--readings", type=Path, help="a folder for what was read")
    parser.add_argument("--files", action="store_true", help="name what is not ready or not valid")
    asked = parser.parse_args(arguments)
    if asked.readings:
        asked.readings.mkdir(parents=True, exist_ok=True)
    found: list[FileVerdict] = []
    for folder in asked.folders:
        verdicts = list(judge_folder(folder, asked.readings))
        print_folder(folder.name, verdicts, files=asked.files)
        found += verdicts
    ready = sum(one.ready for one in found) / max(len(found), 1)
    broken = sum(bool(one.broken) for one in found)
    print(
        f"{'all':16} {len(found) // len(MAPPINGS):4} invoices, {ready:.1%} ready, {broken} invalid"
    )
    return 0 if ready >= GOAL and not broken else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
