"""docmill eval: a folder of documents with their truth, read, held against it, and told of."""

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from docmill.app import StartError
from docmill.cli.console import out, say, say_json
from docmill.cli.options import AsJson
from docmill.core import installed, plugins
from docmill.core.scoring import JudgedValue, Step, list_steps, tally, tally_sure
from docmill.processes import read
from docmill.processes.report import write_report

TRUTH: Final = "truth.json"

Record = dict[str, Any]
Judge = Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[JudgedValue]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a folder came to. Shares are of 1; `touchless` of documents, `wrong` of their values."""

    folder: str
    pipeline: str
    documents: int
    failed: int
    score: float
    fields: dict[str, dict[str, float]]
    suppliers: dict[str, float]
    reliability: list[dict[str, float]]
    touchless: float
    touchless_wrong: float
    seconds_each: float
    values: list[dict[str, Any]]


def evaluate(
    folder: Annotated[Path, typer.Argument(help="PDFs and their truth.json.")],
    pipeline: Annotated[str | None, typer.Option(help="Default: as truth.json says.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the results in this file.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="A result kept with --save, to compare with.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report with the pages.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Files at a time.")] = read.CPUS,
    as_json: AsJson = False,
) -> None:
    """Score a folder of documents with known values.

    Reports, by field and by supplier: what is right, how reliable the confidence is, how many
    documents need no review, and how long each takes. `docs/use.md` describes truth.json.

    docmill eval invoices/ --save today.json --html report.html

    docmill eval invoices/ --against yesterday.json
    """
    records = _load_truth(folder)
    name = pipeline or ("trades" if "trades" in records[0] else "invoice")
    with tempfile.TemporaryDirectory() as kept:
        results, seconds = _read_all(folder, records, name, Path(kept), jobs)
    found = make_evaluation(folder.name, name, records, results)
    found = replace(found, seconds_each=round(seconds / len(records), 4))
    if save:
        save.write_text(json.dumps(asdict(found), ensure_ascii=False, indent=1), "utf-8")
    if html:
        html.write_bytes(write_report(folder, asdict(found)))
    if as_json:
        say_json(asdict(found))
    else:
        _print_evaluation(found)
    if against:
        _print_changes(_load_outcome(against), asdict(found))


def _load_truth(folder: Path) -> list[Record]:
    try:
        records: list[Record] = json.loads((folder / TRUTH).read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise StartError(f"Can't read {folder / TRUTH}: {exc}\nSee docs/use.md.") from exc
    if not records:
        raise StartError(f"{folder / TRUTH} has no documents.\nSee docs/use.md.")
    return records


def _load_outcome(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise StartError(f"Can't read {path}: {exc}\nMake one with --save.") from exc


def _read_all(
    folder: Path, records: Sequence[Record], pipeline: str, kept: Path, jobs: int
) -> tuple[dict[str, Record], float]:
    """What each file gave, by its name, and how long they took together."""
    began = time.monotonic()
    files = [folder / record["file"] for record in records]
    rows = read.read_quietly(pipeline, files, kept, jobs)
    found = {
        Path(row.file).name: json.loads((kept / f"{row.sha256}.json").read_bytes()) for row in rows
    }
    return found, time.monotonic() - began


def find_judge(pipeline: str) -> Judge:
    for room in installed.find_rooms().of(pipeline):
        if room.judge:
            return plugins.resolve(room.judge)
    raise StartError(f"The pipeline {pipeline} can't be scored: its room has no `judge`.")


def make_evaluation(
    folder: str, pipeline: str, records: Sequence[Record], results: Mapping[str, Record]
) -> Evaluation:
    """All figures but the time."""
    judge, nothing = find_judge(pipeline), dict[str, Any]()
    groups = {
        record["file"]: str(record.get("vendor") or record.get("group")) for record in records
    }
    by_document = {
        record["file"]: list(judge(record, results.get(record["file"]) or nothing))
        for record in records
    }
    values = [each for found in by_document.values() for each in found]
    approved = [file for file in by_document if _is_approved(results.get(file) or nothing)]
    untouched = tally(each for file in approved for each in by_document[file])
    by_supplier = _score_groups(by_document, groups)
    return Evaluation(
        folder=folder,
        pipeline=pipeline,
        documents=len(records),
        failed=sum("error" in each for each in results.values()),
        score=round(sum(by_supplier.values()) / max(len(by_supplier), 1), 4),
        fields=_score_fields(values),
        suppliers=by_supplier,
        reliability=[asdict(step) for step in list_steps(values)],
        touchless=round(len(approved) / len(records), 4),
        touchless_wrong=round(1 - untouched.share, 4) if approved else 0.0,
        seconds_each=0.0,
        values=[asdict(each) for each in values],
    )


def _is_approved(data: Mapping[str, Any]) -> bool:
    promise: Any = data.get("promise") or {}
    return bool(promise.get("approved_by"))


def _score_fields(values: Sequence[JudgedValue]) -> dict[str, dict[str, float]]:
    fields: dict[str, list[JudgedValue]] = defaultdict(list)
    for each in values:
        fields[each.field].append(each)
    return {name: _score_field(found) for name, found in fields.items()}


def _score_field(found: Sequence[JudgedValue]) -> dict[str, float]:
    whole, sure = tally(found), tally_sure(found)
    return {
        "values": whole.count + whole.missing,
        "right": round(whole.share, 4),
        "sure": sure.count,
        "sure_right": round(sure.precision, 4),
    }


def _score_groups(
    documents: Mapping[str, Sequence[JudgedValue]], groups: Mapping[str, str]
) -> dict[str, float]:
    found: dict[str, list[JudgedValue]] = defaultdict(list)
    for file, values in documents.items():
        found[groups[file]] += values
    return {name: round(tally(values).share, 4) for name, values in sorted(found.items()) if values}


def _print_evaluation(found: Evaluation) -> None:
    table = Table(title=f"{found.folder}: {found.documents} documents")
    for name in ("field", "values", "right", "sure (0.9)", "of those right"):
        table.add_column(name, justify="left" if name == "field" else "right")
    for name, each in found.fields.items():
        sure = f"{100 * each['sure_right']:.1f} %" if each["sure"] else "-"
        row = (f"{each['values']:g}", f"{100 * each['right']:.1f} %", f"{each['sure']:g}", sure)
        table.add_row(name, *row)
    out.print(table)
    _print_suppliers(found.suppliers)
    steps = [Step(**each) for each in found.reliability]  # pyright: ignore[reportArgumentType]
    for step in steps:
        say(
            f"confidence {step.low:.2f} and up: {step.count} values, {100 * step.right:.1f} % right"
        )
    say(
        f"score {found.score:.4f} (mean of suppliers), touchless {100 * found.touchless:.1f} %, "
        f"wrong among those {100 * found.touchless_wrong:.2f} %, failed {found.failed}, "
        f"{found.seconds_each:.3f} s each"
    )


def _print_suppliers(suppliers: Mapping[str, float]) -> None:
    table = Table(title="suppliers, the worst first")
    table.add_column("supplier")
    table.add_column("right", justify="right")
    for name, share in sorted(suppliers.items(), key=lambda pair: pair[1])[:15]:
        table.add_row(name, f"{100 * share:.1f} %")
    out.print(table)


def _print_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Values that became right or wrong since; a value is known by its document and path."""
    old = {(each["document"], each["path"]): each for each in before["values"]}
    for each in now["values"]:
        known = old.get((each["document"], each["path"]))
        if known and known["right"] != each["right"]:
            word = "better" if each["right"] else "WORSE "
            said = f"{known['value']!r} -> {each['value']!r}, true is {each['wanted']!r}"
            say(f"{word} {each['document']} {each['path']}: {said}")
    say(f"score {before['score']:.4f} -> {now['score']:.4f}")
