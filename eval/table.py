"""`make eval`: how well documents are read, those our generators make and the shared corpus.

`python -m eval.table [--quick] [--only NAME]`; the figures go to eval/out/table.json as well.
"""

import argparse
import json
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console

from eval import indonesian, multilingual, score_layout, score_lines, score_words
from eval.rows import Row, draw_table
from eval.score_invoices import CORPUS, judged, macro, read, steps_of

OUT: Final = Path(__file__).parent / "out"
console: Final = Console(width=150, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer of everything, in a minute")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    given = parser.parse_args()
    rows: list[Row] = []
    for name in given.only or PARTS:
        for row in PARTS[name](given.quick):
            rows.append(row)
            console.print(f"{row.what}: {row.docmill}; {row.other}", style="dim")
    console.print(draw_table(rows))
    OUT.mkdir(exist_ok=True)
    (OUT / "table.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))


def measure_invoices(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, make in {
            "indonesian": indonesian.make,
            "multilingual": multilingual.make,
        }.items():
            make(folder / kind, 15 if quick else 60, 7)
            yield score_folder(folder / kind)
    if (CORPUS / "invoices").is_dir():
        yield score_folder(CORPUS / "invoices")


def score_folder(folder: Path) -> Row:
    records = json.loads((folder / "truth.json").read_text())
    with multiprocessing.Pool(2) as pool:
        results = pool.map(read, [folder / record["file"] for record in records])
    found = {digest: data for digest, data, _ in results}
    score, steps = macro(records, found), steps_of(judged(records, found))
    sure = [right for step, rights in steps.items() if step >= 0.9 for right in rights]
    share = sum(sure) / max(len(sure), 1)
    told = ", ".join(f"{step:.2f}: {sum(r)}/{len(r)}" for step, r in sorted(steps.items()))
    return Row(
        f"{folder.name}, {len(records)} files: macro score", f"{score:.4f}",
        f"right by confidence {told}; {100 * share:.1f} % from 0.9 on",
        floor="98 % from 0.9 on", kept=share >= 0.98,
        figures={"macro": score, "sure_right": share, "right_by_confidence": told},
    )  # fmt: skip


PARTS: Final[dict[str, Callable[[bool], Iterator[Row]]]] = {
    "invoices": measure_invoices,
    "words": score_words.measure,
    "layout": score_layout.measure,
    "lines": score_lines.measure,
}


if __name__ == "__main__":
    main()
