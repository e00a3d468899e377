"""Blocks of lines that stand under each other: letterheads, addresses, footers."""

import re
from dataclasses import dataclass
from typing import Final

from docmill.pipelines.invoice.layout import Cell, Sheet
from docmill.pipelines.invoice.lexicon import SHIP, fold

MAX_LINES: Final = 12
ALIGNED: Final = 4.0
LEADING: Final = 1.9
_ADDRESS: Final = re.compile(
    r"(?<!\d)(?:[A-Z]{1,2}-)?\d{5}(?!\d)|(?<!\d)\d{4} [A-Z]|str(?:\.|aße|asse)|street|\brue\b"
    r"|jalan|\bjl\b|road\b|avenue|\bave\b|weg \d|allee|platz|calle|kota |jakarta|indonesia"
    r"|deutschland|germany|france|kav\b|blok\b|\brt\b|kec\.|kel\.|\bblvd|suite|floor|lantai|gedung"
    r"|\d{3} \d{2} ",
    re.IGNORECASE,
)
_CONTACT: Final = re.compile(
    r"\btel|\bt[ée]l\b|\btfno|\bfon\b|phone|telp|\bfax|e-?mail|www\.|https?:|@|\biban|\bbic\b|swift|siret"
    r"|\bhrb|\bbank|gesch[äa]ftsf|capital|\bhp/wa",
    re.IGNORECASE,
)
_TAXED: Final = re.compile(r"\bust|\bvat|npwp|\btva\b|gstin|\bcif\b|\bnif\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines under each other, and what they speak of."""

    cells: tuple[Cell, ...]
    above: Cell | None

    @property
    def text(self) -> str:
        return "\n".join(cell.text for cell in self.cells)

    @property
    def address(self) -> bool:
        return len(self.cells) > 1 and bool(
            _ADDRESS.search("\n".join(c.text for c in self.cells[1:]))
        )

    @property
    def contact(self) -> float:
        """How much it says of how to reach or pay somebody; a tax number alone says less."""
        return 1.0 if _CONTACT.search(self.text) else 0.5 if _TAXED.search(self.text) else 0.0

    @property
    def ship(self) -> bool:
        """Whether it is where goods go to."""
        heads = [self.cells[0].text, self.above.text if self.above else ""]
        return any(SHIP.fullmatch(fold(head.partition(":")[0])) for head in heads)


def blocks_of(sheet: Sheet) -> list[Block]:
    """Every run of two lines or more with one left, right or middle edge."""
    blocks: list[Block] = []
    taken: set[int] = set()
    cells = [cell for _, _, cell in sheet.cells]
    for at, cell in enumerate(cells):
        if id(cell) in taken:
            continue
        run = _run(cells, at)
        if len(run) > 1:
            taken |= {id(member) for member in run}
            blocks.append(Block(tuple(run), _over(cells[max(at - 12, 0) : at], cell)))
    return blocks


def _over(before: list[Cell], cell: Cell) -> Cell | None:
    """The nearest cell above that shares some width."""
    for other in reversed(before):
        apart = cell.box.middle - other.box.middle
        if (
            other.page == cell.page
            and 2 < apart < 3.5 * cell.box.height
            and _over_each_other(other, cell)
        ):
            return other
    return None


def _over_each_other(cell: Cell, other: Cell) -> bool:
    return cell.box.x0 < other.box.x1 and cell.box.x1 > other.box.x0


def _run(cells: list[Cell], at: int) -> list[Cell]:
    run = [cells[at]]
    for cell in cells[at + 1 :]:
        last = run[-1]
        if cell.page != last.page or cell.box.middle - last.box.middle > LEADING * last.box.height:
            break
        if cell.box.y0 < last.box.middle or not _aligned(cell, last):
            continue
        run.append(cell)
        if len(run) == MAX_LINES:
            break
    return run


def _aligned(cell: Cell, last: Cell) -> bool:
    left = abs(cell.box.x0 - last.box.x0) < ALIGNED
    right = abs(cell.box.x1 - last.box.x1) < ALIGNED
    middle = abs(cell.box.x0 + cell.box.x1 - last.box.x0 - last.box.x1) < ALIGNED
    return left or right or middle
