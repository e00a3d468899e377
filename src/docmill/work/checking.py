"""The worker's hold on the examiner: a job's XML goes out, the rules it breaks come back."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import structlog

from docmill import mappings
from docmill.mappings import BadMapping
from docmill.work.examiner import ASKED, TOLD
from docmill.work.parent import surroundings

log = structlog.get_logger()

# Checkers that need a process of their own.
APART: Final = frozenset({"ubl", "cii"})
# The first answer comes after the rules were compiled, on a busy machine.
START_SECONDS: Final = 60.0
SECONDS: Final = 30.0
MOST_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """`violations` are the broken rules; None, with the reason, where nobody looked."""

    violations: Sequence[Mapping[str, Any]] | None
    reason: str = ""


class Checker:
    """One examiner, started when first needed and again if it dies; one document at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._unable: str = ""
        self._turn: asyncio.Lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def check(self, mapping: str | None, document: bytes) -> Checked | None:
        """None where the mapping names no such rules. Never fails a job: it is told as a reason."""
        if mapping is None or not _is_apart(mapping):
            return None
        if len(document) > MOST_BYTES:
            return Checked(None, f"more than {MOST_BYTES >> 20} MB")
        async with self._turn:
            try:
                return await self._check(mapping, document)
            except (TimeoutError, OSError, asyncio.IncompleteReadError, ValueError) as exc:
                log.warning("check.failed", mapping=mapping, error=type(exc).__name__)
                await self._end()
                return Checked(None, "the checker stopped")
            except BaseException:
                await self._end()
                raise

    async def _check(self, mapping: str, document: bytes) -> Checked:
        if self._unable:
            return Checked(None, self._unable)
        if self._process is None or self._process.returncode is not None:
            self._process = await _started()
            said = await _heard(self._process, START_SECONDS)
            if not said["ready"]:
                self._unable = said["reason"]
                await self._end()
                return Checked(None, self._unable)
        assert self._process.stdin is not None
        name = mapping.encode()
        self._process.stdin.write(ASKED.pack(len(name), len(document)) + name + document)
        said = await _heard(self._process, SECONDS)
        return Checked(said["violations"])

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.wait()


def with_violations(data: bytes, checked: Checked) -> bytes:
    """The result, saying which rules its XML breaks and which values a person should fill in."""
    found: dict[str, Any] = dict(json.loads(data))
    if checked.violations is None:
        notes = [*found.get("notes", ()), f"not checked against the rules: {checked.reason}"]
        return _dumped({**found, "notes": notes})
    fatal = [one["field"] for one in checked.violations if one["severity"] == "fatal"]
    review: dict[str, None] = dict.fromkeys([*found.get("review", ()), *filter(None, fatal)])
    return _dumped({**found, "review": list(review), "violations": checked.violations})


def _dumped(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _is_apart(name: str) -> bool:
    try:
        return name in mappings.names() and mappings.load(name).checker in APART
    except BadMapping:
        return False


async def _started() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "docmill.work.examiner", str(os.getpid())),
        env=surroundings(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


async def _heard(process: asyncio.subprocess.Process, seconds: float) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(seconds):
        (length,) = TOLD.unpack(await process.stdout.readexactly(TOLD.size))
        return json.loads(await process.stdout.readexactly(length))
