"""Whether a change of the readers leaves every value, box and confidence as it was.

python -m eval.compare_readings KEPT.json --write     before the change
python -m eval.compare_readings KEPT.json             after it: names the documents that differ

Reads the shared invoices and broker papers, and the invoices of each `--more FOLDER`.
Scans are read by OCR again.
"""

import argparse
import io
import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Pipeline, Source
from docmill.invoices.pipeline import pipeline as invoices
from docmill.reading.pdf import NO_TOOLS
from docmill.trades.reader.pipeline import pipeline as trades

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
PIPELINES: Final[dict[str, Pipeline]] = {
    "invoices": invoices,
    "invoices_id": invoices,
    "invoices_more": invoices,
    "trades": trades,
    "trades_more": trades,
}


def read_file(path: Path) -> tuple[str, str]:
    """The name of a file with its folder, and its reading as JSON."""
    pipeline = PIPELINES.get(path.parent.name, invoices)
    try:
        found = pipeline.run(Source(io.BytesIO(path.read_bytes()), path.name, PDF), NO_TOOLS).data
    except DocmillError as exc:
        found = {"error": exc.fault.code}
    return f"{path.parent.name}/{path.name}", json.dumps(found, default=str)


def list_files(more: Sequence[Path]) -> Iterator[Path]:
    for folder in (*(CORPUS / name for name in PIPELINES), *more):
        yield from sorted(folder.glob("*.pdf"))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--more", type=Path, action="append", default=[])
    asked = parser.parse_args(arguments)
    for pipeline in (invoices, trades):
        pipeline.warm()
    with multiprocessing.Pool(2) as pool:
        found = dict(pool.imap_unordered(read_file, list_files(asked.more), chunksize=4))
    if asked.write:
        asked.kept.write_text(json.dumps(found))
        return 0
    kept: dict[str, str] = json.loads(asked.kept.read_text())
    differing = sorted(
        name for name in kept.keys() | found.keys() if kept.get(name) != found.get(name)
    )
    print(*differing, f"{len(differing)} of {len(found)} readings differ", sep="\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
