"""Bytes by key: one contract, one module per kind of store, opened by URL."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from docmill.storage.contract import Store, Writer
from docmill.storage.local import LocalStore

__all__ = ["Store", "Writer", "open_store"]


def open_store(url: str) -> Store:
    """`file:///srv/docmill` or a plain path."""
    parts = urlsplit(url)
    if parts.scheme not in {"", "file"}:
        raise ValueError(f"no store of kind {parts.scheme!r}: use file:///path/to/folder")
    return LocalStore(Path(unquote(parts.path) if parts.scheme else url))
