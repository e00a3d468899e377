"""Bytes by key: one contract, one module per kind of store, opened by URL."""

import importlib
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from docmill.core.extras import advise_extra
from docmill.core.faults import CommandError
from docmill.storage.contract import Metadata, ObjectInfo, Store, Writer
from docmill.storage.local import LocalStore
from docmill.storage.paired import PairedStore

__all__ = [
    "Metadata",
    "ObjectInfo",
    "Store",
    "Writer",
    "endpoint_of",
    "folder_of",
    "open_pair",
    "open_store",
]

# The kinds over the network: the module that knows the library, its function, and the extra.
KINDS: Final = {
    "s3": ("objects", "open_s3", "s3"),
    "az": ("objects", "open_azure", "azure"),
    "gs": ("gcs", "open_gcs", "gcs"),
}
FORMS: Final = "file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"


class UnknownStoreError(CommandError):
    """No store can be opened by this address."""


def folder_of(url: str) -> Path | None:
    """The folder that an address names, which may not be there; None for a store elsewhere."""
    parts = urlsplit(url)
    if parts.scheme not in {"", "file"}:
        return None
    return Path(unquote(parts.path) if parts.scheme else url)


def endpoint_of(url: str) -> str | None:
    """The server that an address asks for by its option; a bucket of that name is its own."""
    return dict(parse_qsl(urlsplit(url).query)).get("endpoint")


def open_store(url: str) -> Store:
    """By its address, or a plain path. Options follow a question mark, such as `?endpoint=`."""
    if (folder := folder_of(url)) is not None:
        return _open_folder(folder)
    parts = urlsplit(url)
    if parts.scheme not in KINDS or not parts.netloc:
        raise UnknownStoreError(
            f"This is no address of a store: {url.partition('?')[0]}\nUse {FORMS}."
        )
    module, function, extra = KINDS[parts.scheme]
    try:
        adapter = importlib.import_module(f"docmill.storage.{module}")
    except ImportError as exc:
        raise UnknownStoreError(
            f"A store of the kind {parts.scheme}:// needs a library that is not installed"
            f" ({exc.name}).\n{advise_extra(extra)}"
        ) from exc
    opened: Store = getattr(adapter, function)(
        parts.netloc, unquote(parts.path).strip("/"), dict(parse_qsl(parts.query))
    )
    return opened


def _open_folder(folder: Path) -> LocalStore:
    try:
        return LocalStore(folder)
    except OSError as exc:
        raise UnknownStoreError(
            f"This folder can't be used: {folder}: {exc.strerror}\nName one that you may write to."
        ) from exc


def open_pair(url: str, also: str | None) -> Store:
    """A store, together with one that its objects come from, if there is one."""
    first = open_store(url)
    return PairedStore(first, open_store(also)) if also else first
