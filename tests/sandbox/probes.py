"""Pipelines that behave badly, and attempts to escape. The fork server imports them."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from docmill.core.faults import DocmillError
from docmill.core.plugins import Output, Source, Tools

Run = Callable[[Source, Tools], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Probe:
    name: str
    does: Run
    version: str = "7"
    accepts: tuple[str, ...] = ("text/plain",)

    def run(self, source: Source, tools: Tools) -> Output:
        return Output(self.does(source, tools), rows=source.options.get("rows", {}))


def _echo(source: Source, tools: Tools) -> dict[str, Any]:
    tools.progress(20, "reading")
    text = source.file.read().decode()
    tools.progress(70, "writing")
    return {
        "text": text,
        "filename": source.filename,
        "content_type": source.content_type,
        "sha256": source.sha256,
        "mapping": source.mapping,
        "options": dict(source.options),
        "environ": dict(os.environ),
        "pid": os.getpid(),
        "fds": _open_fds(),
    }


def _open_fds() -> list[int]:
    def is_open(fd: int) -> bool:
        try:
            os.fstat(fd)
        except OSError:
            return False
        return True

    return [fd for fd in range(64) if is_open(fd)]


def _call(source: Source, tools: Tools) -> dict[str, Any]:
    """Whichever of the functions below the options name."""
    return {"did": BEHAVIOURS[source.options["does"]](source, tools)}


def _hog(_source: Source, _tools: Tools) -> None:
    kept: list[bytearray] = []
    while True:
        kept.append(bytearray(16 << 20))


def _spin(_source: Source, tools: Tools) -> None:
    tools.progress(10, f"pid {os.getpid()}")
    while True:
        pass


def _work_silently(source: Source, tools: Tools) -> float:
    """So much CPU, however long that takes, and not a word meanwhile."""
    tools.progress(10, f"pid {os.getpid()}")
    until = time.process_time() + source.options["seconds"]
    while time.process_time() < until:
        pass
    return source.options["seconds"]


def _wake_now_and_then(_source: Source, tools: Tools) -> None:
    """As a child does whose work hangs while another thread tells that it goes on."""
    while True:
        tools.progress(50, "still here")
        time.sleep(0.2)


def _chatter(_source: Source, tools: Tools) -> None:
    while True:
        tools.progress(50, "still here")


def _recurse(source: Source, tools: Tools) -> None:
    _recurse(source, tools)


def _secret_error(source: Source, _tools: Tools) -> None:
    raise ValueError(source.file.read().decode())


def _faulted(_source: Source, _tools: Tools) -> None:
    raise DocmillError("BAD_FILE", "no\npages")


def _garbage(_source: Source, _tools: Tools) -> None:
    for fd in range(3, 64):
        _write(fd, b"\xff" * 100)


def _half_frame(_source: Source, _tools: Tools) -> None:
    for fd in range(3, 64):
        _write(fd, b"\x03\x00\x00\xff\xff{")
    time.sleep(60)


def _long_frame(_source: Source, _tools: Tools) -> None:
    for fd in range(3, 64):
        _write(fd, b"\x03\xff\xff\xff\xff{")
    time.sleep(60)


def _flood(_source: Source, _tools: Tools) -> None:
    while True:
        for fd in range(3, 64):
            _write(fd, b"\x02\x00\x00\x00\x02\x01x")


def _write(fd: int, data: bytes) -> None:
    try:
        os.write(fd, data)
    except OSError:
        return


def _hang_up(_source: Source, _tools: Tools) -> None:
    os.closerange(0, 64)
    while True:
        time.sleep(1)


def _tell_pages(source: Source, tools: Tools) -> None:
    tools.size(3)
    tools.size(source.options["pages"])
    if "code" in source.options:
        raise DocmillError(source.options["code"])


def _tell_pages_without_end(_source: Source, tools: Tools) -> None:
    while True:
        tools.size(1)


def _many_stages(_source: Source, tools: Tools) -> None:
    for page in range(5000):
        tools.progress(page // 50, f"page {page}")


def _threads(_source: Source, _tools: Tools) -> int:
    counted: list[int] = []
    threads = [threading.Thread(target=counted.append, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(counted)


def _awkward(_source: Source, _tools: Tools) -> list[str]:
    return ["a\x00b", "c\\u0000d", "\\\x00", "e\ud800f"]


def _wide(_source: Source, _tools: Tools) -> str:
    return "x" * (20 << 20)


def _late_import(_source: Source, _tools: Tools) -> str:
    import wave  # noqa: PLC0415  late on purpose

    return str(wave.__name__)


def _ask(source: Source, tools: Tools) -> object:
    return tools.ask(source.options["service"], source.options["request"])


def _ask_each(source: Source, tools: Tools) -> list[object]:
    return [tools.ask(source.options["service"], one) for one in source.options["requests"]]


def _ask_in_threads(_source: Source, tools: Tools) -> list[object]:
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(partial(tools.ask, "double"), range(8)))


def _ask_or_else(_source: Source, tools: Tools) -> str:
    try:
        tools.ask("broken", 1)
    except DocmillError as exc:
        return f"{exc.fault.code} {exc.facts}"
    return "no fault"


def _ask_twice_at_once(_source: Source, _tools: Tools) -> None:
    """Not through the tools, which wait for the answer."""
    payload = b'{"service": "double", "request": 1}'
    for fd in range(3, 64):
        _write(fd, 2 * (b"\x09" + len(payload).to_bytes(4, "big") + payload))
    time.sleep(60)


def _ask_nonsense(_source: Source, _tools: Tools) -> None:
    for fd in range(3, 64):
        _write(fd, b"\x09\x00\x00\x00\x02[]")
    time.sleep(60)


def _ask_without_end(_source: Source, tools: Tools) -> None:
    while True:
        tools.ask("double", 1)


def _ask_and_stay(_source: Source, tools: Tools) -> None:
    tools.ask("double", 1)
    time.sleep(60)


def _pretend_resting(_source: Source, _tools: Tools) -> None:
    raise DocmillError("SERVICE_RESTING", "says the child")


BEHAVIOURS: dict[str, Callable[[Source, Tools], object]] = {
    "hog": _hog,
    "spin": _spin,
    "work silently": _work_silently,
    "wake now and then": _wake_now_and_then,
    "chatter": _chatter,
    "recurse": _recurse,
    "secret error": _secret_error,
    "faulted": _faulted,
    "garbage": _garbage,
    "half frame": _half_frame,
    "long frame": _long_frame,
    "flood": _flood,
    "hang up": _hang_up,
    "tell pages": _tell_pages,
    "tell pages without end": _tell_pages_without_end,
    "many stages": _many_stages,
    "threads": _threads,
    "awkward": _awkward,
    "wide": _wide,
    "late import": _late_import,
    "ask": _ask,
    "ask each": _ask_each,
    "ask in threads": _ask_in_threads,
    "ask or else": _ask_or_else,
    "ask twice at once": _ask_twice_at_once,
    "ask nonsense": _ask_nonsense,
    "ask without end": _ask_without_end,
    "ask and stay": _ask_and_stay,
    "pretend resting": _pretend_resting,
    "services": lambda _s, tools: sorted(tools.services),
    "segfault": lambda _s, _t: ctypes.string_at(0),
    "abort": lambda _s, _t: os.abort(),
    "exit 0": lambda _s, _t: os._exit(0),
    "sys.exit": lambda _s, _t: sys.exit(3),
    "kill oneself": lambda _s, _t: os.kill(os.getpid(), signal.SIGKILL),
    "rows": lambda _s, _t: "rows given",
    "nan": lambda _s, _t: float("nan"),
    "object": lambda _s, _t: object(),
}


echo = Probe("echo", _echo)
call = Probe("call", _call)
