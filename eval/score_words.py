"""How much of the words that pdftotext finds in real documents the reader finds too, and in which
order. `python -m eval.score_words`, or `python -m eval.table --only words`.
"""

import re
import shutil
import subprocess
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF
from docmill.reading.documents import open_document
from eval.rows import Row

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
FOLDERS: Final = ("invoices", "invoices_hybrid", "trades")
FLOOR: Final = 0.99


def measure(quick: bool) -> Iterator[Row]:
    files = sorted(path for name in FOLDERS for path in (CORPUS / name).glob("*.pdf"))
    if not files or shutil.which("pdftotext") is None:
        yield Row("words that pdftotext finds", "not measured: no corpus or no pdftotext")
        return
    yield measured(files[:: (10 if quick else 1)])


def measured(files: Sequence[Path]) -> Row:
    known = found = 0
    orders: list[float] = []
    for path in files:
        theirs, ours = _words(_by_pdftotext(path)), _words(_by_us(path))
        known += len(theirs)
        found += sum((Counter(theirs) & Counter(ours)).values())
        orders += [agreement(theirs, ours)] if theirs else []
    recall, order = found / known, sum(orders) / len(orders)
    return Row(
        f"words that pdftotext finds in {len(files)} documents", f"{recall:.4f}",
        f"in the same order {order:.2f}", floor=f">= {FLOOR}", kept=recall >= FLOOR,
        figures={"recall": recall, "order": order, "words": known},
    )  # fmt: skip


def _by_pdftotext(path: Path) -> str:
    ran = subprocess.run(
        ["pdftotext", "-enc", "UTF-8", path, "-"], capture_output=True, check=False
    )
    return ran.stdout.decode(errors="replace")


def _by_us(path: Path) -> str:
    try:
        with path.open("rb") as file, open_document(file, PDF) as document:
            return "\n".join(page.text for page in document.pages)
    except DocmillError:
        return ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def agreement(theirs: Sequence[str], ours: Sequence[str]) -> float:
    """The share of the words that stand once in both which can be read in the same order."""
    once = {word for word, count in Counter(theirs).items() if count == 1}
    once &= {word for word, count in Counter(ours).items() if count == 1}
    places = {word: at for at, word in enumerate(ours) if word in once}
    ends: list[int] = []
    for at in (places[word] for word in theirs if word in once):
        place = bisect_left(ends, at)
        ends[place : place + 1] = [at]
    return len(ends) / len(once) if once else 1.0


if __name__ == "__main__":
    for folder in FOLDERS:
        row = measured(sorted((CORPUS / folder).glob("*.pdf")))
        print(f"{folder}: {row.what}: {row.docmill}; {row.other}")
