"""A poller in a process of its own, that dies where it is told to: `python pollers.py …`.

With `--for-ever` a new one takes the place of each that died, until this process is terminated.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from docmill.core import failpoints
from docmill.db.pool import open_pool
from docmill.documents.poller import poll
from documents.buckets import a_bucket

STUCK = timedelta(seconds=1)


async def run(url: str, folder: Path, *, for_ever: bool) -> None:
    async with open_pool(url, size=4) as pool:
        bucket = a_bucket(pool, folder, stuck=STUCK, batch=20)
        await poll(bucket)
        while for_ever:
            await asyncio.sleep(0.05)
            await poll(bucket)


def again_and_again(url: str, folder: Path, seed: int) -> NoReturn:
    """A fork for each life: what was imported need not be imported again."""
    child = 0

    def end(*_: object) -> NoReturn:
        if child:
            os.kill(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    for life in range(10_000):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            random.seed(f"{seed} {life}")
            asyncio.run(run(url, folder, for_ever=True))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            with (folder / "deaths").open("a") as deaths:
                deaths.write("x")
    sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fail", default="")
    parser.add_argument("--for-ever", type=int, default=None, metavar="SEED")
    given = parser.parse_args()
    failpoints.arm(given.fail)
    if given.for_ever is not None:
        again_and_again(given.url, given.folder, given.for_ever)
    asyncio.run(run(given.url, given.folder, for_ever=False))


if __name__ == "__main__":
    main()
