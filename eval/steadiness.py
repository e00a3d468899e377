"""How steady readings are: the same pages drawn a little otherwise must give the same values.

Words are moved by up to 0.3 points, pages are drawn at 0.9 of their size, with other margins, or in
another font of the same metrics.

python -m eval.steadiness invoices|trades [FOLDER] [--most N] [--errors]
"""

import argparse
import io
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Tools
from docmill.invoices.reader import detect_notation, read_invoice
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.model import to_json
from docmill.reading.documents import open_document
from docmill.reading.order import order_lines
from docmill.reading.pages import Box, Page, Word
from docmill.reading.turning import set_upright
from docmill.trades.reader import rows
from docmill.trades.reader.read import read_trades

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
MOVED: Final = 0.3  # points
SIZE: Final = 0.9
INVOICE: Final = (
    "invoice_number", "issue_date", "due_date", "currency", "seller", "buyer", "totals", "lines",
)  # fmt: skip
MARGINS: Final = (11.0, -7.0)
# Fonts of the same metrics have the same widths and baselines. What differs is how far they say
# they reach up and down: Helvetica 0.718 and 0.207 of its size, those that replace it 0.905 and
# 0.212.
ASCENTS: Final = (0.718, 0.905)
DESCENTS: Final = (0.207, 0.212)
Change = Callable[[Box], Box]
Values = dict[str, str]


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How many values of a document were compared, and which differ under which change."""

    name: str
    count: int
    changed: tuple[tuple[str, str, str | None, str | None], ...]


def read_invoice_values(pages: Sequence[Page]) -> Values:
    upright = [set_upright(page) for page in pages]
    data = to_json(read_invoice(detect_notation(make_sheet(upright))))
    return dict(_flatten({name: data[name] for name in INVOICE}))


def read_trade_values(pages: Sequence[Page]) -> Values:
    found = read_trades(rows.make_sheet(map(set_upright, pages)))
    listed = [{name: value.value for name, value in trade.items()} for trade in found.trades]
    return dict(_flatten({"trades": listed}))


READERS: Final = {"invoices": read_invoice_values, "trades": read_trade_values}


def _flatten(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every value with its path."""
    if isinstance(data, Mapping):
        for name, inner in data.items():
            yield from _flatten(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(data, list):
        for at, inner in enumerate(data):
            yield from _flatten(inner, f"{path}[{at}]")
    elif data is not None:
        yield path, str(data)


def redraw(page: Page, change: Change) -> Page:
    """The page with its words and rules elsewhere, put into lines again."""
    words: list[Word] = [replace(word, box=change(word.box)) for word in page.words]
    size = (page.width, page.height)
    if change is set_in_other_font:  # rules have no font
        return replace(page, lines=order_lines(words, size))
    drawn = tuple(change(rule) for rule in page.rules)
    marks = tuple(change(mark) for mark in page.marks)
    return replace(page, lines=order_lines(words, size), rules=drawn, marks=marks)


def make_changes(seed: int) -> dict[str, Change]:
    rng = random.Random(seed)

    def move(box: Box) -> Box:
        return shift(box, rng.uniform(-MOVED, MOVED), rng.uniform(-MOVED, MOVED))

    def shift(box: Box, right: float, down: float) -> Box:
        return Box(box.x0 + right, box.y0 + down, box.x1 + right, box.y1 + down)

    def shrink(box: Box) -> Box:
        return Box(box.x0 * SIZE, box.y0 * SIZE, box.x1 * SIZE, box.y1 * SIZE)

    return {
        "moved": move,
        "smaller": shrink,
        "margins": lambda box: shift(box, *MARGINS),
        "font": set_in_other_font,
    }


def set_in_other_font(box: Box) -> Box:
    """The box of a word in a font of the same widths that reaches further up and down."""
    size = box.height / (ASCENTS[0] + DESCENTS[0])
    up, down = (size * (after - before) for before, after in (ASCENTS, DESCENTS))
    return Box(box.x0, box.y0 - up, box.x1, box.y1 + down)


def compare(pages: Sequence[Page], kind: str, *, name: str = "", seed: int = 1) -> Steadiness:
    """A document read as it is and after each change."""
    reader = READERS[kind]
    plain = reader(pages)
    changed: list[tuple[str, str, str | None, str | None]] = []
    changes = make_changes(seed)
    count = 0
    for label, change in changes.items():
        other = reader([redraw(page, change) for page in pages])
        paths = plain.keys() | other.keys()
        count += len(paths)
        changed += [
            (label, path, plain.get(path), other.get(path))
            for path in sorted(paths)
            if plain.get(path) != other.get(path)
        ]
    return Steadiness(name, count, tuple(changed))


def compare_file(path: Path, kind: str) -> Steadiness | None:
    """A file's steadiness; nothing for one that cannot be read, or is a scan."""
    tools = Tools(progress=lambda _percent, _stage: None)
    try:
        with open_document(io.BytesIO(path.read_bytes()), PDF, tools) as document:
            pages = list(document.pages)
    except DocmillError:
        return None
    if any(page.scanned for page in pages) or not any(page.lines for page in pages):
        return None
    return compare(pages, kind, name=path.name)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted(READERS))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    files = sorted((asked.folder or CORPUS / asked.kind).glob("*.pdf"))[: asked.most]
    with multiprocessing.Pool(2) as pool:
        found = [one for one in pool.map(partial(compare_file, kind=asked.kind), files) if one]
    print_steadiness(found, errors=asked.errors)
    return 0


def print_steadiness(found: Sequence[Steadiness], *, errors: bool) -> None:
    count = sum(one.count for one in found)
    wrong = sum(len(one.changed) for one in found)
    same = 100 * (1 - wrong / max(count, 1))
    print(f"{len(found)} documents, {count} values, {same:.2f} % the same")
    for label, number in Counter(change[0] for one in found for change in one.changed).items():
        print(f"  {label:8} {number} values differ")
    for one in found if errors else ():
        for label, path, before, after in one.changed[:6]:
            print(f"{one.name} {label} {path}: {before!r} -> {after!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
