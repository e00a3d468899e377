"""What a PDF's compressed streams would grow to, found before PDFium unpacks them.

PDFium aborts its process when memory runs out. Pictures are not weighed, for reading text does not
unpack them; encrypted streams cannot be. What slips through meets the child's memory limit.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from docmill.core.faults import Faulted

MAX_STREAMS: Final = 1_000_000
MAX_STREAM_BYTES: Final = 64 * 2**20
MAX_TOTAL_BYTES: Final = 512 * 2**20
MAX_LAYERS: Final = 3
RATIO_BYTES: Final = 8 * 2**20
MAX_RATIO: Final = 100  # from there on; page content reaches 20, bombs 500 to 1000

_PIECE: Final = 2**16
_LEAD: Final = re.compile(rb"stream\s{0,3}")
_PICTURE: Final = re.compile(rb"/Subtype\s*/Image\b")
_DICTIONARY_BYTES: Final = 1024


def weigh(data: bytes) -> None:
    """Raises BAD_PDF when one stream, or all of them together, unpack to more than we take."""
    total = 0
    for count, (keyword, start) in enumerate(_streams(data)):
        if count > MAX_STREAMS:
            raise Faulted("BAD_PDF", f"more than {MAX_STREAMS} streams")
        if not _packed(data[start : start + 2]) or _is_picture(data, keyword):
            continue
        total += _unpacked_size(data, start)
        if total > MAX_TOTAL_BYTES:
            raise Faulted("BAD_PDF", f"streams unpack to more than {MAX_TOTAL_BYTES} bytes")


def _streams(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each keyword `stream` or `endstream` stands, and what follows it."""
    place = data.find(b"stream")
    while place >= 0:
        lead = _LEAD.match(data, place)
        assert lead is not None
        yield place, lead.end()
        place = data.find(b"stream", lead.end())


def _packed(start: bytes) -> bool:
    """Whether data starts the way zlib data does."""
    return len(start) == 2 and start[0] & 15 == 8 and int.from_bytes(start, "big") % 31 == 0


def _is_picture(data: bytes, end: int) -> bool:
    before = data[max(0, end - _DICTIONARY_BYTES) : end]
    return _PICTURE.search(before, max(before.rfind(b" obj"), 0)) is not None


def _unpacked_size(data: bytes, start: int) -> int:
    """The size of one stream with every layer unpacked, together."""
    total = 0
    layer: Iterable[bytes] = (
        data[place : place + _PIECE] for place in range(start, len(data), _PIECE)
    )
    for _ in range(MAX_LAYERS):
        size, head, layer = _layer(layer)
        total += size
        if not _packed(head[:2]):
            break
    return total


def _layer(packed: Iterable[bytes]) -> tuple[int, bytes, list[bytes]]:
    """Unpack one layer: its size, how it starts, and its data where that is packed once more."""
    size, head = 0, b""
    kept: list[bytes] = []
    for fed, piece in _inflated(packed):
        size += len(piece)
        head = head or piece[:2]
        _check(size, fed)
        if _packed(head):
            kept.append(piece)
    return size, head, kept


def _check(size: int, fed: int) -> None:
    if size > MAX_STREAM_BYTES:
        raise Faulted("BAD_PDF", f"a stream unpacks to more than {MAX_STREAM_BYTES} bytes")
    if size > RATIO_BYTES and size > MAX_RATIO * fed:
        raise Faulted("BAD_PDF", f"a stream unpacks to more than {MAX_RATIO} times its size")


def _inflated(packed: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Small pieces of unpacked data, as far as it goes, each with how much was fed in till then."""
    unpacker, fed = zlib.decompressobj(), 0
    for chunk in packed:
        fed += len(chunk)
        rest = chunk
        while rest and not unpacker.eof:
            try:
                yield fed, unpacker.decompress(rest, _PIECE)
            except zlib.error:
                return
            rest = unpacker.unconsumed_tail
        if unpacker.eof:
            return
