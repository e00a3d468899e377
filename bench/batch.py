"""Batches under fire: drivers and workers are killed with seeds, and every row is counted.

`python -m bench.batch [--documents 120] [--hostile 12] [--kills 6] [--seed 1] [--small]
[--engine NAME ...]`.
The engines `ray-data`, `spark` and `dask` are the programs of docs/operate/batch.md; one that can't
be imported is left out, and said so. The whole form has 2,000 documents, 200 of them hostile.
"""

import argparse
import hashlib
import importlib.util
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.ground import DOCMILL, ROOT
from docmill.batch.arrow import pa, pq
from docmill.batch.schema import MEASURED
from eval.pdf import make_pdf

CORPUS: Final = ROOT.parent / "shared" / "corpus"
GOOD: Final = ("invoices", "invoices_more", "invoices_id", "trades", "trades_more")
PIPELINE: Final = "extract"
LIMIT: Final = 3600.0
# Documents of the command that measures what a start costs.
FEW: Final = 4
DRIVER, ACTOR, READER = "driver", "actor", "reader"
# Ray gives up its own start after 30 s: on a busy machine the same command is given again.
STARTS: Final = 4
# What the programs of the page need to be imported.
PROGRAMS: Final = {"ray-data": "ray", "spark": "pyspark", "dask": "distributed"}
TITLES: Final = {"ray-data": "Ray Data", "spark": "Spark", "dask": "Dask"}
# A store that puts although there is something: the negative control.
CONTROL: Final = """
from docmill.storage.local import LocalStore
async def create(self, key, data):
    await self.put(key, data)
    return True
LocalStore.create = create
from docmill.cli import main
main()
"""


@dataclass(slots=True)
class Figures:
    """What was found wrong; nothing is as it should be."""

    wrong: list[str] = field(default_factory=list[str])

    def expect(self, fact: bool, what: str) -> None:
        print(f"  {'ok   ' if fact else 'WRONG'} {what}", flush=True)
        if not fact:
            self.wrong.append(what)


def make_documents(folder: Path, *, count: int, hostile: int, chance: random.Random) -> None:
    """No two with the same bytes: each bears a remark behind its end."""
    good = sorted(path for name in GOOD for path in (CORPUS / name).glob("*.pdf"))
    bad = sorted((CORPUS / "hostile").glob("*.pdf"))
    picked = [chance.choice(good) for _ in range(count - hostile)]
    picked += [bad[number % len(bad)] for number in range(hostile)]
    chance.shuffle(picked)
    for number, path in enumerate(picked):
        place = folder / f"{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:05d}.pdf").write_bytes(path.read_bytes() + b"\n%% %d\n" % number)


def make_letters(folder: Path, count: int) -> None:
    """Documents that cost next to nothing."""
    folder.mkdir(parents=True)
    for number in range(count):
        lines = [(72, 72, f"Letter number {number}"), (72, 100, f"Reference: R-{number:06}")]
        (folder / f"{number:05d}.pdf").write_bytes(make_pdf([lines]))


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """By key, without what two readings may differ in."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    rows = pa.concat_tables(tables).drop_columns(list(MEASURED)).to_pylist()
    return sorted(rows, key=lambda row: row["key"])


def words_of(source: Path, out: Path, engine: str, shard: int) -> list[str]:
    given = ["batch", str(source), str(out), "--pipeline", PIPELINE, "--engine", engine]
    return [*given, "--shard", str(shard), "--jobs", "2", "--json"]


def begin(words: list[str], log: Path, *, control: bool = False, **more: str) -> Any:
    start = [sys.executable, "-c", CONTROL] if control else [str(DOCMILL)]
    with log.open("ab") as said:
        return subprocess.Popen([*start, *words], stdout=said, stderr=said, env=os.environ | more)


def descendants(pid: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text()
        except OSError:
            continue
        parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(place.name))
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        yield from children
        waiting += children


def find_kind(pid: int) -> str | None:
    """What is killed besides drivers: an actor of Ray, or a fork server or one of its children."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    if words.startswith(b"ray::ShardActor"):
        return ACTOR
    return READER if b"docmill.sandbox.fork_server" in words else None


def find_workers(pid: int) -> dict[int, str]:
    return {each: kind for each in descendants(pid) if (kind := find_kind(each))}


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def end_tree(process: Any, pids: list[int]) -> None:
    """After its driver's death an engine goes by itself, or by us."""
    process.wait(LIMIT)
    until = time.monotonic() + 15
    while time.monotonic() < until and any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.2)
    for pid in pids:
        kill(pid)


