"""The tables in data/: tab-separated rows, `#` for comments."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

FOLDER: Final = files("docmill.mappings") / "data"


def rows(name: str) -> Iterator[list[str]]:
    for line in (FOLDER / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")
