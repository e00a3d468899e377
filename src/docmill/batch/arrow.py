"""pyarrow, which comes without types: named here once, so that strictness ends here."""

import importlib
from typing import Any, Final

pa: Final[Any] = importlib.import_module("pyarrow")
pc: Final[Any] = importlib.import_module("pyarrow.compute")
pq: Final[Any] = importlib.import_module("pyarrow.parquet")

Table = Any
Schema = Any
