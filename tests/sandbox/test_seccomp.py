"""The filter itself, run on paper for both machines: the one we are on proves only one of them."""

import re
import struct
from errno import ENOSYS, EPERM
from pathlib import Path

import pytest

from docmill.sandbox import seccomp

X86, ARM = "x86_64", "aarch64"
AUDIT = {X86: 0xC000003E, ARM: 0xC00000B7}
HEADERS = {
    X86: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    ARM: Path("/usr/include/asm-generic/unistd.h"),
}
KILLED, ALLOWED = 0x80000000, 0x7FFF0000
REFUSED, ABSENT = 0x50000 | EPERM, 0x50000 | ENOSYS
PID = 4321
# name: x86_64, aarch64
NUMBERS = {
    "read": (0, 63), "mmap": (9, 222), "futex": (202, 98), "exit_group": (231, 94),
    "openat": (257, 56), "clone": (56, 220), "fcntl": (72, 25), "ioctl": (16, 29),
    "prlimit64": (302, 261), "tgkill": (234, 131), "kill": (62, 129), "prctl": (157, 167),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "sendmsg": (46, 211),
    "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117), "unshare": (272, 97),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "mount": (165, 40),
    "setns": (308, 268), "bpf": (321, 280), "perf_event_open": (298, 241), "keyctl": (250, 219),
    "userfaultfd": (323, 282), "open_by_handle_at": (304, 265), "io_uring_setup": (425, 425),
    "pidfd_send_signal": (424, 424), "unlinkat": (263, 35), "memfd_create": (319, 279),
    "setrlimit": (160, 164), "seccomp": (317, 277), "clone3": (435, 435), "openat2": (437, 437),
}  # fmt: skip
REFUSED_ALWAYS = sorted(set(NUMBERS) - {
    "read", "mmap", "futex", "exit_group", "openat", "clone", "fcntl", "ioctl", "prlimit64",
    "tgkill", "kill", "prctl", "clone3", "openat2",
})  # fmt: skip
machines = pytest.mark.parametrize("machine", [X86, ARM])


def verdict(machine: str, number: int, *arguments: int, arch: int = 0) -> int:
    """A classic BPF machine, as far as the filter uses one."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, arch or AUDIT[machine], 0, *padded)
    steps = list(struct.iter_unpack("=HBBI", seccomp.build_filter(PID, machine)))
    at = held = 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        match code:
            case 0x20:
                held = int.from_bytes(data[value : value + 4], "little")
            case 0x54:
                held &= value
            case 0x06:
                return value
            case _:
                holds = {0x15: held == value, 0x35: held >= value, 0x25: held > value}[code]
                at += yes if holds else no


def call(machine: str, name: str, *arguments: int) -> int:
    return verdict(machine, NUMBERS[name][machine == ARM], *arguments)


@machines
@pytest.mark.parametrize("name", ["read", "mmap", "futex", "exit_group"])
def test_work_is_allowed(machine: str, name: str) -> None:
    assert call(machine, name) == ALLOWED


@machines
@pytest.mark.parametrize("name", REFUSED_ALWAYS)
def test_the_rest_is_refused(machine: str, name: str) -> None:
    assert call(machine, name) == REFUSED


@machines
def test_files_are_opened_for_reading_only(machine: str) -> None:
    cloexec = 0o2000000
    assert call(machine, "openat", 0, 0, cloexec) == ALLOWED
    for flag in (0o1, 0o2, 0o3, 0o100, 0o1000, 0o20000000):
        assert call(machine, "openat", 0, 0, cloexec | flag) == REFUSED


@machines
def test_threads_are_allowed_and_processes_are_not(machine: str) -> None:
    thread = 0x3D0F00
    assert call(machine, "clone", thread) == ALLOWED
    assert call(machine, "clone", 0x1200011) == REFUSED
    assert call(machine, "clone", thread | 0x10000000) == REFUSED


@machines
@pytest.mark.parametrize("name", ["kill", "tgkill"])
def test_a_child_may_signal_itself_alone(machine: str, name: str) -> None:
    assert call(machine, name, PID, 6) == ALLOWED
    for other in (PID + 1, 1, 0, 0xFFFFFFFF):
        assert call(machine, name, other, 6) == REFUSED


@machines
def test_limits_are_read_and_not_set(machine: str) -> None:
    assert call(machine, "prlimit64", 0, 7, 0, 1 << 40) == ALLOWED
    assert call(machine, "prlimit64", 0, 7, 1 << 40, 0) == REFUSED
    assert call(machine, "prlimit64", 0, 7, 8, 0) == REFUSED
    assert call(machine, "prlimit64", PID + 1, 7, 0, 0) == REFUSED


@machines
def test_only_harmless_controls_pass(machine: str) -> None:
    assert call(machine, "fcntl", 3, 1030) == ALLOWED
    assert call(machine, "fcntl", 3, 8) == REFUSED
    assert call(machine, "ioctl", 0, 0x5401) == ALLOWED
    assert call(machine, "ioctl", 0, 0x5412) == REFUSED
    assert call(machine, "prctl", 15) == ALLOWED
    assert call(machine, "prctl", 1) == REFUSED


@machines
def test_what_the_c_library_can_do_without_looks_absent(machine: str) -> None:
    assert call(machine, "clone3") == ABSENT
    assert call(machine, "openat2") == ABSENT
    assert verdict(machine, 470) == ABSENT


@machines
def test_another_machine_s_calls_kill(machine: str) -> None:
    i386 = 0x40000003
    assert verdict(machine, 3, arch=i386) == KILLED
    assert verdict(machine, 3, arch=AUDIT[ARM if machine == X86 else X86]) == KILLED


def test_x32_calls_kill() -> None:
    assert verdict(X86, 0x40000000 | 41) == KILLED


@machines
def test_the_numbers_are_the_kernel_s(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"{HEADERS[machine]} is not installed")
    defined = re.compile(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", re.MULTILINE)
    header = dict(defined.findall(HEADERS[machine].read_text("utf-8")))
    header.setdefault("newfstatat", header.get("fstatat", ""))
    ours = seccomp.list_numbers(machine)
    theirs = {name: int(header[name]) for name in ours if name in header}
    assert ours == theirs
    named = {name: pair[machine == ARM] for name, pair in NUMBERS.items()}
    assert named == {name: int(header[name]) for name in named}
