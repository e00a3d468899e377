"""The package of docs/extend.md, installed and run: a pipeline with a table, pages, a format and
a command of its own, written against the plug-in contract alone."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from terminal import SOON, Served, Terminal
from waits import wait_for

DOCS = Path(__file__).parents[2] / "docs" / "extend.md"
FILE = re.compile(r"^`(docmill-wordcount/\S+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOTE = "three short words"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is, built and installed as pip or uv does, without the network."""
    folder = tmp_path_factory.mktemp("extend")
    for name, text in FILE.findall(DOCS.read_text("utf-8")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    target = folder / "site"
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")
    pip = (sys.executable, "-m", "pip", "install")
    if importlib.util.find_spec("pip") is None:  # a virtual environment that uv made
        pip = ("uv", "pip", "install", "--python", sys.executable)
    words = (*pip, *offline, "--target", str(target))
    subprocess.run([*words, str(folder / "docmill-wordcount")], check=True, timeout=SOON)
    return target


@pytest.fixture
def terminal(tmp_path: Path, installed: Path) -> Terminal:
    return Terminal(tmp_path, {"PYTHONPATH": str(installed), "DOCMILL_BUCKET": "none"})


def test_a_strangers_package_has_a_pipeline_a_table_pages_a_format_and_a_command(
    terminal: Terminal, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text(NOTE)
    assert "How many words your documents have." in terminal.run("--help").out
    assert terminal.run("read", "wordcount", note, "--out", tmp_path / "out").code == 0
    served = Served(terminal, tmp_path / "data")
    try:
        _use(served, terminal, note)
    finally:
        served.stop()


def _use(served: Served, terminal: Terminal, note: Path) -> None:
    with httpx2.Client(base_url=served.url, timeout=SOON) as client:
        form = {"pipeline": "wordcount"}
        files = {"file": (note.name, note.read_bytes())}
        job = client.post("/api/upload", data=form, files=files).json()["jobId"]
        path = f"/api/jobs/{job}"
        wait_for(lambda: client.get(path).json()["status"] == "complete", served.log.read_text)
        assert client.get(f"{path}/download", params={"form": "counts"}).text == "page,words\n1,3\n"
        assert client.get("/api/wordcount").json() == {"documents": 1, "words": 3}
        queue = client.get("/queue").text
        assert f'href="/wordcount/{job}"' in queue
        assert '<a href="/wordcount">Words</a>' in queue
        page = client.get(f"/wordcount/{job}").text
        assert "note.txt" in page
        assert "3 words" in page
    told = terminal.run("words", "--url", served.url)
    assert told.out.strip() == "3 words in 1 documents"