class Hunt:
    """Runs one batch to its end, and kills on the way. Parts that were seen must stay."""

    def __init__(self, words: list[str], out: Path, log: Path, chance: random.Random) -> None:
        self._kinds: list[str] = [DRIVER, READER, *([ACTOR] if "ray" in words else [])]
        self.killed: Counter[str] = Counter()
        self.seen: dict[str, str] = {}
        self._words: list[str] = words
        self._out: Path = out
        self._log: Path = log
        self._chance: random.Random = chance

    def run(self, kills: int) -> int:
        process = begin(self._words, self._log)
        for turn in range(kills):
            if turn % len(self._kinds) == 0:
                self._chance.shuffle(self._kinds)
            process = self._strike(process, self._kinds[turn % len(self._kinds)])
        while (code := process.wait(LIMIT)) and self.killed["itself"] < STARTS:
            self.killed["itself"] += 1
            process = begin(self._words, self._log)
        self.look()
        return code

    def look(self) -> None:
        for path in (self._out / "parts").glob("*.parquet"):
            self.seen.setdefault(path.name, digest(path))

    def changed(self) -> int:
        return sum(digest(self._out / "parts" / name) != was for name, was in self.seen.items())

    def _strike(self, process: Any, kind: str) -> Any:
        """When a chosen number of parts has come since, or a while has gone by."""
        parts, pause = self._chance.randint(0, 2), self._chance.uniform(0.2, 2.0)
        before = len(self.seen)
        until = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < until:
            self.look()
            workers = find_workers(process.pid)
            if workers and len(self.seen) - before >= parts:
                break
            time.sleep(0.05)
        time.sleep(pause)
        if process.poll() is not None:
            return process
        workers = find_workers(process.pid)
        hit = sorted(pid for pid, found in workers.items() if found == kind)
        if hit:
            self.killed[kind] += 1
            kill(self._chance.choice(hit))
            return process
        self.killed[DRIVER] += 1
        pids = list(descendants(process.pid))
        process.kill()
        end_tree(process, pids)
        return begin(self._words, self._log)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_rows(figures: Figures, name: str, found: list[dict[str, Any]], calm: Any) -> None:
    keys = Counter(row["key"] for row in found)
    listed = {row["key"] for row in calm}
    figures.expect(keys.keys() == listed, f"{name}: {len(keys)} of {len(listed)} documents, 0 lost")
    figures.expect(max(keys.values()) == 1, f"{name}: each once ({sum(keys.values())} rows)")
    pairs = zip(found, calm, strict=False)
    differ = [was["key"] for row, was in pairs if row != was]
    figures.expect(not differ, f"{name}: rows equal to those of a calm run {differ[:3]}")


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of a command with all its processes, its start included."""

    wall: float
    cpu: float


def time_command(*words: str | Path) -> Pace:
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([DOCMILL, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Pace(time.monotonic() - began, cpu)


def check_pace(figures: Figures, source: Path, folder: Path) -> None:
    """By the CPU of one more document: what either costs with few is taken off.

    The clock is told and not judged: on a shared machine it measures the neighbours.
    """
    few = folder / "start"
    make_letters(few, FEW)
    spent = {
        (name, place): [
            time_command(*words)
            for turn in range(1 if place == source else STARTS)
            for words in [command(place, folder / f"{name}-{place.name}-{turn}")]
        ]
        for place in (few, source)
        for name, command in (("read", words_to_read), ("batch", words_to_batch))
    }
    (folder / f"batch-{source.name}-0").rename(folder / "calm")
    wall = [sum(one.wall for one in spent[name, source]) for name in ("read", "batch")]
    cpu = [
        sum(one.cpu for one in spent[name, source]) - median(one.cpu for one in spent[name, few])
        for name in ("read", "batch")
    ]
    print(f"docmill read {wall[0]:.1f} s ({cpu[0]:.1f} s of CPU without its start),", end=" ")
    print(f"docmill batch {wall[1]:.1f} s ({cpu[1]:.1f} s of CPU)")
    ratio = cpu[0] / cpu[1]
    says = f"pace: {ratio:.2f} of docmill read by CPU (at least 0.85),"
    figures.expect(ratio > 0.85, f"{says} {wall[0] / wall[1]:.2f} by the clock")


def words_to_read(source: Path, out: Path) -> list[str]:
    return ["read", PIPELINE, str(source), "--out", str(out), "--jobs", "2"]


def words_to_batch(source: Path, out: Path) -> list[str]:
    return words_of(source, out, "local", 50)


def drill_late_worker(source: Path, folder: Path, *, control: bool) -> bool:
    """A driver stops before its first put, another ends the batch, it wakes. Parts as before?"""
    out, log = folder / "out", folder / "log"
    folder.mkdir()
    words = words_of(source, out, "local", 5)
    late = begin(words, log, control=control, DOCMILL_FAILPOINTS="batch.read=stop")
    while "T (stopped)" not in Path(f"/proc/{late.pid}/status").read_text():
        time.sleep(0.05)
    begin(words, log, control=control).wait(LIMIT)
    before = {path.name: digest(path) for path in (out / "parts").iterdir()}
    while late.poll() is None:
        late.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    return before == {path.name: digest(path) for path in (out / "parts").iterdir()}


def run_program(engine: str, source: Path, folder: Path) -> Path:
    """The program of the page, as it stands there."""
    page = (ROOT / "docs" / "operate" / "batch.md").read_text()
    text = page.partition(f"\n{TITLES[engine]}")[2].partition("```python\n")[2].partition("```")[0]
    program, out = folder / "read.py", folder / "out"
    folder.mkdir()
    program.write_text(text)
    with (folder / "log").open("wb") as log:
        words = [sys.executable, program, source, out]
        subprocess.run(words, check=True, stdout=log, stderr=log, timeout=LIMIT)
    return out


def hunt_engines(given: Any, source: Path, folder: Path, figures: Figures, calm: Any) -> None:
    for engine in ("local", "ray"):
        if engine not in given.engine or (engine == "ray" and not importable("ray")):
            continue
        out = folder / engine
        words = words_of(source, out, engine, max(2, given.documents // 24))
        hunt = Hunt(words, out, folder / f"{engine}.log", random.Random(given.seed))
        began = time.monotonic()
        code = hunt.run(given.kills)
        print(f"{engine}: killed {dict(hunt.killed)}, {time.monotonic() - began:.0f} s")
        figures.expect(code == 0, f"{engine}: it came to its end ({code})")
        aims = {DRIVER, READER, ACTOR} if engine == "ray" else {DRIVER, READER}
        figures.expect(aims <= {*hunt.killed}, f"{engine}: each of {sorted(aims)} was killed")
        check_rows(figures, engine, read_rows(out / "parts"), calm)
        figures.expect(not hunt.changed(), f"{engine}: {len(hunt.seen)} parts, none changed")


def importable(module: str) -> bool:
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"{module} is not installed: uv pip install -r requirements-engines.lock")
    return found


def run_programs(given: Any, source: Path, folder: Path, figures: Figures, calm: Any) -> None:
    for engine, module in PROGRAMS.items():
        if engine not in given.engine or not importable(module):
            continue
        began = time.monotonic()
        out = run_program(engine, source, folder / engine)
        print(f"{engine}: {time.monotonic() - began:.0f} s")
        check_rows(figures, engine, read_rows(out), calm)


def compare(given: Any, folder: Path) -> Figures:
    figures, source = Figures(), folder / "in"
    chance = random.Random(given.seed)
    if given.small:
        make_letters(source / "letters", given.documents - given.hostile)
    count = given.hostile if given.small else given.documents
    make_documents(source, count=count, hostile=given.hostile, chance=chance)
    check_pace(figures, source, folder)
    calm = read_rows(folder / "calm" / "parts")
    figures.expect(len(calm) == given.documents, f"calm: {len(calm)} documents")
    print(dict(Counter(row["code"] or "ok" for row in calm)))
    hunt_engines(given, source, folder, figures, calm)
    run_programs(given, source, folder, figures, calm)
    few = folder / "few"
    make_documents(few, count=20, hostile=2, chance=chance)
    kept = drill_late_worker(few, folder / "late", control=False)
    figures.expect(kept, "a driver that comes late changes no part")
    kept = drill_late_worker(few, folder / "control", control=True)
    figures.expect(not kept, "negative control: without put-if-absent it does")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--hostile", type=int, default=12)
    parser.add_argument("--small", action="store_true", help="one-page letters, but the hostile")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", nargs="*", default=["local", "ray", *PROGRAMS])
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="docmill-batch-"))
    figures = compare(given, folder)
    if figures.wrong:
        sys.exit(f"{len(figures.wrong)} wrong; see {folder}")
    shutil.rmtree(folder)
    print("all as it should be")


if __name__ == "__main__":
    main()
