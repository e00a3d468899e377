"""Inside a child: one confined run of one pipeline, and its last word to the worker."""

import errno
import json
import os
import re
import select
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from docmill.core import faults, installed, plugins
from docmill.core.plugins import Memory
from docmill.core.summaries import clean_sentence, clean_summary
from docmill.sandbox import confine, protocol
from docmill.sandbox.outcome import REASON_CHARACTERS
from docmill.sandbox.protocol import FrameKind

_FRAMES_SHOWN: Final = 30
_CHAIN_SHOWN: Final = 5
# JSON may need six bytes a character, and a fault frame has 64 KiB.
_STACK_CHARACTERS: Final = 8_000
_PIECE: Final = 1 << 20
_ESCAPED_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    """What every child of this fork server keeps to."""

    caps: confine.Caps
    filtered: bool


class ChildChannel:
    """The child's end. A worker that does not listen ends the child: nobody wants its answer."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._writable = select.poll()
        self._writable.register(fd, select.POLLOUT)
        self._sent_at = 0.0
        self._stage = ""
        self._spare = protocol.SPARE_STAGES
        self._kept_bytes = 0

    def receive(self, kind: FrameKind = FrameKind.TASK) -> Mapping[str, Any]:
        """What the worker sends: first the task, then an answer to each question."""
        header = self._read(protocol.HEADER.size)
        _, length = protocol.parse_header(header, frozenset({kind}))
        return json.loads(self._read(length))

    def ask(self, service: str, request: Any) -> Any:
        """Waits for the answer, one thread after the other."""
        payload = _pack_question(service, request)
        if len(payload) > protocol.LONGEST[FrameKind.ASK]:
            detail = (
                f"{len(payload)} bytes for {service}, at most {protocol.LONGEST[FrameKind.ASK]}"
            )
            raise faults.DocmillError("SERVICE_REFUSED", detail)
        return self._ask_host(payload)

    def keep(self, kind: str, number: int, items: list[Any]) -> None:
        """Within what a run may say in all: where a step does not fit, none after it is kept."""
        payload = _pack_question(protocol.KEEP, {"kind": kind, "number": number, "items": items})
        self._kept_bytes += len(payload)
        if len(payload) > protocol.LONGEST[FrameKind.ASK]:
            self._kept_bytes = protocol.MOST_KEPT_BYTES
        if self._kept_bytes < protocol.MOST_KEPT_BYTES:
            self._ask_host(payload)

    def recall(self, kind: str, number: int) -> list[Any] | None:
        return self.ask(protocol.RECALL, {"kind": kind, "number": number})

    def size(self, pages: int) -> None:
        self.ask(protocol.SIZE, {"pages": pages})

    def tell_pages(self, pages: int) -> None:
        """As `size`, but waits for no answer: a run that waits costs a fifth of a short one."""
        self.send(FrameKind.PAGES, protocol.PAGES.pack(max(0, pages)))

    def _ask_host(self, question: bytes) -> Any:
        with self._asking:
            self.send(FrameKind.ASK, question)
            words = self.receive(FrameKind.ANSWER)
        if "code" in words:
            raise faults.DocmillError(words["code"], words["detail"], **words["facts"])
        return words["answer"]

    def progress(self, percent: int, stage: str) -> None:
        """Never waits: what comes too often, or finds the channel full, is left out."""
        with self._lock:
            now = time.monotonic()
            if now - self._sent_at < protocol.PACE_SECONDS:
                if stage == self._stage or self._spare == 0:
                    return
                self._spare -= 1
            if not self._writable.poll(0):
                return
            self._sent_at, self._stage = now, stage
            payload = bytes([max(0, min(100, int(percent)))]) + stage.encode(errors="replace")[:255]
            self._write(protocol.pack(FrameKind.PROGRESS, payload))

    def send(self, kind: FrameKind, payload: bytes) -> None:
        """Something before the last word; waits until the worker has taken it."""
        with self._lock:
            self._write(protocol.pack_header(kind, len(payload)))
            self._write(payload)

    def end(self, kind: FrameKind, payload: bytes) -> NoReturn:
        """The last word; no other thread gets to speak after it."""
        self._lock.acquire()
        self._write(protocol.pack_header(kind, len(payload)))
        self._write(payload)
        os._exit(0)

    def _read(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            piece = os.read(self._fd, min(length - len(data), _PIECE))
            if not piece:
                os._exit(1)
            data += piece
        return bytes(data)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            os._exit(1)


def _pack_question(service: str, request: Any) -> bytes:
    return json.dumps({"service": service, "request": request}).encode()


def run_child(
    channel_fd: int, document: int, *, loaded: installed.LoadedPipelines, rules: SandboxConfig
) -> NoReturn:
    """The whole life of a child, after the fork. It never returns and runs no exit handlers."""
    try:
        channel = ChildChannel(channel_fd)
        confine.limit(rules.caps)
        if rules.filtered:
            confine.filter_calls()
        task = channel.receive()
        kind, payload = _answer_task(task, document, loaded=loaded, channel=channel)
        channel.end(kind, payload)
    except MemoryError:
        os._exit(protocol.NO_MEMORY_EXIT)
    finally:
        os._exit(1)


def _answer_task(
    task: Mapping[str, Any],
    document: int,
    *,
    loaded: installed.LoadedPipelines,
    channel: ChildChannel,
) -> tuple[FrameKind, bytes]:
    try:
        return FrameKind.RESULT, _run_pipeline(task, document, loaded=loaded, channel=channel)
    except faults.DocmillError as exc:
        stack = _format_stack(exc)
        return FrameKind.FAULT, _pack_fault(exc.fault.code, exc.detail, stack, reason=exc.reason)
    except MemoryError as exc:
        # The frames hold what filled the memory; they are dropped before anything is said.
        place, exc.__traceback__ = _find_place(exc), None
        return FrameKind.FAULT, _pack_fault(
            "OUT_OF_MEMORY", f"no memory left in {place}", "", exhausted=True
        )
    except BaseException as exc:  # noqa: BLE001  SystemExit and panics of Rust libraries as well
        return FrameKind.FAULT, _pack_fault(
            "UNKNOWN", f"{_name_exception(exc)} in {_find_place(exc)}", _format_stack(exc)
        )


def _run_pipeline(
    task: Mapping[str, Any],
    document: int,
    *,
    loaded: installed.LoadedPipelines,
    channel: ChildChannel,
) -> bytes:
    name = task["pipeline"]
    if name in loaded.broken:
        raise faults.DocmillError("UNKNOWN", f"pipeline {name} could not be imported")
    if name not in loaded.pipelines:
        raise faults.DocmillError("UNKNOWN_PIPELINE", f"this worker has no pipeline {name}")
    os.lseek(document, 0, os.SEEK_SET)
    with os.fdopen(document, "rb") as file:
        source = plugins.Source(
            file=file,
            filename=task["filename"],
            content_type=task["content_type"],
            sha256=task["sha256"],
            mapping=task["mapping"],
            options=task["options"],
        )
        services = frozenset[str](task["services"])
        tools = plugins.Tools(
            channel.progress, services, channel.ask, task["rows"], size=channel.tell_pages
        )
        if task["keeps"]:
            memory = Memory(channel.keep, channel.recall)
            tools = replace(tools, memory=memory, size=channel.size)
        output = loaded.pipelines[name].run(source, tools)
    data = _encode(output.data)
    if output.artifact:
        kind = output.artifact.content_type.encode()
        channel.send(FrameKind.ARTIFACT, kind + b"\n" + output.artifact.content)
    for noun, rows in output.rows.items():
        channel.send(FrameKind.ROWS, noun.encode() + b"\n" + _encode(rows))
    channel.send(FrameKind.ABOUT, _describe(output))
    return data


def _describe(output: plugins.Output) -> bytes:
    """In short, and short: the worker takes no more of it."""
    words = {
        "summary": clean_summary(output.summary),
        "pipeline": output.pipeline,
        "written": output.mapping,
        "decision": clean_sentence(output.decision, REASON_CHARACTERS),
        "refusal": clean_sentence(output.refusal, REASON_CHARACTERS),
    }
    return json.dumps(words).encode()


def _encode(data: object) -> bytes:
    """JSON that every database takes: no NaN, no lone surrogates, no NUL."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    encoded = text.encode(errors="replace")
    if b"\\u0000" in encoded:
        encoded = _ESCAPED_NUL.sub(rb"\1\\ufffd", encoded)
    longest = protocol.LONGEST[FrameKind.RESULT]
    if len(encoded) > longest:
        detail = f"a result of {len(encoded) >> 20} MB, at most {longest >> 20}"
        raise faults.DocmillError("OUT_OF_MEMORY", detail)
    return encoded


