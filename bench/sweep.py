"""Kills the sweep of retention again and again, and looks for what is gone too early or left over.

Rows and files are made in bulk, of every kind that retention must tell apart. With
`--control forget` the notes of a removal are forgotten before the bytes go, with `--control hasty`
everything counts as due: both must be found out.
"""

import argparse
import asyncio
import gzip
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import psycopg

from bench import crew
from docmill.core import failpoints
from docmill.core.retention import RetentionRules
from docmill.db import embedded, migrate
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import open_pool
from docmill.jobs import retention, sweep
from docmill.queue import leases
from docmill.queue.rescue import Upkeep
from docmill.storage.local import LocalStore

RULES: Final = RetentionRules(pipelines={"results": {"study": None}})
POINTS: Final = ("expire.noted", "expire.deleted", "expire.forgotten", "archive.stored")
# One deletion of so many is a kill, where kills come by the deletion.
SELDOM: Final = 60
KEEP_EVENTS: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Kind:
    """Documents of a kind: their age in days, and whether upload and result outlive the sweep."""

    name: str
    days: float
    share: float
    upload: bool
    result: bool
    pipeline: str = "extract"
    owner: str = "user:ann"
    source: str = "upload"
    status: str = "complete"


# Shares are of --documents: what is past retention counts as 1 in all.
KINDS: Final = (
    Kind("old", 40, 0.55, upload=False, result=False),
    Kind("half", 20, 0.25, upload=False, result=True),
    Kind("of an owner who keeps less", 2, 0.1, upload=False, result=False, owner="user:brief"),
    Kind("failed", 40, 0.1, upload=False, result=True, status="failed"),
    Kind("young", 6.9, 0.3, upload=True, result=True),
    Kind("of an owner who keeps more", 40, 0.1, upload=True, result=True, owner="user:long"),
    Kind("with a trade", 40, 0.05, upload=True, result=False, pipeline="trades"),
    Kind("from a bucket", 40, 0.05, upload=True, result=False, source="bucket"),
    Kind("study", 40, 0.05, upload=False, result=True, pipeline="study"),
    Kind("waiting", 40, 0.05, upload=True, result=True, status="queued"),
)
OWNERS: Final = """
INSERT INTO owners (owner) SELECT unnest(ARRAY['user:ann', 'user:brief', 'user:long'])
"""
OWN_RULES: Final = """
INSERT INTO retention_rules (owner, uploads_days, results_days, set_by)
VALUES ('user:brief', 1, 1, 'bench'), ('user:long', 365, 365, 'bench')
"""
DOCUMENTS: Final = """
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key, created_at, expires_at)
SELECT md5(%(name)s || n)::uuid, %(owner)s, repeat('0', 64), 4, 'application/pdf', 'a.pdf',
       %(source)s, 'uploads/' || md5(%(name)s || n), now() - %(age)s,
       CASE WHEN %(source)s <> 'bucket' THEN now() - %(age)s + interval '7 days' END
  FROM generate_series(1, %(count)s) n
"""
JOBS: Final = """
INSERT INTO jobs (id, document_id, owner, pipeline, status, progress, start_tag, created_at,
                  updated_at, queued_at, started_at, completed_at, failed_at, result_key,
                  expires_at, error_code, error_message, claim, attempt_count)
SELECT md5(%(name)s || n)::uuid, md5(%(name)s || n)::uuid, %(owner)s, %(pipeline)s, %(status)s, 100,
       n, now() - %(age)s, now() - %(age)s - (%(place)s * 1000000 + n) * interval '1 microsecond',
       now() - %(age)s, now() - %(age)s,
       CASE WHEN %(status)s = 'complete' THEN now() - %(age)s END,
       CASE WHEN %(status)s = 'failed' THEN now() - %(age)s END,
       CASE WHEN %(status)s = 'complete' THEN 'results/' || md5(%(name)s || n) END,
       CASE WHEN %(status)s = 'complete' THEN now() - %(age)s + interval '30 days' END,
       CASE WHEN %(status)s = 'failed' THEN 'BAD_PDF' END,
       CASE WHEN %(status)s = 'failed' THEN 'damaged' END, 1, 1
  FROM generate_series(1, %(count)s) n
"""
RESULTS: Final = """
INSERT INTO results (job_id, claim, form, key, content_type, bytes, stored_bytes, sha256, version)
SELECT id, 1, 'data', result_key, 'application/json', 4, 4, repeat('0', 64), '1'
  FROM jobs WHERE result_key IS NOT NULL
"""
TRADES: Final = """
INSERT INTO trades (document_id, job_id, owner, position, direction, confidence_score)
SELECT document_id, id, owner, 0, 'buy', 1 FROM jobs WHERE pipeline = 'trades'
"""
EVENTS: Final = """
INSERT INTO job_events (job_id, kind, at)
SELECT id, 'created', now() - CASE WHEN status = 'failed' THEN interval '100 days' ELSE interval '80 days' END
  FROM jobs
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Scene:
    url: str
    folder: Path
    documents: int
    control: str = ""
    batch: int = sweep.BATCH

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def count(self, kind: Kind) -> int:
        return max(1, round(kind.share * self.documents))


def fill(scene: Scene) -> None:
    with psycopg.connect(scene.url) as conn:
        conn.execute("SET LOCAL session_replication_role = replica")
        conn.execute(OWNERS)
        conn.execute(OWN_RULES)
        for place, kind in enumerate(KINDS):
            args = {
                "place": place, "name": kind.name, "owner": kind.owner, "source": kind.source,
                "age": timedelta(days=kind.days), "pipeline": kind.pipeline,
                "status": kind.status, "count": scene.count(kind),
            }  # fmt: skip
            conn.execute(DOCUMENTS, args)
            conn.execute(JOBS, args)
        for statement in (RESULTS, TRADES, EVENTS):
            conn.execute(statement)
        found = conn.execute("SELECT upload_key FROM documents UNION ALL SELECT key FROM results")
        keys = [row[0] for row in found]
    for name in ("uploads", "results"):
        (scene.store / name).mkdir(parents=True)
    for key in keys:
        (scene.store / key).write_bytes(b"%PDF")


def sweep_once(scene: Scene, points: str) -> None:
    """In a fork: the real sweep, which dies where the failpoints say."""
    crew.hush()
    failpoints.arm(points)
    patched: dict[str, Any] = sweep.__dict__
    patched["BATCH"] = scene.batch
    if scene.control == "forget":
        patched["remove_noted"] = _forget_first
    asyncio.run(_sweep(scene))


async def _sweep(scene: Scene) -> None:
    rules = RULES
    if scene.control == "hasty":
        rules = RetentionRules(
            pressure=-1, pressed_uploads=timedelta(), pressed_results=timedelta()
        )
    async with open_pool(scene.url, size=2) as pool:
        work, changes = Notifier(pool, WORK), Notifier(pool, CHANGES)
        upkeep = Upkeep(
            pool, LocalStore(scene.store), work, changes, crew.RULES, leases.identify(),
            keep_events=KEEP_EVENTS, retention=rules,
        )  # fmt: skip
        await retention.sweep(upkeep)
        await work.close()
        await changes.close()


async def _forget_first(pool: Any, store: Any) -> None:
    """The negative control: a removal that is forgotten before it is done."""
    while True:
        async with pool.connection() as conn:
            rows = await (await conn.execute(sweep.LIST_REMOVALS, (sweep.BATCH,))).fetchall()
            await conn.execute(sweep.FORGET_REMOVALS, ([row[0] for row in rows],))
        failpoints.hit("expire.forgotten")
        for (key,) in rows:
            await store.delete(key)
            failpoints.hit("expire.deleted")
        if len(rows) < sweep.BATCH:
            return


def run_killed(scene: Scene, chance: random.Random) -> str:
    """One sweep that is killed somewhere; where, or nothing if it came to its end."""
    point = chance.choice((*POINTS, "any time"))
    points = {
        "expire.noted": "expire.noted=kill",
        "expire.deleted": f"expire.deleted=kill:{1 / SELDOM}",
        "expire.forgotten": "expire.forgotten=kill",
        "archive.stored": "archive.stored=kill,expire.noted=kill",
    }.get(point, "")
    pid = crew.fork(lambda: sweep_once(scene, points))
    if not points:
        time.sleep(chance.uniform(0, 0.3))
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return point if os.WIFSIGNALED(status) else ""


@dataclass(frozen=True, slots=True)
class SweepVerdict:
    """How many were deleted too early, left too long, are orphans, or were told of twice."""

    too_early: int
    too_late: int
    orphans: int
    dangling: int
    told_twice: int
    events_lost: int

    @property
    def clean(self) -> bool:
        return (
            not any((self.too_early, self.too_late, self.orphans, self.dangling, self.told_twice))
            and not self.events_lost
        )


TOLD_TWICE: Final = """
SELECT count(*) FROM (SELECT FROM job_events WHERE kind = 'expired'
                       GROUP BY job_id, meta HAVING count(*) > 1) AS twice
