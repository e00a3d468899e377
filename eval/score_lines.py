"""How many line items of the shared invoices stand in one row of a table that `extract` gives.

`python -m eval.score_lines [--show]`: real documents, whose lines the truth has as numbers.
"""

import io
import json
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.extract.pipeline import pipeline
from docmill.reading import numbers
from eval.rows import Row
from eval.score_invoices import CORPUS


def measure(_quick: bool) -> Iterator[Row]:
    truth = CORPUS / "invoices" / "truth.json"
    if not truth.exists():
        yield Row("line items of the shared invoices", "not measured: no corpus")
        return
    kept = [one for record in json.loads(truth.read_text()) for one in lines_kept(record)]
    yield Row(
        f"{len(kept)} line items of the shared invoices", f"{sum(kept) / len(kept):.3f}",
        "in one row of a table, with words and amount", figures={"kept": sum(kept) / len(kept)},
    )  # fmt: skip


def lines_kept(record: dict[str, Any]) -> list[bool]:
    rows = _rows(CORPUS / "invoices" / record["file"])
    lines = [line for line in record["truth"].get("lines") or [] if line.get("amount")]
    return [any(_is_row(row, line) for row in rows) for line in lines if line.get("description")]


def _rows(path: Any) -> list[list[str]]:
    try:
        with path.open("rb") as file:
            source = Source(io.BytesIO(file.read()), path.name, PDF)
        data = pipeline.run(source, Tools(progress=lambda _percent, _stage: None)).data
    except DocmillError:
        return []
    found: dict[tuple[int, int], list[str]] = {}
    for at, table in enumerate(data["tables"]):
        for cell in table["cells"]:
            found.setdefault((at, cell["row"]), []).append(cell["text"])
    return list(found.values())


def _is_row(row: list[str], line: dict[str, Any]) -> bool:
    """Whether the row has the amount, and half of the words that describe the line or more."""
    values = {
        abs(value)
        for text in row
        for found in numbers.find_numbers(text)
        for value in found.readings
    }
    if abs(Decimal(line["amount"])) not in values:
        return False
    words = set(re.findall(r"\w+", line["description"].lower()))
    shown = set(re.findall(r"\w+", " ".join(row).lower()))
    return 2 * len(words & shown) >= len(words)


if __name__ == "__main__":
    for record in json.loads((CORPUS / "invoices" / "truth.json").read_text()):
        kept = lines_kept(record)
        if "--show" in sys.argv:
            print(record["file"], f"{sum(kept)}/{len(kept)}")
    print(*(f"{row.what}: {row.docmill} {row.other}" for row in measure(True)))
