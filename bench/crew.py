"""Workers in forks of the measuring process, so that hundreds can be killed and frozen in minutes.

Each is the real worker over the real SQL; only its runs are made by the caller.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from docmill.core.jobs import Retry
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool, open_pool
from docmill.jobs.retention import run_upkeep
from docmill.queue import leases, settle
from docmill.queue.rescue import Upkeep
from docmill.queue.worker import Runner, Worker, WorkerConfig, WorkerLinks
from docmill.storage.local import LocalStore

RULES: Final = WorkerConfig(
    pipelines=["extract"],
    slots=8,
    lease=timedelta(seconds=1.5),
    heartbeat=timedelta(seconds=0.3),
    poll=timedelta(seconds=0.5),
    retry=Retry(1000, timedelta(seconds=0.05), timedelta(seconds=0.1)),
)

# The negative control: whoever comes with the id may write, however stale.
UNFENCED: Final = (
    "JOIN locked USING (id, claim)\n     WHERE locked.status = 'processing'",
    "JOIN locked USING (id)",
)


def fork(task: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        task()
    except BaseException as exc:  # noqa: BLE001  a fork must not run on as its parent
        sys.stderr.write(f"{exc!r}\n")
    finally:
        os._exit(0)


def hush() -> None:
    """What a process under fire has to say is no news."""
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def unfenced(statement: str = settle.SETTLE) -> str:
    kept, opened = UNFENCED
    assert kept in statement
    return statement.replace(kept, opened)


def unfence() -> None:
    for name in ("SETTLE", "EXCHANGE"):
        setattr(settle, name, unfenced(getattr(settle, name)))


async def work(
    url: str, rules: WorkerConfig, store: Path, runner: Callable[[Pool], Runner]
) -> None:
    """One worker and its rescuer, until SIGTERM."""
    async with open_pool(url, size=4) as pool:
        ringing, changes, me = Notifier(pool, WORK), Notifier(pool, CHANGES), leases.identify()
        upkeep = Upkeep(
            pool, LocalStore(store), ringing, changes, rules, me,
            rescue_every=min(rules.lease, RULES.lease) / 3, sweep_every=None,
        )  # fmt: skip
        rescuing = asyncio.create_task(run_upkeep(upkeep))
        worker = Worker(WorkerLinks(pool, url, changes), rules, runner(pool), me)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()
        rescuing.cancel()
        await asyncio.gather(rescuing, return_exceptions=True)
        await ringing.close()
        await changes.close()
