"""Frames arrive whole, whatever pieces their bytes come in, and nothing else passes for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.work import framing
from docmill.work.framing import Frame, Kind, Malformed, Splitter

PAYLOADS = st.lists(st.binary(max_size=200), max_size=5)


@given(payloads=PAYLOADS, size=st.integers(1, 50))
def test_frames_survive_being_cut_anywhere(payloads: list[bytes], size: int) -> None:
    stream = b"".join(framing.pack(Kind.PROGRESS, payload) for payload in payloads)
    splitter = Splitter(Kind.PROGRESS)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    frames = [frame for piece in pieces for frame in splitter.feed(piece)]
    assert frames == [Frame(Kind.PROGRESS, payload) for payload in payloads]


@given(garbage=st.binary(min_size=framing.HEADER.size))
def test_garbage_is_cut_into_known_frames_or_refused(garbage: bytes) -> None:
    try:
        frames = list(Splitter(Kind.PROGRESS, Kind.FAULT).feed(garbage))
    except Malformed:
        return
    assert all(len(frame.payload) <= framing.LONGEST[frame.kind] for frame in frames)


def test_a_kind_that_does_not_belong_here_is_refused() -> None:
    with pytest.raises(Malformed, match="kind 5"):
        list(Splitter(Kind.RESULT).feed(framing.pack(Kind.HELLO, b"")))


def test_a_frame_too_long_is_refused_before_it_is_read() -> None:
    header = framing.HEADER.pack(Kind.RESULT, framing.LONGEST[Kind.RESULT] + 1)
    with pytest.raises(Malformed, match="at most"):
        list(Splitter(Kind.RESULT).feed(header))
    with pytest.raises(Malformed, match="at most"):
        framing.pack(Kind.PROGRESS, bytes(1000))
