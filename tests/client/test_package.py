"""docmill-client: the client alone, in an empty environment with httpx2 and what that needs."""

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from terminal import Served, letter

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from docmill_client import Client, Refused
with Client(sys.argv[1]) as docmill:
    job = docmill.submit(sys.argv[2], pipeline="extract")
    print(docmill.result(job.id)["pages"][0]["text"].strip())
    try:
        docmill.submit(b"no document", pipeline="nonsense")
    except Refused as exc:
        print(exc.code)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT / "client", check=True, capture_output=True)
    (made,) = folder.glob("docmill_client-*.whl")
    return made


def needed(name: str, known: dict[str, Distribution]) -> None:
    """A distribution with all that it needs here, as an installer would find out."""
    if name in known:
        return
    known[name] = distribution(name)
    for line in known[name].requires or []:
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            needed(wanted.name, known)


def install(packages: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
        (about,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        text = archive.read(about).decode()
    requires = re.findall(r"^Requires-Dist: ([\w-]+)", text, re.MULTILINE)
    assert requires == ["httpx2"]
    known: dict[str, Distribution] = {}
    needed("httpx2", known)
    for one in known.values():
        for file in one.files or []:
            if ".." not in file.parts:
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), packages / file)


def test_the_wheel_works_in_an_empty_environment(
    wheel: Path, served: Served, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "e"], check=True)
    (packages,) = tmp_path.glob("e/lib/python*/site-packages")
    install(packages, wheel)
    (tmp_path / "letter.pdf").write_bytes(letter("Total: 12.00"))
    python = tmp_path / "e" / "bin" / "python"
    absent = subprocess.run([python, "-c", "import docmill"], capture_output=True, check=False)
    assert b"No module named 'docmill'" in absent.stderr
    command = [python, "-c", PROGRAM, served.url, tmp_path / "letter.pdf"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == ["Total: 12.00", "UNKNOWN_PIPELINE"], ran.stderr


def test_the_wheel_has_nothing_of_the_server(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names >= {"docmill_client/__init__.py", "docmill_client/core/faults.py"}
    assert {name.split("/")[1] for name in names} <= {
        "__init__.py", "answers.py", "asynchronous.py", "synchronous.py", "core", "py.typed"
    }  # fmt: skip