"""


def judge(scene: Scene, events: int) -> SweepVerdict:
    with psycopg.connect(scene.url) as conn:
        uploads = dict(conn.execute("SELECT id, upload_key FROM documents").fetchall())
        results = dict(conn.execute("SELECT id, result_key FROM jobs").fetchall())
        known = {row[0] for row in conn.execute("SELECT key FROM results")}
        twice = conn.execute(TOLD_TWICE).fetchone()
        left = conn.execute("SELECT id FROM job_events WHERE kind = 'created'").fetchall()
        named = conn.execute("SELECT name, id FROM named").fetchall()
    stored = {
        f"{folder}/{one.name}" for folder in ("uploads", "results")
        for one in (scene.store / folder).iterdir()
    }  # fmt: skip
    early = late = 0
    for name, row_id in named:
        kind = next(one for one in KINDS if one.name == name)
        there = (uploads[row_id] is not None, results[row_id] is not None)
        wanted = (kind.upload, kind.result and kind.status == "complete")
        early += sum(w and not t for w, t in zip(wanted, there, strict=True))
        late += sum(t and not w for w, t in zip(wanted, there, strict=True))
    pointed = {key for key in uploads.values() if key} | known
    archived = _read_archive(scene)
    kept = {row[0] for row in left}
    return SweepVerdict(
        early, late, len(stored - pointed), len(pointed - stored), twice[0] if twice else 0,
        events - len(kept | archived),
    )  # fmt: skip


def _read_archive(scene: Scene) -> set[int]:
    return {
        json.loads(line)["id"]
        for one in (scene.store / "archive").rglob("*.jsonl.gz")
        for line in gzip.decompress(one.read_bytes()).splitlines()
    }


NAMED: Final = """
INSERT INTO named SELECT %(name)s, md5(%(name)s || n)::uuid FROM generate_series(1, %(count)s) n
"""


def prepare(scene: Scene) -> int:
    """Fill the tables; how many events there are."""
    asyncio.run(migrate.migrate(scene.url))
    fill(scene)
    with psycopg.connect(scene.url) as conn:
        conn.execute("CREATE TABLE named (name text, id uuid)")
        for kind in KINDS:
            conn.execute(NAMED, {"name": kind.name, "count": scene.count(kind)})
        row = conn.execute("SELECT count(*) FROM job_events").fetchone()
    return row[0] if row else 0


def run(
    scene: Scene, kills: int, seed: int, tell: Callable[[str], object]
) -> tuple[SweepVerdict, Counter[str]]:
    """Sweeps that are killed, then one that is let alone."""
    events, chance, places = prepare(scene), random.Random(seed), Counter[str]()
    rounds = 0
    while places.total() < kills and rounds < kills * 3:
        rounds += 1
        if place := run_killed(scene, chance):
            places[place] += 1
        if rounds % 25 == 0:
            tell(f"{rounds} sweeps begun, {places.total()} killed")
    os.waitpid(crew.fork(lambda: sweep_once(scene, "")), 0)
    return judge(scene, events), places


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000, help="past retention")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--control", choices=("forget", "hasty"), default="")
    given = parser.parse_args()
    folder, began = Path(tempfile.mkdtemp(prefix="docmill-sweep-")), time.monotonic()
    server = embedded.start(folder / "pg")
    try:
        scene = Scene(server.url, folder, given.documents, given.control)
        print(f"seed {given.seed}: {given.documents} documents past retention, {given.kills} kills")
        verdict, places = run(scene, given.kills, given.seed, print)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"killed: {dict(places)}")
    used = os.times()
    cpu = used.user + used.system + used.children_user + used.children_system
    print(f"{verdict} in {time.monotonic() - began:.0f} s, {cpu:.0f} s of CPU")
    enough = places.total() >= given.kills
    sys.exit(0 if verdict.clean == (not given.control) and enough else 1)


if __name__ == "__main__":
    main()
