"""The memory that children share, put together in huge pages.

A fork copies an entry for every page of 4 KiB, and the end of a child drops them again. For a huge
page of 2 MiB it is one entry; only where a child writes do the others come back.
"""

import ctypes
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

HUGE: Final = 2 * 2**20
_MAPS: Final = Path("/proc/self/maps")
_COLLAPSE: Final = 25  # MADV_COLLAPSE, of Linux 6.1
_NO_FILE: Final = "0"


def gather_memory() -> int:
    """Ask the kernel for huge pages where this process has its own memory: how many ranges it took.

    An older kernel refuses, and another system is not asked: then all stays as it is.
    """
    if sys.platform != "linux":
        return 0
    library = ctypes.CDLL(None)
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    ranges = list(find_own_memory(_MAPS.read_text().splitlines()))
    return sum(library.madvise(start, end - start, _COLLAPSE) == 0 for start, end in ranges)


def find_own_memory(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Start and end of what can be huge pages: written to, private, of no file."""
    for line in maps:
        area, rights, _, _, file, *name = line.split()
        start, end = (int(place, 16) for place in area.split("-"))
        first, last = -(-start // HUGE) * HUGE, end // HUGE * HUGE
        if rights == "rw-p" and file == _NO_FILE and name in ([], ["[heap]"]) and first < last:
            yield first, last
