"""Signs of life during one long call: on a busy machine it lasts long, and is no worse for it."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

INTERVAL_SECONDS: Final = 1.0
MAX_CPU_SECONDS: Final = 60.0  # of the processor's time: what takes more hangs, and falls silent


@contextmanager
def keep_alive(tell: Callable[[], None]) -> Generator[None, None, None]:
    """Calls `tell` from another thread, again and again, while the block runs."""
    over = Event()
    thread = Thread(target=_beat, args=(tell, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _beat(tell: Callable[[], None], over: Event) -> None:
    end = time.process_time() + MAX_CPU_SECONDS
    while not over.wait(INTERVAL_SECONDS) and time.process_time() < end:
        tell()
