"""What runs in this process, by name, and what of it does not."""

from typing import Final

OK: Final = "ok"
STARTING: Final = "STARTING"
DOWN: Final = "DOWN"


class Parts:
    """Written by who keeps the parts alive, read by who tells how the process fares."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}

    def note(self, name: str, state: str) -> None:
        self._states[name] = state

    @property
    def states(self) -> dict[str, str]:
        return dict(self._states)

    @property
    def all_run(self) -> bool:
        """A part that starts for the first time is not missed yet."""
        return DOWN not in self._states.values()
