"""Makes .venv ready to run docmill, with nothing but the machine's Python; fast when it is.

uv does the work where it is on PATH, else venv and pip. What is installed comes from the locks.
It prints one line for each step it takes; what the tools say is shown only when one fails.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  the machine's Python is not the project's
    sys.exit(
        f"docmill needs Python 3.11 or newer; this is {sys.version.split()[0]}.\n"
        "Install a newer one and name it: make setup PYTHON=python3.12"
    )

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "docmill-setup.json"

# What comes from npm lies inside .venv as well.
NODE = VENV / "node"
AZURITE = "azurite@3.37.0"

# Debian packages that tests use, each with a program by which we see that it is there.
DEBIAN = {
    "chromium": "chromium",
    "poppler-utils": "pdftotext",
    "pgbouncer": "pgbouncer",
    "prometheus": "promtool",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what tests and checks need")
    parser.add_argument("--extras", action="store_true", help="also what is optional")
    given = parser.parse_args()
    dev: bool = given.dev
    stamps = read_stamps()
    make_venv()
    install(stamps, "run", ["requirements.lock"])
    if given.extras or "extras" in stamps:  # who asked for them once keeps them up to date
        install(stamps, "extras", ["requirements-extras.lock"])
    if dev:
        install(stamps, "dev", ["requirements-dev.lock"])
    install_project(stamps)
    if dev:
        install_debian(stamps)
        install_azurite(stamps)


def make_venv() -> None:
    """A folder whose Python is gone (moved, upgraded) is made anew."""
    if PYTHON.exists():
        return
    with step("making .venv"):
        if shutil.which("uv"):
            run(["uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(VENV)])
            return
        need_ensurepip()
        run([sys.executable, "-m", "venv", "--clear", str(VENV)])


def need_ensurepip() -> None:
    """Debian keeps it apart from Python."""
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if importlib.util.find_spec("ensurepip") is None and not apt_install([package]):
        sys.exit(
            "This Python can't make a virtual environment: it has no ensurepip.\n"
            f"Run `sudo apt-get install {package}`, or install uv; then try again."
        )


def install(stamps: dict[str, str], name: str, locks: Sequence[str]) -> None:
    now = digest([ROOT / lock for lock in locks])
    if stamps.get(name) == now:
        return
    words = [word for lock in locks for word in ("-r", str(ROOT / lock))]
    with step(f"installing {', '.join(locks)}"):
        run([*installer(), "--require-hashes", "--no-deps", *words])
    stamp(stamps, name, now)


def install_project(stamps: dict[str, str]) -> None:
    """Editable; its build tools are in the lock, so nothing is fetched for it."""
    now = digest([ROOT / "pyproject.toml"])
    if stamps.get("project") == now and (VENV / "bin" / "docmill").exists():
        return
    with step("installing docmill itself"):
        run([*installer(), "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    stamp(stamps, "project", now)


def installer() -> list[str]:
    if shutil.which("uv"):
        return ["uv", "pip", "install", "--quiet", "--python", str(PYTHON)]
    if subprocess.run([PYTHON, "-c", "import pip"], capture_output=True, check=False).returncode:
        need_ensurepip()
        run([str(PYTHON), "-m", "ensurepip", "--default-pip"])
    return [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def install_debian(stamps: dict[str, str]) -> None:
    """Tried once per list: a machine that cannot is not asked again at every run."""
    missing = [package for package in DEBIAN if not has(package)]
    now = " ".join(missing)
    if missing and stamps.get("debian") != now:
        with step(f"installing from Debian: {now}"):
            apt_install(missing)
        stamp(stamps, "debian", now)
        missing = [package for package in missing if not has(package)]
    if missing:
        say(f"skipped, so tests that use them will be skipped too: {', '.join(missing)}")
        say(f"to have them: sudo apt-get install {' '.join(missing)}")


def install_azurite(stamps: dict[str, str]) -> None:
    """Azure's emulator, for the tests of its store. It is only to be had from npm."""
    if stamps.get("azurite") != AZURITE and shutil.which("npm"):
        quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        command = ["npm", "install", *quiet, "--prefix", str(NODE), AZURITE]
        NODE.mkdir(exist_ok=True)
        with step(f"installing {AZURITE}"):
            subprocess.run(command, cwd=NODE, capture_output=True, check=False)
        stamp(stamps, "azurite", AZURITE)
    if not (NODE / "node_modules" / ".bin" / "azurite-blob").exists():
        say("skipped, so the tests of Azure will be skipped too: azurite, which npm installs")


def has(package: str) -> bool:
    # Servers live in sbin, which people's PATH leaves out.
    return shutil.which(DEBIAN[package], path=f"{os.environ['PATH']}:/usr/sbin") is not None


def apt_install(packages: Sequence[str]) -> bool:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    for step in (command, ["apt-get", "update", "-qq"], command):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(step, env=env, capture_output=True, check=False)
        if step is command and done.returncode == 0:
            return True
    return False


def run(command: list[str]) -> None:
    # A virtual environment that happens to be active must not become the target.
    env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        command, cwd=ROOT, env=env, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace").strip()
        sys.exit(f"{said}\nThis command failed: {' '.join(command)}\nMend it, then try again.")


def digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def read_stamps() -> dict[str, str]:
    return json.loads(STAMPS.read_text()) if STAMPS.exists() and PYTHON.exists() else {}


def stamp(stamps: dict[str, str], name: str, value: str) -> None:
    stamps[name] = value
    STAMPS.write_text(json.dumps(stamps))


@contextmanager
def step(words: str) -> Generator[None]:
    """One line: what is done, and at its end how long that took."""
    sys.stdout.write(f"setup: {words} ...")
    sys.stdout.flush()
    began_at = time.monotonic()
    try:
        yield
    except BaseException:
        sys.stdout.write(" failed\n")
        sys.stdout.flush()
        raise
    sys.stdout.write(f" {time.monotonic() - began_at:.0f} s\n")
    sys.stdout.flush()


def say(words: str) -> None:
    sys.stdout.write(f"setup: {words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
