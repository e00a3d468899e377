"""What a parser of strangers' bytes may do: prctl, Landlock, seccomp and rlimits, without root.

The fork server encloses itself once and its forks inherit that; each child adds its own limits.
"""

import ctypes
import errno
import os
import resource
import site
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Final

from docmill.sandbox import seccomp

LINUX: Final = sys.platform == "linux"

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_FILTER_MODE: Final = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# How many file rights the kernel knows, by Landlock version; all are taken, two given back.
_FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_CAPABILITIES_V3: Final = 0x20080522

_SHARED: Final = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/usr/share",
    "/usr/local/share",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
)
_OPEN_FILES: Final = 128


@dataclass(frozen=True, slots=True)
class Confinement:
    """What is in force and what this machine cannot do, for the log and `docmill doctor`."""

    in_force: tuple[str, ...]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        lacks = f" (missing: {'; '.join(self.missing)})" if self.missing else ""
        return (", ".join(self.in_force) or "none") + lacks


@dataclass(frozen=True, slots=True)
class Caps:
    """The rlimits of one run. `base_bytes` is what the warm parent has mapped already.

    `cpu_seconds` differs by run: it depends on the document.
    """

    memory_bytes: int
    cpu_seconds: int
    base_bytes: int = 0


def _load_library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    if LINUX:
        library.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
        library.syscall.argtypes = [ctypes.c_long] * 5
        library.syscall.restype = ctypes.c_long
        library.capset.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    return library


_C: Final = _load_library()


def _check_result(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _prctl(option: int, value: int = 0, pointer: int = 0) -> None:
    _check_result(_C.prctl(option, value, pointer, 0, 0))


def tie_to(parent: int) -> None:
    """Die with the parent. The check covers a parent that died before the tie was made."""
    if LINUX:
        _prctl(_PR_SET_PDEATHSIG, SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def enclose(readable: Iterable[str] = ()) -> Confinement:
    """Shut this process and its future children in, as far as the machine can; never back."""
    if not LINUX:
        return Confinement((), (f"{sys.platform} has neither landlock nor seccomp",))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)
    in_force: list[str] = []
    missing: list[str] = []
    parts: tuple[tuple[str, Callable[[], str]], ...] = (
        ("capabilities", _drop_capabilities),
        ("landlock", lambda: _landlock(_find_existing(readable))),
        ("seccomp", _probe_seccomp),
    )
    for name, part in parts:
        try:
            in_force.append(part())
        except OSError as exc:
            missing.append(f"{name}: {errno.errorcode.get(exc.errno or 0, 'unsupported')}")
    return Confinement(tuple(in_force), tuple(missing))


def _drop_capabilities() -> str:
    """A worker run by root in a container must not lend its powers to a parser."""
    header = struct.pack("=Ii", _CAPABILITIES_V3, 0)
    _check_result(_C.capset(header, bytes(24)))
    return "no capabilities"


def _landlock(paths: Iterable[Path]) -> str:
    version = _check_result(_C.syscall(_CREATE_RULESET, 0, 0, 1, 0))
    rights = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    attributes = struct.pack("=Q", rights)
    if version >= _NETWORK_SINCE:
        attributes += struct.pack("=Q", 0b11)
    if version >= _SCOPES_SINCE:
        attributes += struct.pack("=Q", 0b11)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    address = ctypes.addressof(buffer)
    ruleset = _check_result(_C.syscall(_CREATE_RULESET, address, len(attributes), 0, 0))
    try:
        for path in paths:
            _allow_reading(ruleset, path)
        _check_result(_C.syscall(_RESTRICT_SELF, ruleset, 0, 0, 0))
    finally:
        os.close(ruleset)
    return f"landlock {version}"


def _allow_reading(ruleset: int, path: Path) -> None:
    rights = _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, folder), 12)
        _check_result(_C.syscall(_ADD_RULE, ruleset, 1, ctypes.addressof(rule), 0))
    finally:
        os.close(folder)


def _find_existing(readable: Iterable[str]) -> list[Path]:
    """Every readable place that is there, without those inside another."""
    wanted = {Path(place).resolve() for place in (*_SHARED, *_python_places(), *readable)}
    return [
        path
        for path in sorted(wanted)
        if path.exists() and path != Path("/") and wanted.isdisjoint(path.parents)
    ]


def _python_places() -> Iterator[str]:
    """The installation, and of other import folders only the packages in use.

    An import folder may be the working folder, which may hold the data folder and a `.env`.
    """
    yield from (f"{sys.base_prefix}/lib", f"{sys.base_exec_prefix}/lib")
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from site.getsitepackages()
    yield site.getusersitepackages()
    for name, module in list(sys.modules.items()):
        if "." in name or name == "__main__":
            continue
        file: str | None = getattr(module, "__file__", None)
        folders: Iterable[str] | None = getattr(module, "__path__", None)
        yield from folders or ([file] if file else [])


def _probe_seccomp() -> str:
    """Asks with no filter at hand: EFAULT says that one would have been taken."""
    if not seccomp.is_supported():
        raise OSError(errno.ENOSYS, "no filter for this machine")
    try:
        _prctl(_PR_SET_SECCOMP, _FILTER_MODE, 0)
    except OSError as exc:
        if exc.errno != errno.EFAULT:
            raise
    return "seccomp"


def filter_calls() -> None:
    """From here on this process may make only the system calls of `seccomp`."""
    code = seccomp.build_filter(os.getpid())
    instructions = ctypes.create_string_buffer(code, len(code))
    address = ctypes.addressof(instructions)
    pointer = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, address))
    _prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(pointer))


def limit(caps: Caps) -> None:
    """Memory is bounded twice: what is written to, and with it all that is mapped."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_CPU: caps.cpu_seconds,
        resource.RLIMIT_DATA: caps.memory_bytes,
        resource.RLIMIT_AS: caps.memory_bytes + caps.base_bytes,
    }
    if not LINUX:  # Linux would count the threads of all workers; there the filter refuses forks
        wanted[resource.RLIMIT_NPROC] = 0
    # macOS refuses some of these; on Linux a limit that cannot be set must stop the child.
    tolerated = () if LINUX else (ValueError, OSError)
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # At the hard limit of CPU time comes SIGKILL; SIGXCPU, a second before, says why.
        spare = 1 if kind == resource.RLIMIT_CPU and soft != hard else 0
        with suppress(*tolerated):
            resource.setrlimit(kind, (soft, soft + spare))


def mapped_bytes() -> int:
    """The address space in use; 0 where that cannot be known."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text("ascii").split()[0]
        return int(pages) * resource.getpagesize()
    return 0
