"""A watched folder and what a person does with it."""

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from docmill.core.installed import PipelineCatalog
from docmill.core.owners import desk
from docmill.core.plugins import PDF
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Pool
from docmill.documents.accept import Acceptor
from docmill.documents.places import PlacedStore
from docmill.documents.poller import Bucket
from docmill.storage import open_store
from docmill.storage.contract import Store
from pdfs import make_pdf

DESK = desk("trading")


def a_bucket(pool: Pool, folder: Path, store: Store | None = None, **given: Any) -> Bucket:
    """Over the folder `bucket`, with the service's own store beside it."""
    work, changes = Notifier(pool, WORK), Notifier(pool, CHANGES)
    own = PlacedStore(open_store(str(folder / "store")), pool)
    if store:  # its address has options that only the test knows
        own._opened[store.name] = store  # pyright: ignore[reportPrivateUsage]
    offer = PipelineCatalog({"extract": (PDF,)}, {})
    intake = Acceptor(pool, own, offer, work, changes, timedelta(days=7))
    watched = store or open_store(str(folder / "bucket"))
    return Bucket(watched, intake, DESK, "extract", **given)


def confirmation(text: str = "Trade confirmation") -> bytes:
    return make_pdf([[(72, 72, text)]])


def drop(folder: Path, name: str, data: bytes | None = None, **metadata: str) -> Path:
    """A file dropped some while ago, with a note beside it where there is metadata."""
    path = folder / "bucket" / "incoming" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if metadata:
        path.with_name(f".{path.name}.json").write_text(as_json(metadata))
    path.write_bytes(confirmation(name) if data is None else data)
    then = path.stat().st_mtime - 60
    os.utime(path, (then, then))
    return path


def as_json(metadata: Mapping[str, str]) -> str:
    pairs = ", ".join(f'"{name}": "{value}"' for name, value in metadata.items())
    return f"{{{pairs}}}"


def objects(folder: Path) -> list[str]:
    """Every object in the bucket."""
    root = folder / "bucket"
    return sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    )
