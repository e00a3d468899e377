"""The session cookie of each docmill, kept between commands in a file only its owner can read."""

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from docmill.cli.files import write_whole


def sessions_file() -> Path:
    """XDG_CONFIG_HOME/docmill/sessions.json; a relative XDG_CONFIG_HOME is to be ignored."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    folder = given if given.is_absolute() else Path.home() / ".config"
    return folder / "docmill" / "sessions.json"


@contextmanager
def lock_sessions() -> Generator[None]:
    """One at a time: commands started together must not make a session each."""
    sessions_file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with sessions_file().with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def load_cookie(base: str) -> str | None:
    found = _load_all().get(base)
    return found if isinstance(found, str) else None


def save_cookie(base: str, cookie: str) -> None:
    """Inside `turn`."""
    with write_whole(sessions_file(), mode=0o600) as file:
        file.write(json.dumps(_load_all() | {base: cookie}, indent=2).encode())


def _load_all() -> dict[str, Any]:
    try:
        found: Any = json.loads(sessions_file().read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
