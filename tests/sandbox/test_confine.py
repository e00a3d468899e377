"""What a child cannot do, each beside the proof that a plain process can."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from docmill.sandbox.confine import Confinement
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunReturned, Task
from docmill.sandbox.pool import SandboxPool
from sandbox.escapes import ATTEMPTS, PRIVILEGED, Scene
from sandbox.pools import HERE, SOON, silent

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="landlock and seccomp are Linux"),
]
PROBES = [*ATTEMPTS, *(PRIVILEGED if os.geteuid() == 0 else ())]


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[SandboxPool]:
    limits = RunLimits(memory_bytes=256 << 20, stall=SOON)
    async with SandboxPool(limits, pipelines=["escapes:escape"], paths=[str(HERE)]) as opened:
        yield opened


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Files that are there to be read and harmed, a port that answers, and us, the worker."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret").write_text("s", "utf-8")
    (tmp_path / "victim").write_text("v", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        secret, victim = str(tmp_path / "data" / "secret"), str(tmp_path / "victim")
        yield Scene(secret, victim, os.getpid(), port)


@pytest.mark.parametrize("what", PROBES)
async def test_a_child_cannot(sandbox: SandboxPool, scene: Scene, what: str) -> None:
    document = os.open(os.devnull, os.O_RDONLY)
    options = {"attempt": what, "scene": asdict(scene)}
    try:
        ran = await sandbox.run(
            Task("escape", "a", "text/plain", options=options), document, silent
        )
    finally:
        os.close(document)
    assert isinstance(ran, RunReturned), ran
    assert json.loads(ran.data) == {"outcome": "refused: PermissionError"}
    folder = Path(scene.victim).parent
    assert sorted(os.listdir(folder)) == ["data", "victim"]  # noqa: PTH208
    assert Path(scene.victim).read_text("utf-8") == "v"


@pytest.mark.parametrize("what", PROBES)
def test_a_plain_process_can(scene: Scene, what: str) -> None:
    """The negative control: an attempt that fails anyway would prove nothing."""
    with subprocess.Popen(["sleep", "60"]) as bystander:
        given = json.dumps(asdict(replace(scene, pid=bystander.pid)))
        command = [sys.executable, str(HERE / "escapes.py"), what, given]
        did = subprocess.run(command, capture_output=True, text=True, check=True)
        bystander.kill()
    assert did.stdout == ("" if what == "exec in place" else "did it")


async def test_what_holds_a_child_is_told(sandbox: SandboxPool) -> None:
    confinement = await sandbox.warm()
    assert confinement == sandbox.confinement
    assert confinement.missing == ()
    assert "seccomp" in str(confinement)
    assert "landlock" in str(confinement)


def test_missing_confinement_is_loud() -> None:
    bare = Confinement((), ("landlock: ENOSYS", "seccomp: EINVAL"))
    assert str(bare) == "none (missing: landlock: ENOSYS; seccomp: EINVAL)"
