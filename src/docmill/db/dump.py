"""A database written to a file and read back, by PostgreSQL's own programs."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from docmill.core.faults import CommandError
from docmill.db.embedded import find_installations, major_version

# Rights and owners are the installation's own; `docmill migrate` gives the role of the web its
# rights again.
PLAIN: Final = ("--no-owner", "--no-privileges", "--no-comments")


def write_dump(url: str, path: Path) -> None:
    """One consistent picture of the whole database, while everybody goes on working."""
    program = find_program("pg_dump", url)
    _run(
        [program, "--format=custom", *PLAIN, f"--file={path}"], url, "The database can't be dumped"
    )


def read_dump(url: str, path: Path) -> None:
    """Into an empty database: all of it, or nothing."""
    program = find_program("pg_restore", url)
    words = [program, "--single-transaction", "--exit-on-error", *PLAIN, str(path)]
    _run(words, url, "The database can't be restored")


def is_empty(url: str) -> bool:
    """Whether no docmill has its tables there yet."""
    with psycopg.connect(url, connect_timeout=10) as conn:
        row = conn.execute("SELECT to_regclass('jobs') IS NULL").fetchone()
    return row == (True,)


def find_program(name: str, url: str) -> Path:
    """One that is not older than the server: those refuse."""
    with psycopg.connect(url, connect_timeout=10) as conn:
        server = conn.info.server_version // 10000
    fitting = {
        int(major): folder / name
        for folder in _list_folders(name)
        if (folder / name).exists() and (major := _find_major(folder / name)).isdecimal()
    }
    newer = [major for major in sorted(fitting) if major >= server]
    if not newer:
        raise CommandError(
            f"There is no {name} of PostgreSQL {server} or newer on this machine.\n"
            "Install PostgreSQL's client programs, or run this where they are."
        )
    return fitting[newer[0]]


def _list_folders(name: str) -> Iterator[Path]:
    yield from find_installations()
    if found := shutil.which(name):
        yield Path(found).resolve().parent


def _find_major(program: Path) -> str:
    if (program.parent / "postgres").exists():
        return major_version(program.parent)
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return told.stdout.rpartition(" ")[2].partition(".")[0].strip()


def _run(words: list[str | Path], url: str, trouble: str) -> None:
    """The password goes by the environment: everybody can read the words of a process."""
    facts = conninfo_to_dict(url)
    password = facts.pop("password", None)
    place = {name: str(value) for name, value in facts.items() if value is not None}
    env = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    words.insert(1, "--dbname=" + make_conninfo("", **place))
    ran = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise CommandError(f"{trouble}: {last}\nSee docs/operate/backup.md.")
