"""How many names of securities are right, cut or too long, something else, or missing.

python -m eval.security_names [--half dev|held|all] [--errors]

Looks at the trades of the shared broker documents and of the papers set by hand, where the truth
names a security. A name is right if all its words are of a name that the document has.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from docmill.reading.labels import fold
from eval.broker_papers import PAPERS, SHEETS, make
from eval.score_trades import CORPUS, half, read

FILES: Final = {"papers": PAPERS, "sheets": SHEETS}
SETS: Final = ("trades", "trades_more", *FILES)
HALVES: Final = {"dev": "tuned", "held": "held", "all": "all"}
COUNT, SEED = 118, 7

Record = dict[str, Any]


def load_records(name: str, which: str) -> tuple[Path, list[Record]]:
    """The documents of a set that have a trade whose security the truth names."""
    if name in FILES:
        folder = Path(tempfile.mkdtemp())
        make(folder, COUNT, SEED, HALVES[which], file=FILES[name])
        records: list[Record] = json.loads((folder / "truth.json").read_text())
    else:
        folder = CORPUS / name
        records = half(json.loads((folder / "truth.json").read_text()), which)
    return folder, [each for each in records if list_names(each)]


def list_names(record: Record) -> list[str]:
    return [trade["name"] for trade in record["trades"] if trade.get("name")]


def judge_name(name: str, known: Sequence[str]) -> str:
    words = set(fold(name).split())
    owners = [set(fold(each).split()) for each in known]
    if not words:
        return "missing"
    if any(words <= each for each in owners):
        return "right"
    return "partly" if any(words & each for each in owners) else "wrong"


def judge_set(folder: Path, records: Sequence[Record]) -> Iterator[tuple[str, str, str]]:
    """Of each trade that was found how its name is, the name and the document."""
    with multiprocessing.Pool(2) as pool:
        found = dict(pool.map(read, [folder / each["file"] for each in records]))
    for record in records:
        for trade in found[record["sha256"]].get("trades", []):
            name = str(trade.get("name") or "")
            yield judge_name(name, list_names(record)), name, record["file"]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=tuple(HALVES), default="dev")
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    for name in SETS:
        judged = list(judge_set(*load_records(name, asked.half)))
        for told, shown, file in judged if asked.errors else ():
            if told in {"partly", "wrong"}:
                print(f"{name}/{file}: {told}: {shown}")
        counts = Counter(told for told, *_ in judged)
        shares = ", ".join(f"{told} {counts[told]}" for told in ("right", "partly", "wrong"))
        print(f"{name:12} {len(judged):4} trades: {shares}, missing {counts['missing']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
