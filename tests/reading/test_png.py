"""Pictures as PNG files, read back by hand."""

import struct
import zlib

import numpy as np
import pytest

from docmill.reading.pictures import PNG_SIGNATURE, Pixels, encode_png


def unpacked(file: bytes) -> tuple[tuple[int, int], Pixels]:
    """Size and pixels, by the two filters that we write."""
    assert file.startswith(PNG_SIGNATURE)
    at, chunks = len(PNG_SIGNATURE), dict[bytes, bytes]()
    while at < len(file):
        length, kind = struct.unpack("!I4s", file[at : at + 8])
        data = file[at + 8 : at + 8 + length]
        assert struct.unpack("!I", file[at + 8 + length : at + 12 + length])[0] == zlib.crc32(
            kind + data
        )
        chunks[kind] = data
        at += 12 + length
    width, height, depth, colour = struct.unpack("!IIBB", chunks[b"IHDR"][:10])
    assert depth == 8
    channels = 3 if colour == 2 else 1
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    rows = rows.reshape(height, 1 + width * channels)
    assert set(rows[:, 0]) == {2}
    return (width, channels), np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (7, 3), (40, 60)])
def test_a_picture_comes_back_as_it_was(width: int, height: int) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    pixels[0, 0] = (1, 2, 3)
    size, back = unpacked(encode_png(pixels))
    assert size == (width, 3)
    assert (back.reshape(pixels.shape) == pixels).all()


def test_a_picture_without_colour_is_written_in_gray() -> None:
    pixels = np.full((5, 4, 3), 200, np.uint8)
    size, back = unpacked(encode_png(pixels))
    assert size == (4, 1)
    assert (back == 200).all()
