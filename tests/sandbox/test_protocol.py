"""Frames arrive whole, whatever pieces their bytes come in, and nothing else passes for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.sandbox import protocol
from docmill.sandbox.protocol import Frame, FrameKind, FrameSplitter, MalformedFrameError

PAYLOADS = st.lists(st.binary(max_size=200), max_size=5)


@given(payloads=PAYLOADS, size=st.integers(1, 50))
def test_frames_survive_being_cut_anywhere(payloads: list[bytes], size: int) -> None:
    stream = b"".join(protocol.pack(FrameKind.PROGRESS, payload) for payload in payloads)
    splitter = FrameSplitter(FrameKind.PROGRESS)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    frames = [frame for piece in pieces for frame in splitter.feed(piece)]
    assert frames == [Frame(FrameKind.PROGRESS, payload) for payload in payloads]


@given(garbage=st.binary(min_size=protocol.HEADER.size))
def test_garbage_is_cut_into_known_frames_or_refused(garbage: bytes) -> None:
    try:
        frames = list(FrameSplitter(FrameKind.PROGRESS, FrameKind.FAULT).feed(garbage))
    except MalformedFrameError:
        return
    assert all(len(frame.payload) <= protocol.LONGEST[frame.kind] for frame in frames)


def test_a_kind_that_does_not_belong_here_is_refused() -> None:
    with pytest.raises(MalformedFrameError, match="kind 5"):
        list(FrameSplitter(FrameKind.RESULT).feed(protocol.pack(FrameKind.HELLO, b"")))


def test_a_frame_too_long_is_refused_before_it_is_read() -> None:
    header = protocol.HEADER.pack(FrameKind.RESULT, protocol.LONGEST[FrameKind.RESULT] + 1)
    with pytest.raises(MalformedFrameError, match="at most"):
        list(FrameSplitter(FrameKind.RESULT).feed(header))
    with pytest.raises(MalformedFrameError, match="at most"):
        protocol.pack(FrameKind.PROGRESS, bytes(1000))
