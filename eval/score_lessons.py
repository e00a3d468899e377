"""How much one correction helps: `python -m eval.score_lessons FOLDER`, documents and truth.json.

In each group of documents that share a layout, every document in turn is corrected as its truth
says, and the others are read by what that taught. Two numbers count: fields that were wrong and
are right now, and fields that were right and are wrong now.
"""

import io
import json
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docmill.core.plugins import PDF
from docmill.invoices.fields import value_at
from docmill.invoices.reader import detect_notation, lessons, read_invoice
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.model import Invoice, to_json
from docmill.reading.documents import open_document
from docmill.reading.labels import TextSheet

FIELDS: Final[Mapping[str, str]] = {
    "invoice_number": "invoice_number",
    "issue_date": "issue_date",
    "due_date": "due_date",
    "currency": "currency",
    "seller_name": "seller.name",
    "buyer_name": "buyer.name",
    "net": "totals.net",
    "tax": "totals.tax",
    "gross": "totals.gross",
}


@dataclass(frozen=True, slots=True)
class Paper:
    sheet: TextSheet
    invoice: Invoice
    truth: Mapping[str, str]


NOTHING: Final = {"wrong": 0, "mended": 0, "spoiled": 0, "pairs": 0}


def main(folder: Path) -> None:
    found = measured(folder)
    for name, told in found.items():
        print(f"{name:<44} {told}")
    print(f"{'all':<44} { {key: sum(each[key] for each in found.values()) for key in NOTHING} }")


def measured(folder: Path) -> dict[str, dict[str, int]]:
    """By group: fields wrong both where taught and elsewhere, and what became of them."""
    told: dict[str, dict[str, int]] = {}
    for name, papers in sorted(_groups(folder).items()):
        found = [_taught(papers, teacher) for teacher in range(len(papers))]
        told[name] = {key: sum(each[key] for each in found) for key in NOTHING}
    return told


def _taught(papers: Sequence[Paper], teacher: int) -> dict[str, int]:
    """What the others gain and lose when one of them is corrected."""
    paper = papers[teacher]
    fields = {path: {"value": paper.truth[path]} for path in _wrong(paper.invoice, paper.truth)}
    seller = {"name": paper.truth.get("seller.name")}
    known = lessons.teach(paper.sheet, fields, seller, [])
    told = dict(NOTHING)
    for index, other in enumerate(papers):
        if index == teacher:
            continue
        before = set(_wrong(other.invoice, other.truth))
        invoice, _ = lessons.apply_lessons(other.sheet, other.invoice, known)
        after = set(_wrong(invoice, other.truth))
        told["pairs"] += 1
        told["wrong"] += len(before & set(fields))
        told["mended"] += len(before - after)
        told["spoiled"] += len(after - before)
    return told


def _wrong(invoice: Invoice, truth: Mapping[str, str]) -> Iterator[str]:
    data = to_json(invoice)
    return (path for path, value in truth.items() if not _same(value_at(data, path), value))


def _same(one: object, other: str) -> bool:
    try:
        return abs(float(str(one)) - float(other)) < 0.015
    except ValueError:
        return _plain(str(one)) == _plain(other)


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text).lower() if c.isalnum())


def _groups(folder: Path) -> dict[str, list[Paper]]:
    records: list[dict[str, Any]] = json.loads((folder / "truth.json").read_text("utf-8"))
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record.get("vendor") or record["group"]].append(record)
    several = {name: each for name, each in groups.items() if len(each) > 1}
    return {
        name: [_paper(folder / record["file"], record["truth"]) for record in each]
        for name, each in several.items()
    }


def _paper(path: Path, truth: Mapping[str, Any]) -> Paper:
    with open_document(io.BytesIO(path.read_bytes()), PDF) as document:
        sheet = detect_notation(make_sheet(document.pages))
    given = {place: str(truth[name]) for name, place in FIELDS.items() if truth.get(name)}
    return Paper(sheet, read_invoice(sheet), given)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
