"""How often `extract` finds fields asked for by name.

python -m eval.score_fields [--half dev|held] [--errors]

Over the shared invoices, whose truth has what the pages show. Every field is asked for in five
languages by a name that somebody who speaks it would give, whatever the language of the page.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.field_request import parse_fields
from docmill.core.plugins import PDF, Tools
from docmill.extract.pipeline import FieldSearch
from docmill.extract.reader.labels import find_fields
from docmill.extract.reader.values import find_conventions
from docmill.reading.blocks import find_blocks
from docmill.reading.documents import open_document
from docmill.reading.labels import fold_accents
from eval.score_invoices import CORPUS, half_of

TRUTHS: Final = (
    "invoice_number", "issue_date", "due_date", "gross", "tax", "seller_name", "buyer_name",
)  # fmt: skip
NAMES: Final = {
    "English": "invoice number:id,invoice date:date,due date:date,total amount:amount,"
    "tax amount:amount,seller,buyer",
    "German": "Rechnungsnummer:id,Rechnungsdatum:date,Fälligkeitsdatum:date,Gesamtbetrag:amount,"
    "Mehrwertsteuer:amount,Verkäufer,Kunde",
    "French": "numéro de facture:id,date de facture:date,date d échéance:date,montant total:amount,"
    "TVA:amount,vendeur,client",
    "Spanish": "número de factura:id,fecha de factura:date,fecha de vencimiento:date,"
    "importe total:amount,IVA:amount,vendedor,cliente",
    "Indonesian": "nomor faktur:id,tanggal faktur:date,jatuh tempo:date,jumlah total:amount,"
    "PPN:amount,penjual,pembeli",
}
SIGNS: Final = re.compile(r"[^a-z0-9]")
Outcome = tuple[str, str, str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("all", "dev", "held"), default="all")
    parser.add_argument("--errors", action="store_true", help="also every wrong or missing value")
    given = parser.parse_args()
    folder = CORPUS / "invoices"
    records = half_of(json.loads((folder / "truth.json").read_text()), given.half)
    counts: Counter[tuple[str, str, str]] = Counter()
    for record in records:
        for language, truth, outcome, said in _outcomes(folder / record["file"], record["truth"]):
            counts[language, truth, outcome] += 1
            if given.errors and outcome != "right":
                print(f"{record['file']} {language:10} {truth:15} {outcome:8} {said}")
    print(f"{'':12}" + "".join(f"{truth[:10]:>12}" for truth in (*TRUTHS, "all", "wrong")))
    for language in NAMES:
        print(f"{language:12}" + "".join(f"{share:12.1%}" for share in _shares(counts, language)))


def _shares(counts: Mapping[tuple[str, str, str], int], language: str) -> Iterator[float]:
    def count(truths: Sequence[str], outcome: str) -> int:
        return sum(counts.get((language, truth, outcome), 0) for truth in truths)

    for truths in (*((truth,) for truth in TRUTHS), TRUTHS):
        whole = sum(count(truths, outcome) for outcome in ("right", "wrong", "missing"))
        yield count(truths, "right") / max(whole, 1)
    yield count(TRUTHS, "wrong") / max(count(TRUTHS, "wrong") + count(TRUTHS, "right"), 1)


def _outcomes(path: Path, truth: Mapping[str, Any]) -> Iterator[Outcome]:
    tools = Tools(progress=lambda _percent, _stage: None)
    kept = {language: parse_fields(names) for language, names in NAMES.items()}
    sought = {
        language: FieldSearch.from_options({"fields": names}, tools)
        for language, names in kept.items()
    }
    texts: list[str] = []
    try:
        with path.open("rb") as file, open_document(file, PDF) as document:
            for page in document.pages:
                texts.append(page.text)
                fields, blocks = find_fields(page), find_blocks(page)
                for one in sought.values():
                    assert one
                    one.look(page, fields, blocks)
    except DocmillError as exc:
        print(f"{path.name} {exc.fault.code}")
    for language, one in sought.items():
        assert one
        answers, _ = one.answer(find_conventions(texts), tools)
        for key, (field, answer) in zip(TRUTHS, answers, strict=True):
            if truth.get(key) is None:
                continue
            value = answer.fit.value if answer.fit else None
            outcome = _judged(key, str(truth[key]), value)
            yield language, key, outcome, f"{field.name} {value!r} not {truth[key]!r} {answer.why}"


def _judged(key: str, truth: str, value: Any) -> str:
    if value is None:
        return "missing"
    return "right" if _same(key, truth, str(value)) else "wrong"


def _same(key: str, truth: str, value: str) -> bool:
    if key in {"gross", "tax"}:
        try:
            return Decimal(value) == Decimal(truth)
        except InvalidOperation:
            return False
    one, other = (SIGNS.sub("", fold_accents(text)) for text in (truth, value))
    if key.endswith("_name"):
        return bool(one and other) and (one in other or (len(other) > 3 and other in one))
    return one == other


if __name__ == "__main__":
    main()
