"""The memory a fork server shares with its children."""

from docmill.sandbox import huge_pages

MAPS = """\
55d000100000-55d000a00000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
7f0000600000-7f00007ff000 rw-p 00000000 00:00 0
7f0000800000-7f0000e00000 r--p 00000000 fd:00 77                         /usr/lib/a model.bin
7f0001000000-7f0001600000 rw-p 00000000 fd:00 78                         /usr/lib/libother.so
7f0002000000-7f0002400000 rw-s 00000000 00:01 9                          /dev/zero (deleted)
7f0003000000-7f0003800000 ---p 00000000 00:00 0
7ffd00000000-7ffd00400000 rw-p 00000000 00:00 0                          [stack]
"""


def test_only_whole_huge_pages_of_private_memory_without_a_file_are_taken() -> None:
    found = [(hex(start), hex(end)) for start, end in huge_pages.find_own_memory(MAPS.splitlines())]
    assert found == [("0x55d000200000", "0x55d000a00000"), ("0x7f0000000000", "0x7f0000400000")]


def test_memory_holds_the_same_after_it_was_put_together() -> None:
    kept = [bytes([number]) * huge_pages.HUGE for number in range(8)]
    assert huge_pages.gather_memory() >= 0
    assert kept == [bytes([number]) * huge_pages.HUGE for number in range(8)]
