"""PNG, written: pixels in, a file out that any browser shows."""

import struct
import zlib
from typing import Final

import numpy as np

from docmill.reading.pictures import Pixels

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_GRAY, _COLOUR = 0, 2
_UP: Final = 2  # each row is written as what changed from the one above: paper is mostly the same


def png(pixels: Pixels) -> bytes:
    """A picture of rows of red, green, blue; one without colour is written in gray."""
    plain = bool((pixels == pixels[:, :, :1]).all())
    rows = pixels[:, :, 0] if plain else pixels.reshape(pixels.shape[0], -1)
    height, width = pixels.shape[:2]
    head = struct.pack("!IIBBBBB", width, height, 8, _GRAY if plain else _COLOUR, 0, 0, 0)
    lines = np.empty((height, rows.shape[1] + 1), np.uint8)
    lines[:, 0] = _UP
    lines[0, 1:] = rows[0]
    lines[1:, 1:] = rows[1:] - rows[:-1]
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))
