"""The frames between worker, sandbox and child: kind, length, payload. Bytes in, frames out."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

HEADER: Final = struct.Struct("!BI")
# Worker to sandbox: what to do, with which run, and how many seconds of CPU it may use at most.
# Small enough to arrive in one piece.
ORDER: Final = struct.Struct("!cQI")
START: Final = b"s"
KILL: Final = b"k"
# Fork server to worker: run and pid of its child.
BORN: Final = struct.Struct("!QI")
# Fork server to worker: run, exit code (negative: signal), errno of a failed fork, us, CPU us,
# bytes.
ENDED: Final = struct.Struct("!QiiQQQ")

# A child speaks of progress this often at most, save for so many new stages that go at once.
PACE_SECONDS: Final = 0.05
SPARE_STAGES: Final = 200
# How much a run may ask of services in all: one question at a time, so many, so many bytes.
MOST_ASKED: Final = 3000
MOST_ASKED_BYTES: Final = 192 << 20
# Of that, what it keeps for a later try, which it asks for under these names.
MOST_KEPT_BYTES: Final = 128 << 20
KEEP: Final = "keep"
RECALL: Final = "recall"
SIZE: Final = "size"
# Child to worker: the pages it is about to read, where nobody must answer before it reads them.
PAGES: Final = struct.Struct("!I")
# The exit code of a child that had no memory left even to say so.
NO_MEMORY_EXIT: Final = 77


class FrameKind(IntEnum):
    TASK = 1
    PROGRESS = 2
    RESULT = 3
    FAULT = 4
    HELLO = 5
    ENDED = 6
    ARTIFACT = 7
    ROWS = 8
    ASK = 9
    ANSWER = 10
    BORN = 11
    ABOUT = 12
    PAGES = 13


LONGEST: Final[Mapping[FrameKind, int]] = {
    FrameKind.TASK: 16 << 20,
    FrameKind.PROGRESS: 512,
    FrameKind.RESULT: 256 << 20,
    FrameKind.FAULT: 64 << 10,
    FrameKind.HELLO: 1 << 20,
    FrameKind.ENDED: ENDED.size,
    FrameKind.ARTIFACT: 64 << 20,
    FrameKind.ROWS: 64 << 20,
    FrameKind.ASK: 4 << 20,
    FrameKind.ANSWER: 32 << 20,
    FrameKind.BORN: BORN.size,
    FrameKind.ABOUT: 16 << 10,
    FrameKind.PAGES: PAGES.size,
}


class MalformedFrameError(ValueError):
    """What arrived is not a frame that may arrive here."""


@dataclass(frozen=True, slots=True)
class Frame:
    kind: FrameKind
    payload: bytes


def pack(kind: FrameKind, payload: bytes) -> bytes:
    return pack_header(kind, len(payload)) + payload


def pack_header(kind: FrameKind, length: int) -> bytes:
    """The header alone, for a payload too long to copy."""
    if length > LONGEST[kind]:
        raise MalformedFrameError(f"{kind.name} of {length} bytes, at most {LONGEST[kind]}")
    return HEADER.pack(kind, length)


def parse_header(header: bytes, kinds: frozenset[FrameKind]) -> tuple[FrameKind, int]:
    """What a header announces, refused before a byte of it is read."""
    number, length = HEADER.unpack(header)
    kind = next((kind for kind in kinds if kind == number), None)
    if kind is None:
        raise MalformedFrameError(f"kind {number}")
    if length > LONGEST[kind]:
        raise MalformedFrameError(f"{kind.name} of {length} bytes, at most {LONGEST[kind]}")
    return kind, length


class FrameSplitter:
    """Cuts a stream of bytes into frames, whatever pieces it arrives in."""

    def __init__(self, *kinds: FrameKind) -> None:
        self._kinds = frozenset(kinds)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            kind, length = parse_header(bytes(self._buffer[: HEADER.size]), self._kinds)
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(memoryview(self._buffer)[HEADER.size : end])
            del self._buffer[:end]
            yield Frame(kind, payload)
