"""Object stores on this machine: started by the tests on free ports, stopped by their own pid."""

import base64
import hashlib
import hmac
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Final
from urllib.parse import quote

import httpx2
import pytest

from bench.surroundings import find_port
from waits import PATIENCE

BUCKET: Final = "docmill-tests"
ROOT: Final = Path(__file__).parents[1]
AZURITE: Final = ROOT / ".venv" / "node" / "node_modules" / ".bin" / "azurite-blob"
# Azurite's account is the same for everybody and written in its manual.
ACCOUNT: Final = "devstoreaccount1"
ACCOUNT_KEY: Final = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@contextmanager
def running(command: Sequence[str | Path], port: int, folder: Path) -> Generator[None]:
    with (folder / "emulator.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        until = time.monotonic() + PATIENCE
        while not is_listening(port):
            assert process.poll() is None, (folder / "emulator.log").read_text()
            assert time.monotonic() < until, f"{command[0]} does not listen"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def s3(folder: Path) -> Generator[tuple[str, dict[str, str]]]:
    """The address of a store in moto's server, and the variables it needs."""
    port = find_port()
    url = f"http://127.0.0.1:{port}"
    with running(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port, folder
    ):
        httpx2.put(f"{url}/{BUCKET}", timeout=PATIENCE).raise_for_status()
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        yield f"s3://{BUCKET}?endpoint={quote(url)}", keys


@contextmanager
def azure(folder: Path) -> Generator[tuple[str, dict[str, str]]]:
    if not AZURITE.exists():
        pytest.skip("Azurite is not installed: `make setup-dev` does it where npm is there")
    port = find_port()
    words = ["--skipApiVersionCheck", "--disableTelemetry", "--silent", "--inMemoryPersistence"]
    url = f"http://127.0.0.1:{port}/{ACCOUNT}"
    with running(
        [AZURITE, *words, "--blobHost", "127.0.0.1", "--blobPort", str(port)], port, folder
    ):
        _make_container(url)
        told = f"AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={url}"
        yield f"az://{BUCKET}", {"AZURE_STORAGE_CONNECTION_STRING": told}


def _make_container(url: str) -> None:
    """obstore cannot; the request is signed by hand as Azure's Shared Key wants it."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = "\n".join(f"{name}:{value}" for name, value in headers.items())
    text = f"PUT{chr(10) * 12}{lines}\n/{ACCOUNT}/{ACCOUNT}/{BUCKET}\nrestype:container"
    digest = hmac.digest(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256)
    headers["authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    httpx2.put(
        f"{url}/{BUCKET}?restype=container", headers=headers, timeout=PATIENCE
    ).raise_for_status()


@contextmanager
def gcs(folder: Path) -> Generator[tuple[str, dict[str, str]]]:
    port = find_port()
    script = (
        "from gcp_storage_emulator.server import create_server\n"
        f"create_server('127.0.0.1', {port}, in_memory=True, default_bucket={BUCKET!r}).run()"
    )
    with running([sys.executable, "-c", script], port, folder):
        endpoint = quote(f"http://127.0.0.1:{port}")
        yield f"gs://{BUCKET}?endpoint={endpoint}&anonymous=1", {}


EMULATORS: Final = {"s3": s3, "azure": azure, "gcs": gcs}


class Started(dict[str, str]):
    """The address of every kind that was asked for; what runs for it ends with the stack."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self.stack = ExitStack()
        self._folders = folders

    def __missing__(self, kind: str) -> str:
        emulator = EMULATORS[kind](self._folders.mktemp(kind))
        url, variables = self.stack.enter_context(emulator)
        patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in variables.items():
            patch.setenv(name, value)
        self[kind] = url
        return url
