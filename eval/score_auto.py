"""How often `auto` tells rightly what a document is, over all shared sets mixed, and over neither.

python -m eval.score_auto [--errors]

Invoices and trade notes come from the shared corpus; a bank's paper without a trade may be taken
for a document too. What is neither is made here: licences, letters and papers of an office
(`others.toml`), and those of the hostile set that can be read at all.
"""

import argparse
import io
import json
import multiprocessing
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from docmill.auto.pipeline import LOOKED_AT, choose_pipeline
from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source
from docmill.reading.documents import open_document
from eval.pdf import Text, make_pdf

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
SETS: Final = {
    "invoices": "invoice",
    "invoices_hybrid": "invoice",
    "invoices_id": "invoice",
    "invoices_more": "invoice",
    "trades": "trades",
    "trades_more": "trades",
    "hostile": "extract",
}
LICENCES: Final = Path("/usr/share/common-licenses")
OTHERS: Final = Path(__file__).with_name("others.toml")
LINES: Final = 60
GOAL: Final = 0.98
NO_TRADE: Final = "no trade"

Case = tuple[str, str, bytes]  # its name, what it is, its bytes
Answer = tuple[str, str, str, str]  # its name, what it is, what it was taken for, and why


def find_cases() -> Iterator[Case]:
    for folder, kind in SETS.items():
        without = _find_without_trades(folder) if kind == "trades" else set[str]()
        for path in sorted((CORPUS / folder).glob("*.pdf")):
            what = NO_TRADE if path.name in without else kind
            yield f"{folder}/{path.name}", what, path.read_bytes()
    for path in sorted(LICENCES.glob("*")):
        yield f"licence {path.name}", "extract", draw_text(path.read_text(errors="replace"))
    for name, page in tomllib.loads(OTHERS.read_text())["papers"].items():
        yield f"paper {name}", "extract", draw_text(page)


def _find_without_trades(folder: str) -> set[str]:
    records = json.loads((CORPUS / folder / "truth.json").read_text())
    return {record["file"] for record in records if not record["trades"]}


def draw_text(text: str) -> bytes:
    """Plain text on pages, as it stands."""
    lines = text.splitlines()[: LINES * LOOKED_AT]
    pages = [lines[at : at + LINES] for at in range(0, max(len(lines), 1), LINES)]
    return make_pdf([[_place(at, line) for at, line in enumerate(page)] for page in pages])


def _place(at: int, line: str) -> Text:
    indent = len(line) - len(line.lstrip())
    return (50 + 5 * indent, 50 + 12 * at, line.strip())


def ask(case: Case) -> Answer:
    name, kind, data = case
    source = Source(io.BytesIO(data), name, PDF)
    try:
        with open_document(source.file, PDF) as document:
            choice = choose_pipeline(source, [*islice(document.pages, LOOKED_AT)])
    except DocmillError as exc:
        return name, kind, exc.fault.code, exc.reason
    return name, kind, choice.pipeline.name, choice.recognition.sentence


def is_right(answer: Answer) -> bool:
    _, kind, taken, _ = answer
    return taken in {"trades", "extract"} if kind == NO_TRADE else taken == kind


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", action="store_true", help="name those that were told wrongly")
    asked = parser.parse_args(arguments)
    with multiprocessing.Pool(2) as pool:
        answers = list(pool.imap_unordered(ask, find_cases(), 4))
    told = [one for one in answers if one[2].islower()]  # a code is for what can't be read
    wrong = [one for one in told if not is_right(one)]
    for kind in dict.fromkeys(one[1] for one in told):
        mine = [one for one in told if one[1] == kind]
        taken, right = Counter(one[2] for one in mine), sum(map(is_right, mine))
        print(f"{kind:8} {right:4} of {len(mine):4}  {json.dumps(dict(taken))}")
    share = 1 - len(wrong) / len(told)
    print(f"all      {len(told) - len(wrong):4} of {len(told):4}  {share:.2%}")
    if asked.errors:
        for name, kind, taken, why in sorted(wrong):
            print(f"{name}: {kind}, taken for {taken}. {why}")
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
