"""The system calls a child may make, as a seccomp filter: everything else is refused."""

import platform
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from errno import ENOSYS, EPERM
from typing import Final

# name:x86_64:aarch64. Reading, memory, threads, time, and words about oneself; no sockets, no
# processes, no names in the file system changed. An allow list: what is forgotten is refused.
_ALLOWED: Final = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69
preadv2:327:286 close:3:57 close_range:436:436 lseek:8:62 dup:32:23 dup2:33:- dup3:292:24
pipe:22:- pipe2:293:59 access:21:- faccessat:269:48 faccessat2:439:439 stat:4:- lstat:6:-
fstat:5:80 newfstatat:262:79 statx:332:291 statfs:137:43 fstatfs:138:44 readlink:89:-
readlinkat:267:78 getcwd:79:17 getdents:78:- getdents64:217:61 fadvise64:221:223
poll:7:- ppoll:271:73 select:23:- pselect6:270:72 epoll_create:213:- epoll_create1:291:20
epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22 eventfd:284:- eventfd2:290:19
brk:12:214 mmap:9:222 munmap:11:215 mprotect:10:226 mremap:25:216 madvise:28:233 msync:26:227
mincore:27:232 mbind:237:235 get_mempolicy:239:236 set_mempolicy:238:237 membarrier:324:283
futex:202:98 futex_waitv:449:449 sched_yield:24:124 sched_getaffinity:204:123
sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125
sched_get_priority_min:147:126 getcpu:309:168 getpriority:140:141 set_tid_address:218:96
set_robust_list:273:99 rseq:334:293 gettid:186:178 exit:60:93 exit_group:231:94
rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136
rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132 restart_syscall:219:128
pause:34:- nanosleep:35:101 clock_nanosleep:230:115 clock_gettime:228:113 clock_getres:229:114
gettimeofday:96:169 time:201:- times:100:153 alarm:37:- getitimer:36:102 setitimer:38:103
getpid:39:172 getppid:110:173 getpgrp:111:- getpgid:121:155 getsid:124:156 getuid:102:174
geteuid:107:175 getgid:104:176 getegid:108:177 getresuid:118:148 getresgid:120:150
getgroups:115:158 umask:95:166 uname:63:160 sysinfo:99:179 getrlimit:97:163 getrusage:98:165
arch_prctl:158:- getrandom:318:278
"""
# Allowed for some arguments only.
_GUARDED: Final = """
open:2:- openat:257:56 clone:56:220 fcntl:72:25 ioctl:16:29 prctl:157:167 prlimit64:302:261
kill:62:129 tkill:200:130 tgkill:234:131
"""
# The C library tries these first and falls back only when they do not exist.
_ABSENT: Final = "clone3:435:435 openat2:437:437"
# Numbers above were unknown to us: a newer C library must see an older kernel, not a refusal.
_NEWEST: Final = 451

_COLUMN: Final[Mapping[str, int]] = {"x86_64": 1, "aarch64": 2}
_AUDIT: Final[Mapping[str, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32: Final = 0x40000000

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST, _ABOVE = 0x15, 0x35, 0x25
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_REFUSE, _MISSING = 0x00050000 | EPERM, 0x00050000 | ENOSYS
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_WHOLE: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Test:
    """One argument, masked, must be one of these. `half` 1 is the upper word of 64 bits."""

    argument: int
    values: tuple[int, ...]
    mask: int = _WHOLE
    half: int = 0


# O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, __O_TMPFILE: none of them.
_READING: Final = 0o20001103
# CLONE_THREAD, and no CLONE_NEW*: a thread, not a process, and in no new namespace.
_THREAD, _NAMESPACES = 0x00010000, 0x7E020000
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC. Not F_SETOWN: it sends signals.
_FCNTL: Final = (0, 1, 2, 3, 4, 1030)
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
_IOCTL: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_GET_THP_DISABLE, PR_SET_VMA.
_PRCTL: Final = (15, 16, 23, 42, 0x53564D41)


def is_supported() -> bool:
    return sys.maxsize > 2**32 and platform.machine() in _COLUMN


def build_filter(pid: int, machine: str = "") -> bytes:
    """The filter for the process `pid`, which may signal nobody but itself."""
    machine = machine or platform.machine()
    code = [*_check_machine(machine)]
    for number in _parse_numbers(_ALLOWED, machine).values():
        code += [_pack_step(_EQUAL, number, no=1), _pack_step(_RETURN, _ALLOW)]
    guards = _make_guards(pid)
    for name, number in _parse_numbers(_GUARDED, machine).items():
        code += _guard_call(number, guards[name])
    for number in _parse_numbers(_ABSENT, machine).values():
        code += [_pack_step(_EQUAL, number, no=1), _pack_step(_RETURN, _MISSING)]
    code += [
        _pack_step(_ABOVE, _NEWEST, no=1),
        _pack_step(_RETURN, _MISSING),
        _pack_step(_RETURN, _REFUSE),
    ]
    return b"".join(code)


def list_numbers(machine: str) -> dict[str, int]:
    """Every system call the filter names, by this machine's number."""
    return _parse_numbers(_ALLOWED + _GUARDED + _ABSENT, machine)


def _parse_numbers(table: str, machine: str) -> dict[str, int]:
    rows = (row.split(":") for row in table.split())
    column = _COLUMN[machine]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _make_guards(pid: int) -> dict[str, tuple[_Test, ...]]:
    oneself = (_Test(0, (pid,)),)
    return {
        "open": (_Test(1, (0,), _READING),),
        "openat": (_Test(2, (0,), _READING),),
        "clone": (_Test(0, (_THREAD,), _THREAD | _NAMESPACES),),
        "fcntl": (_Test(1, _FCNTL),),
        "ioctl": (_Test(1, _IOCTL),),
        "prctl": (_Test(0, _PRCTL),),
        # One's own limits may be read, not set: root could raise them.
        "prlimit64": (_Test(0, (0,)), _Test(2, (0,)), _Test(2, (0,), half=1)),
        "kill": oneself,
        "tkill": oneself,
        "tgkill": oneself,
    }


def _check_machine(machine: str) -> Iterator[bytes]:
    yield _pack_step(_LOAD, _ARCH_AT)
    yield _pack_step(_EQUAL, _AUDIT[machine], yes=1)
    yield _pack_step(_RETURN, _KILL)
    yield _pack_step(_LOAD, _NUMBER_AT)
    if machine == "x86_64":
        yield _pack_step(_AT_LEAST, _X32, no=1)
        yield _pack_step(_RETURN, _KILL)


def _guard_call(number: int, tests: tuple[_Test, ...]) -> list[bytes]:
    body = [step for test in tests for step in _test_argument(test)]
    body.append(_pack_step(_RETURN, _ALLOW))
    return [_pack_step(_EQUAL, number, no=len(body)), *body]


def _test_argument(test: _Test) -> Iterator[bytes]:
    yield _pack_step(_LOAD, _ARGUMENTS_AT + 8 * test.argument + 4 * test.half)
    yield _pack_step(_AND, test.mask)
    for index, value in enumerate(test.values):
        yield _pack_step(_EQUAL, value, yes=len(test.values) - index)
    yield _pack_step(_RETURN, _REFUSE)


def _pack_step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; jumps count the instructions to pass over."""
    return struct.pack("=HBBI", code, yes, no, value)
