"""The columns of what goes in and of what comes out: public, and only ever added to."""

import json
from collections.abc import Mapping
from typing import Any, Final

from docmill.batch.arrow import Schema, Table, pa
from docmill.core import installed
from docmill.core.plugins import AUTO

OK: Final = "ok"
FAILED: Final = "failed"

# Documents to read: where they lie in the source, which generation was listed, how many bytes.
LISTED: Final = pa.schema([("key", pa.string()), ("etag", pa.string()), ("size", pa.int64())])

# What every pipeline gives; `contents` is its JSON, `seconds` by the clock.
SCHEMA: Final = pa.schema(
    [
        ("document_id", pa.string()),
        ("document_hash", pa.string()),
        ("key", pa.string()),
        ("pipeline", pa.string()),
        ("version", pa.string()),
        ("status", pa.string()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("num_pages", pa.int32()),
        ("contents", pa.string()),
        ("seconds", pa.float64()),
        ("cpu_seconds", pa.float64()),
        ("bytes", pa.int64()),
        ("content_type", pa.string()),
        ("summary", pa.string()),
        ("artifact", pa.binary()),
        ("artifact_type", pa.string()),
    ]
)
# What two readings of the same document may differ in.
MEASURED: Final = ("seconds", "cpu_seconds")


def list_row_columns(pipeline: str) -> list[str]:
    """The pipeline's own: what its room keeps in tables, each as a JSON array."""
    rooms = installed.find_rooms()
    found = rooms.rooms.values() if pipeline == AUTO else rooms.of(pipeline)
    return sorted({table.rows for room in found for table in room.tables})


def schema_of(pipeline: str) -> Schema:
    """The columns that come out of a pipeline. The rows are null unless they are asked for."""
    own = [pa.field(name, pa.string()) for name in list_row_columns(pipeline)]
    return pa.schema([*SCHEMA, *own])


def encode_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def build_table(rows: list[Mapping[str, Any]], schema: Schema) -> Table:
    return pa.Table.from_pylist(rows, schema=schema)
