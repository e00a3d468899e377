"""Named places where a test can make the process die, freeze or fail. Free when none is armed."""

import os
import random
import signal
from collections.abc import Callable
from typing import Final

NAMES: Final = frozenset(
    {
        "accept.stored",
        "accept.committed",
        "claim.before",
        "claim.after",
        "beat.before",
        "run.started",
        "answer.kept",
        "step.kept",
        "result.stored",
        "settle.before",
        "settle.after",
        "rescue.before",
        "expire.noted",
        "expire.deleted",
        "expire.forgotten",
        "orphan.deleted",
        "archive.stored",
        "poll.registered",
        "poll.moved",
        "poll.accepted",
        "poll.refused",
        "poll.filed",
        "poll.noted",
        "webhook.sent",
        "move.copied",
        "move.left",
        "embed.added",
        "embed.dropped",
        "backup.dumped",
        "batch.listed",
        "batch.read",
        "batch.put",
        # Asked again and again while the part runs, so that it fails in the middle of its work.
        "part.web",
        "part.web fork server",
        "part.fork server",
        "part.worker",
        "part.poller",
        "part.rescue",
        "part.retention",
        "part.services",
        "part.webhooks",
        "part.postgres",
    }
)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _fail() -> None:
    raise OSError("failpoint")


ACTIONS: Final[dict[str, Callable[[], None]]] = {"kill": _kill, "stop": _stop, "fail": _fail}
_armed: dict[str, tuple[Callable[[], None], float]] = {}


def arm(spec: str) -> None:
    """`settle.before=kill` or `claim.after=stop:0.1` (one time in ten); several with commas."""
    _armed.clear()
    for item in filter(None, spec.split(",")):
        name, _, action = item.partition("=")
        verb, _, chance = action.partition(":")
        if name not in NAMES or verb not in ACTIONS:
            raise ValueError(f"no such failpoint: {item!r}; names: {', '.join(sorted(NAMES))}")
        _armed[name] = (ACTIONS[verb], float(chance or 1))


def is_armed(name: str) -> bool:
    return name in _armed


def hit(name: str) -> None:
    if _armed and name in _armed:
        act, chance = _armed[name]
        if random.random() < chance:  # noqa: S311  a die, not a secret
            act()
