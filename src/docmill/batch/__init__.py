"""Millions of documents through a pipeline, on this machine or with an engine that you have.

`Reader(pipeline)(table) -> table` is all that an engine needs: hand it to Ray's `map_batches`, or
call it in a function of Spark's `mapInArrow` or of Dask. `docmill batch` does the rest: a list
made once, one Parquet part for each shard of it, put where nobody has put it before.
"""

from docmill.batch.manifest import list_documents
from docmill.batch.reader import Reader
from docmill.batch.schema import SCHEMA, schema_of

__all__ = ["SCHEMA", "Reader", "list_documents", "schema_of"]
