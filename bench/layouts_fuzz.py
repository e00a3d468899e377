"""Feeds pages of strange layouts to every pipeline in confined children, and counts how they end.

`python -m bench.layouts_fuzz --pages 500 --seed 1`: an ending without a code of its own, or a page
that takes more than `SLOW` seconds of the processor, is a failure.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from math import cos, radians, sin
from pathlib import Path
from typing import Any, Final

from docmill.core import field_request, installed, plugins
from docmill.core.plugins import PDF
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, RunOutcome, Task
from docmill.sandbox.pool import SandboxPool
from eval.pdf import A4, assemble, packed

READERS: Final = ("invoice", "trades", "extract", "study")
CLASSIFIED: Final = frozenset({"result", "BAD_PDF"})
SLOW: Final = 10.0  # seconds of the processor for one page
MANY: Final = 10_000
ASKED: Final = "invoice_no:id,total:amount,due:date,seller,shipped:yes/no"
WORDS: Final = (
    "Invoice", "Rechnung", "Facture", "No.", "Nr.", "Date", "Datum", "Total", "Summe", "Net",
    "VAT", "MwSt.", "19%", "21 %", "Qty", "Price", "Amount", "Bill", "to", "From:", "Acme", "GmbH",
    "Ltd", "IBAN", "DE89370400440532013000", "US0378331005", "Buy", "Kauf", "Stück", "Kurs",
    "Valuta", "EUR", "€", "$", "USD", "12.50", "1.234,56", "-3", "0,00", "17", "03.04.2025",
    "2025-02-28", "April 5, 2025", "(7)", "•", "—", "/", ":", "a", "I", "x", "The", "shipment",
    "of", "goods", "was", "delivered", "on", "time.", "Ärger", "É", "№", "1", "(", "'", "%",
)  # fmt: skip
HEBREW: Final = 0x05D0
LETTERS: Final = "".join(map(chr, range(HEBREW, HEBREW + 27)))


@dataclass(frozen=True, slots=True)
class Mark:
    """A text that starts at x, y from the bottom left, turned by `angle` against the clock.

    `spacing` is added to each letter, `stretch` is its width in percent, `font` F1 to F3.
    """

    x: float
    y: float
    text: str
    size: float = 10.0
    angle: float = 0.0
    spacing: float = 0.0
    stretch: float = 100.0
    font: int = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """One page: its marks, the lines drawn on it, and what its dictionary says besides."""

    marks: list[Mark] = field(default_factory=list[Mark])
    rules: list[tuple[float, float, float, float]] = field(
        default_factory=list[tuple[float, float, float, float]]
    )
    entries: list[str] = field(default_factory=list[str])


Kind = Callable[[Layout, random.Random], None]


def spaced_letters(page: Layout, chance: random.Random) -> None:
    """Headings set letter by letter, some evenly, some not."""
    for _ in range(chance.randint(1, 6)):
        text = " ".join(chance.choices(("INVOICE", "FACTURA", "Rechnung", "Nr. 17", "A B C"), k=2))
        gap = " " * chance.randint(1, 3)
        page.marks.append(
            Mark(
                chance.uniform(0, 300), chance.uniform(50, 800), gap.join(text),
                chance.choice((6, 10, 24, 40, 90)), font=chance.randint(1, 3),
            )
        )  # fmt: skip
    x, y = chance.uniform(20, 200), chance.uniform(50, 800)
    page.marks.append(Mark(x, y, "INVOICE", 24, spacing=chance.uniform(-5, 40)))


def one_letter_lines(page: Layout, chance: random.Random) -> None:
    """Lines and columns of single characters."""
    pitch, size = chance.choice((4, 12, 30)), chance.choice((8, 12, 50))
    for row in range(chance.randint(1, 60)):
        for column in range(chance.choice((1, 1, 2, 8))):
            text = chance.choice("ABCIOYXab1%.,:-•/€")
            page.marks.append(Mark(40 + column * pitch, 800 - row * pitch, text, size))


def empty_cells(page: Layout, chance: random.Random) -> None:
    """A ruled table with more empty cells than filled ones."""
    rows, columns = chance.randint(1, 30), chance.randint(1, 12)
    width, height = 500 / columns, chance.choice((3.0, 14.0, 25.0))
    top = chance.uniform(300, 830)
    for row in range(rows + 1):
        page.rules.append((40, top - row * height, 540, top - row * height))
    for column in range(columns + 1):
        x = 40 + column * width
        page.rules.append((x, top, x, top - rows * height))
    for row in range(rows):
        for column in range(columns):
            if chance.random() < 0.3:
                y = top - (row + 0.8) * height
                page.marks.append(Mark(42 + column * width, y, chance.choice(WORDS), 9))


def turned_text(page: Layout, chance: random.Random) -> None:
    angle = chance.choice((90, 180, 270, 45, 1, 359, chance.uniform(0, 360)))
    for row in range(chance.randint(1, 30)):
        text = " ".join(chance.choices(WORDS, k=chance.randint(1, 6)))
        page.marks.append(Mark(300, 800 - 20 * row, text, 10, angle))


def zero_widths(page: Layout, chance: random.Random) -> None:
    """Text without width or height, mirrored or hair-thin."""
    for _ in range(chance.randint(1, 30)):
        page.marks.append(
            Mark(
                chance.uniform(0, 595), chance.uniform(0, 842), chance.choice(WORDS),
                chance.choice((0, 0.001, 0.5, -10, 10)), stretch=chance.choice((0, 0.01, -100, 1)),
            )
        )  # fmt: skip


def one_word(page: Layout, chance: random.Random) -> None:
    page.marks.append(Mark(chance.uniform(0, 595), chance.uniform(0, 842), chance.choice(WORDS)))


def overlaps(page: Layout, chance: random.Random) -> None:
    """Many texts in one place, with shadows."""
    x, y = chance.uniform(50, 300), chance.uniform(100, 700)
    for _ in range(chance.randint(2, 60)):
        near = x + chance.uniform(-3, 3), y + chance.uniform(-3, 3)
        page.marks.append(Mark(*near, chance.choice(WORDS), chance.choice((10, 10, 11, 30))))


def at_the_edges(page: Layout, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 40)):
        x = chance.choice((-1e6, -20, -0.001, 0, 0.001, 594.99, 595, 700, 1e6))
        y = chance.choice((-1e6, -5, 0, 0.001, 841.99, 842, 850, 1e6))
        page.marks.append(Mark(x, y, chance.choice(WORDS), chance.choice((4, 10, 60))))


def right_to_left(page: Layout, chance: random.Random) -> None:
    """Hebrew, between Latin words and figures."""
    for row in range(chance.randint(1, 30)):
        letters = [chance.choice(LETTERS) for _ in range(chance.randint(1, 30))]
        text = "".join(chance.choice((letter, letter, f"{letter} ")) for letter in letters)
        page.marks.append(Mark(chance.uniform(50, 300), 800 - 16 * row, text, 10))
        page.marks.append(Mark(chance.uniform(300, 500), 800 - 16 * row, chance.choice(WORDS), 10))


def huge_fonts(page: Layout, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 10)):
        size = chance.choice((100, 500, 3000, 30_000))
        page.marks.append(
            Mark(chance.uniform(-500, 500), chance.uniform(-500, 800), chance.choice(WORDS), size)
        )


def crop_boxes(page: Layout, chance: random.Random) -> None:
    """Pages that begin below nought, are turned, or show next to nothing."""
    boxes = ((-300, -400, 300, 400), (10, 10, 11, 11), (-50, 100, 595, 2000), (595, 842, 0, 0))
    page.entries.append(f"/CropBox [{' '.join(map(str, chance.choice(boxes)))}]")
    page.entries.append(f"/Rotate {chance.choice((0, 90, 180, 270, -90, 450, 7))}")
    for _ in range(chance.randint(1, 40)):
        x, y = chance.uniform(-300, 595), chance.uniform(-400, 842)
        page.marks.append(Mark(x, y, chance.choice(WORDS)))


def invoice_like(page: Layout, chance: random.Random) -> None:
    """Labels, values and lines of a table, in columns that do not quite hold."""
    for row in range(chance.randint(3, 40)):
        for x in (40, 200, 330, 420, 500)[: chance.randint(1, 5)]:
            text = " ".join(chance.choices(WORDS, k=chance.randint(1, 3)))
            page.marks.append(Mark(x + chance.uniform(-8, 8), 800 - 18 * row, text, 9))


KINDS: Final[tuple[Kind, ...]] = (
    spaced_letters, one_letter_lines, empty_cells, turned_text, zero_widths, one_word, overlaps,
    at_the_edges, right_to_left, huge_fonts, crop_boxes, invoice_like,
)  # fmt: skip


def _grid(chance: random.Random) -> Iterator[Mark]:
    for at in range(MANY):
        yield Mark(5 + at % 100 * 5.9, 838 - at // 100 * 8.3, chance.choice(WORDS), 2)


def _figures(_: random.Random) -> Iterator[Mark]:
    for at in range(MANY):
        yield Mark(5 + at % 50 * 11.8, 840 - at // 50 * 4.2, f"{at % 97}.{at % 100:02}", 3)


def _letters(chance: random.Random) -> Iterator[Mark]:
    for at in range(MANY):
        yield Mark(5 + at % 100 * 5.9, 838 - at // 100 * 8.3, chance.choice("ABEINOTXY"), 4)


def _one_place(chance: random.Random) -> Iterator[Mark]:
    for _ in range(MANY):
        yield Mark(300, 400, chance.choice(WORDS))


def _one_row(chance: random.Random) -> Iterator[Mark]:
    for at in range(MANY):
        yield Mark(at * 0.059, 400, chance.choice(WORDS), 0.05)


def _one_column(chance: random.Random) -> Iterator[Mark]:
    for at in range(MANY):
        yield Mark(50, 841 - at * 0.084, chance.choice(WORDS), 0.08)


def _anywhere(chance: random.Random) -> Iterator[Mark]:
    for _ in range(MANY):
        size = chance.choice((3, 6, 20))
        yield Mark(chance.uniform(0, 590), chance.uniform(0, 840), chance.choice(WORDS), size)


def _prose(chance: random.Random) -> Iterator[Mark]:
    for at in range(MANY // 10):
        text = " ".join(chance.choices(WORDS, k=10))
        yield Mark(5 + at % 5 * 118, 840 - at // 5 * 4.2, text, 2.5)


def _initials(chance: random.Random) -> Iterator[Mark]:
    for at in range(MANY):
        x, y = 5 + at % 100 * 5.9, 838 - at // 100 * 8.3
        yield Mark(x, y, chance.choice("BCDN"), 8) if at % 3 == 0 else Mark(x, y, "rest", 2)


def _turned(chance: random.Random) -> Iterator[Mark]:
    for at in range(MANY):
        angle = chance.choice((90, 180, 270, *range(0, 360, 7)))
        yield Mark(5 + at % 100 * 5.9, 838 - at // 100 * 8.3, chance.choice(WORDS), 3, angle)


CROWDS: Final[tuple[Callable[[random.Random], Iterator[Mark]], ...]] = (
    _grid, _figures, _letters, _one_place, _one_row, _one_column, _anywhere, _prose, _initials,
    _turned,
)  # fmt: skip


def strange(seed: int | str) -> Layout:
    """A page of one to four kinds."""
    chance = random.Random(seed)
    page = Layout()
    for kind in chance.choices(KINDS, k=chance.randint(1, 4)):
        kind(page, chance)
    return page


def crowded(seed: int, at: int) -> Layout:
    """A page of 10,000 words."""
    return Layout(list(CROWDS[at % len(CROWDS)](random.Random(seed))))


def drawn(layouts: Sequence[Layout]) -> bytes:
    """A PDF of these pages; F4 is a Hebrew font."""
    names = " ".join(f"/uni{HEBREW + at:04X}" for at in range(27))
    encoding = f"<< /Type /Encoding /Differences [65 {names}] >>"
    plain = "/WinAnsiEncoding"
    fonts = (("Helvetica", plain), ("Times-Roman", plain), ("Courier", plain))
    told = " ".join(
        f"/F{at} << /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding {code} >>"
        for at, (name, code) in enumerate((*fonts, ("Helvetica", encoding)), 1)
    )
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(layouts)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(layouts)} >>".encode(),
    ]
    for at, layout in enumerate(layouts):
        box = f"/MediaBox [0 0 {A4[0]:g} {A4[1]:g}] {' '.join(layout.entries)}"
        resources = f"/Resources << /Font << {told} >> >> /Contents {4 + 2 * at} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} {resources} >>".encode())
        objects.append(packed(_content(layout)))
    return assemble(objects)


def _content(layout: Layout) -> bytes:
    lines = [b"%f %f m %f %f l S" % rule for rule in layout.rules]
    return b"\n".join([*lines, b"BT", *map(_shown, layout.marks), b"ET"])


def _shown(mark: Mark) -> bytes:
    turn = radians(mark.angle)
    across, up = cos(turn), sin(turn)
    hebrew = any(char in LETTERS for char in mark.text)
    text = _hebrew(mark.text) if hebrew else mark.text.encode("cp1252", "replace")
    for special in (b"\\", b"(", b")"):
        text = text.replace(special, b"\\" + special)
    font = 4 if hebrew else mark.font
    state = b"/F%d %f Tf %f Tc %f Tz" % (font, mark.size, mark.spacing, mark.stretch)
    place = b"%f %f %f %f %f %f Tm" % (across, up, -up, across, mark.x, mark.y)
    return b"%s %s (%s) Tj" % (state, place, text)


def _hebrew(text: str) -> bytes:
    return bytes(LETTERS.index(char) + 65 if char in LETTERS else 32 for char in text)


async def feed(sandbox: SandboxPool, task: Task, data: bytes) -> RunOutcome:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        document = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY)
        try:
            return await sandbox.run(task, document, lambda _percent, _stage: None)
        finally:
            os.close(document)


def tasks() -> Iterator[Task]:
    known = installed.find_installed()
    for name in READERS:
        if name in known:
            wanted: Mapping[str, Any] = {}
            if plugins.takes_fields(installed.load_pipeline(name)):
                wanted = {field_request.OPTION: field_request.parse_fields(ASKED)}
            yield Task(name, "fuzz.pdf", PDF, options=wanted)


def pages(count: int, seed: int) -> Iterator[Layout]:
    """Every crowd once, then strange pages."""
    for at in range(min(len(CROWDS), count)):
        yield crowded(seed, at)
    for at in range(count - len(CROWDS)):
        yield strange(f"{seed}:{at}")


async def fuzz(count: int, seed: int) -> tuple[Counter[str], float]:
    """How the runs ended, and what the slowest took."""
    endings: Counter[str] = Counter()
    slowest = 0.0
    known = list(tasks())
    limits = RunLimits(stall=timedelta(seconds=60), total=timedelta(seconds=120))
    async with SandboxPool(limits, pipelines=[task.pipeline for task in known]) as sandbox:
        for number, layout in enumerate(pages(count, seed)):
            data = drawn([layout])
            for task in known:
                ran = await feed(sandbox, task, data)
                seconds = ran.usage.cpu_ms / 1000
                slowest = max(slowest, seconds)
                ending = ran.code if isinstance(ran, RunFailed) else "result"
                ending = "SLOW" if seconds > SLOW else ending
                endings[ending] += 1
                if ending not in CLASSIFIED:
                    kept = Path(tempfile.gettempdir()) / f"docmill-layout-{seed}-{number}.pdf"
                    kept.write_bytes(data)
                    why = f"{ran.code} {ran.detail}" if isinstance(ran, RunFailed) else ""
                    print(f"{task.pipeline}: {ending} {seconds:.1f} s {why} (kept as {kept})")
    return endings, slowest


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.pages} pages")
    began = time.monotonic()
    endings, slowest = asyncio.run(fuzz(given.pages, given.seed))
    for code, times in endings.most_common():
        print(f"{code:16} {times}")
    bad = sum(times for code, times in endings.items() if code not in CLASSIFIED)
    print(f"{bad} unclassified, slowest {slowest:.1f} s, {time.monotonic() - began:.0f} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