def _pack_fault(
    code: str, detail: str, stack: str, *, exhausted: bool = False, reason: str = ""
) -> bytes:
    words = {
        "code": code,
        "detail": detail[:1000],
        "stack": stack[-_STACK_CHARACTERS:],
        "exhausted": exhausted,
        "reason": clean_sentence(reason, REASON_CHARACTERS),
    }
    return json.dumps(words).encode()


def _name_exception(exc: BaseException) -> str:
    """The kind of an exception. Not its text: that may quote the document, and this is logged."""
    number = exc.errno if isinstance(exc, OSError) else None
    return type(exc).__name__ + (f" {errno.errorcode.get(number, number)}" if number else "")


def _find_place(exc: BaseException) -> str:
    frames = traceback.extract_tb(exc.__traceback__, limit=-1)
    return f"{frames[0].name}, {os.path.basename(frames[0].filename)}:{frames[0].lineno}"  # noqa: PTH119


def _format_stack(exc: BaseException) -> str:
    """The stacks of an exception and what led to it, oldest first, without their texts."""
    return "".join(reversed([*_format_stacks(exc)]))


def _format_stacks(exc: BaseException) -> Iterator[str]:
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen and len(seen) < _CHAIN_SHOWN:
        seen.add(id(current))
        lines = traceback.format_tb(current.__traceback__, limit=-_FRAMES_SHOWN)
        yield "".join([*lines, _name_exception(current), "\n"])
        current = current.__cause__ or current.__context__
