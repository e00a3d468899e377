"""Feeds damaged PDFs to every pipeline in confined children, and counts how they end.

`python -m bench.fuzz --files 2000 --seed 1`: an ending without a code of its own is a failure.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from docmill.core import installed
from docmill.core.plugins import PDF
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, Task
from docmill.sandbox.pool import SandboxPool

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
UNCLASSIFIED: Final = frozenset({"UNKNOWN", "CRASHED"})
LONGEST_SEED: Final = 400_000

Mutation = Callable[[bytearray, random.Random], None]


def flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 40)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    del data[start : start + chance.randint(1, max(2, len(data) // 4))]


def repeat(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    piece = data[start : start + chance.randint(1, 2000)]
    place = chance.randrange(len(data))
    data[place:place] = piece * chance.randint(1, 5)


def truncate(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(1, len(data)) :]


def renumber(data: bytearray, chance: random.Random) -> None:
    """Numbers are lengths, offsets and counts: make some of them absurd."""
    digits = [index for index, byte in enumerate(data) if 48 <= byte <= 57]
    for _ in range(chance.randint(1, 10)):
        if digits:
            data[chance.choice(digits)] = 48 + chance.randrange(10)


MUTATIONS: Final[tuple[Mutation, ...]] = (flip, cut, repeat, truncate, renumber)


def seeds() -> list[bytes]:
    """Real documents where the corpus is at hand, else a page of our own."""
    found = [path for path in sorted(CORPUS.glob("*/*.pdf")) if path.stat().st_size < LONGEST_SEED]
    if found:
        return [path.read_bytes() for path in found[:: max(1, len(found) // 60)]]
    page = b"BT /F1 12 Tf 50 700 Td (Invoice No: 17) Tj ET"
    return [b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n" + page + b"\n%%EOF"]


def mutants(count: int, seed: int) -> Iterator[bytes]:
    chance, known = random.Random(seed), seeds()
    for _ in range(count):
        data = bytearray(chance.choice(known))
        for _ in range(chance.randint(1, 3)):
            if len(data) > 1:
                chance.choice(MUTATIONS)(data, chance)
        yield bytes(data) or b"%PDF-"


async def feed(sandbox: SandboxPool, name: str, data: bytes) -> str:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        document = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY)
        try:
            ran = await sandbox.run(Task(name, "fuzz.pdf", PDF), document, lambda *_: None)
        finally:
            os.close(document)
    return f"{ran.code} {ran.detail}" if isinstance(ran, RunFailed) else "result"


async def fuzz(count: int, seed: int) -> Counter[str]:
    names = [
        name for name in installed.find_installed() if PDF in installed.load_pipeline(name).accepts
    ]
    endings: Counter[str] = Counter()
    limits = RunLimits(stall=timedelta(seconds=20), cpu=timedelta(seconds=60))
    async with SandboxPool(limits, pipelines=names) as sandbox:
        for number, data in enumerate(mutants(count, seed)):
            for name in names:
                ending = await feed(sandbox, name, data)
                code = ending.split(" ", 1)[0]
                endings[code] += 1
                if code in UNCLASSIFIED:
                    kept = Path(tempfile.gettempdir()) / f"docmill-fuzz-{seed}-{number}.pdf"
                    kept.write_bytes(data)
                    print(f"{name}: {ending} (kept as {kept})")
    return endings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.files} files")
    began = time.monotonic()
    endings = asyncio.run(fuzz(given.files, given.seed))
    for code, times in endings.most_common():
        print(f"{code:16} {times}")
    bad = sum(endings[code] for code in UNCLASSIFIED)
    print(f"{bad} unclassified, {time.monotonic() - began:.0f} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
