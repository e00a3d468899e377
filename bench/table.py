"""`make bench`: docmill beside its peers and the bare limits, on this machine, in one run.

`python -m bench.table [--quick] [--only NAME]`; the figures go to bench/out/table.json as well.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console

from bench import (
    child_overhead,
    claims,
    end_to_end,
    long,
    memory,
    pages,
    queues,
    readers,
    search,
    statuses,
    uploads,
)
from bench.ground import ROOT, Ground, prepared
from docmill import __version__
from eval.rows import Row, draw_table

OUT: Final = ROOT / "bench" / "out"
console: Final = Console(width=150, highlight=False)

PARTS: Final[dict[str, Callable[[Ground], Iterator[Row]]]] = {
    "uploads": uploads.measure,
    "memory": memory.measure,
    "statuses": statuses.measure,
    "pages": pages.measure,
    "queues": queues.measure,
    "claims": claims.measure,
    "child": child_overhead.measure,
    "end_to_end": end_to_end.measure,
    "readers": readers.measure,
    "search": search.measure,
    "long": long.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer of everything, in a minute")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    given = parser.parse_args()
    # Whoever ends us early still has the server and its folder cleaned up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began, load = time.monotonic(), os.getloadavg()[0]
    with prepared(quick=given.quick) as ground:
        rows = [row for name in given.only or PARTS for row in _measured(name, ground)]
    seconds = time.monotonic() - began
    console.print(draw_table(rows))
    console.print(f"{_machine(load)}; {seconds:.0f} s in all{_warning(load)}")
    OUT.mkdir(exist_ok=True)
    facts = {"at": datetime.now(UTC).isoformat(), "version": __version__, "machine": _machine(load)}
    (OUT / "table.json").write_text(json.dumps(facts | {"rows": [*map(_plain, rows)]}, indent=1))


def _measured(name: str, ground: Ground) -> list[Row]:
    began = time.monotonic()
    rows: list[Row] = []
    for row in PARTS[name](ground):
        rows.append(row)
        console.print(f"{row.what}: {row.docmill}; {row.other}", style="dim")
    console.print(f"{name} took {time.monotonic() - began:.0f} s", style="dim")
    return rows


def _plain(row: Row) -> dict[str, Any]:
    return asdict(row)


def _machine(load: float) -> str:
    python = platform.python_version()
    return f"{os.cpu_count()} cores, Python {python}, {platform.system()}, load {load:.1f} before"


def _warning(load: float) -> str:
    busy = load > (os.cpu_count() or 1) / 2
    return ". The machine was busy with other things: trust the ratios alone" if busy else ""


if __name__ == "__main__":
    main()
