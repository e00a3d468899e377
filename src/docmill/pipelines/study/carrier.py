"""The files of WordNet 3.0 and of an English tagger, inside an installed package of data.

Only its files are read, none of its code is run: see docs/decisions/0025-study-data.md.
"""

import zipfile
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

PACKAGE: Final = "build-vocabulary"
_FOLDER: Final = "build_vocabulary/.assert/nltk_data"


def installed() -> bool:
    return _folder() is not None


def members(archive: str, names: tuple[str, ...]) -> dict[str, bytes]:
    """The named files of one archive, by their bare names. Raises FileNotFoundError."""
    folder = _folder()
    if folder is None:
        raise FileNotFoundError(PACKAGE)
    with zipfile.ZipFile(folder / archive) as packed:
        inside = Path(archive).stem
        return {name: packed.read(f"{inside}/{name}") for name in names}


@cache
def _folder() -> Path | None:
    try:
        folder = Path(str(distribution(PACKAGE).locate_file(_FOLDER)))
    except PackageNotFoundError:
        return None
    return folder if folder.is_dir() else None
