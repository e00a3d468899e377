"""The mappings that come with docmill, by name; each file is read and checked once."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from docmill.core.faults import Faulted
from docmill.mappings.building import build
from docmill.mappings.schema import SUFFIX, BadMapping, InvoiceMapping, Trouble

FOLDER: Final = files("docmill.mappings") / "files"
DEFAULT: Final = "pt_simon_invoice_v1"


@cache
def names() -> tuple[str, ...]:
    found = (entry.name for entry in FOLDER.iterdir() if entry.name.endswith(SUFFIX))
    return tuple(sorted(name.removesuffix(SUFFIX) for name in found))


@cache
def load(name: str) -> InvoiceMapping:
    if name not in names():
        raise Faulted("UNKNOWN_MAPPING", f"there is no {name!r}; known: {', '.join(names())}")
    file = f"{name}{SUFFIX}"
    return _named((FOLDER / file).read_text("utf-8"), file)


def load_file(path: Path) -> InvoiceMapping:
    """A mapping from anywhere, checked like ours; BadMapping says what is wrong, line by line."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as exc:
        line = path.read_bytes()[: exc.start].count(b"\n") + 1
        raise BadMapping((Trouble(path.name, line, "is not UTF-8 text"),)) from exc
    return _named(text, path.name)


def _named(text: str, file: str) -> InvoiceMapping:
    mapping = build(text, file)
    if file != mapping.name + SUFFIX:
        says = f"the file of {mapping.name} is called {mapping.name}{SUFFIX}"
        raise BadMapping((Trouble(file, 1, says),))
    return mapping
