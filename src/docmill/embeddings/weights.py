"""A safetensors file as arrays that are mapped, not read: all processes share one copy of it."""

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

LENGTH_BYTES: Final = 8
MAX_HEADER: Final = 1 << 20


class Unfit(ValueError):  # noqa: N818  it says what the file is
    """The file holds no weights that can be used."""


def read(path: Path) -> Mapping[str, Floats]:
    """The tensors of 32 bit floats by name; they stay valid while any of them is held."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(mapped[:LENGTH_BYTES], "little")
    if not 2 <= length <= MAX_HEADER:
        raise Unfit(f"{path.name} is no safetensors file")
    start = LENGTH_BYTES + length
    header: dict[str, Any] = json.loads(mapped[LENGTH_BYTES:start])
    return {
        name: _tensor(mapped, start, facts)
        for name, facts in header.items()
        if facts.get("dtype") == "F32"
    }


def _tensor(mapped: mmap.mmap, start: int, facts: Mapping[str, Any]) -> Floats:
    first, last = facts["data_offsets"]
    count = (last - first) // 4
    array = np.frombuffer(mapped, "<f4", count, start + first).reshape(facts["shape"])
    # BLAS would copy what is not aligned at every call.
    return array if array.flags.aligned else array.copy()
