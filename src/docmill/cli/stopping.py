"""How a running process is asked to stop."""

import asyncio
import signal
from collections.abc import Callable


class Stop:
    """SIGTERM or Ctrl-C asks everything to stop; the second time, at once."""

    def __init__(self) -> None:
        self.asked: asyncio.Event = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self.ask)

    def tell(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def ask(self) -> None:
        self.asked.set()
        for listener in self._listeners:
            listener()
