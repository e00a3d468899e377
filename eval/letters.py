"""Fourteen invoices in layouts of their own kind, with truth for the scorer.

python -m eval.letters FOLDER

Letters in prose, a folio, a Faktur Pajak, totals on the left: `letters.toml` draws them as text.
They were written before a look at the reader, as a third style beside the two generators.
"""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from eval.canvas import Canvas

LETTERS: Final = Path(__file__).with_suffix(".toml")
LEFT: Final = 40.0
TOP: Final = 50.0
WIDE: Final = 515.0
LEADING: Final = 1.45  # of the size

_CHUNK: Final = re.compile(r"\S+(?: \S+)*")
_FIGURE: Final = re.compile(r"\D{0,2} ?[(-]?[\d.,/ ]*\d[)%]?(?: (?:%|€|EUR))?")


def draw(letter: dict[str, Any]) -> bytes:
    canvas = Canvas(letter["font"], letter["size"])
    rows = letter["page"].splitlines()
    step = WIDE / max(len(row) for row in rows)
    for at, row in enumerate(rows):
        y = TOP + at * LEADING * canvas.size
        for chunk in _CHUNK.finditer(row):
            if chunk.start() and _FIGURE.fullmatch(chunk.group()):
                canvas.text(LEFT + chunk.end() * step, y, chunk.group(), to="right")
            else:
                canvas.text(LEFT + chunk.start() * step, y, chunk.group())
    return canvas.pdf()


def truth(letter: dict[str, Any], data: bytes, name: str) -> dict[str, Any]:
    names = ("description", "quantity", "unit_price", "amount")
    lines = [
        {key: value or None for key, value in zip(names, line, strict=True)}
        for line in letter["truth"]["lines"]
    ]
    shown = {**letter["truth"], "lines": lines}
    digest = hashlib.sha256(data).hexdigest()
    return {"file": name, "sha256": digest, "group": letter["name"], "truth": shown}


def make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for letter in tomllib.loads(LETTERS.read_text())["letter"]:
        data, name = draw(letter), f"{letter['name']}.pdf"
        (folder / name).write_bytes(data)
        records.append(truth(letter, data, name))
    (folder / "truth.json").write_text(json.dumps(records, indent=1))


def main(arguments: Sequence[str]) -> None:
    make(Path(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
