"""A process that holds XML against the published rules: `python -m docmill.work.examiner PARENT`.

Schematron's engine reserves more addresses than a confined child may have, so it has a process of
its own, started by `docmill.work.checking`, by nobody else. It reads nothing but its own input:
the rules are compiled first, then it shuts itself in.
"""

import json
import resource
import struct
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NoReturn

from docmill import mappings
from docmill.mappings.checkers import dispatch, en16931
from docmill.mappings.checkers.en16931 import Unavailable
from docmill.work import confine

# A question: the lengths of the mapping's name and of the XML. An answer: its length.
ASKED: Final = struct.Struct("!II")
TOLD: Final = struct.Struct("!I")
MOST_PROBLEMS: Final = 200
# What it may take beyond what the compiled rules take.
MEMORY: Final = 512 << 20


def main() -> NoReturn:
    confine.tie_to(int(sys.argv[1]))
    reason = _warm()
    _limit()
    confine.enclose()
    _tell({"ready": not reason, "reason": reason})
    while asked := sys.stdin.buffer.read(ASKED.size):
        name, length = ASKED.unpack(asked)
        mapping = sys.stdin.buffer.read(name).decode()
        _tell(_checked(mapping, sys.stdin.buffer.read(length)))
    sys.exit(0)


def _warm() -> str:
    """Everything that is read from files is read now; else why that cannot be."""
    try:
        en16931.check(b"<Invoice/>", "ubl")
        en16931.check(b"<Invoice/>", "cii")
    except Unavailable as exc:
        return str(exc)
    return ""


def _limit() -> None:
    used = next(
        (line for line in Path("/proc/self/status").read_text().splitlines() if "VmData" in line),
        "VmData: 0 kB",
    )
    most = int(used.split()[1]) * 1024 + MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _checked(name: str, document: bytes) -> dict[str, Any]:
    found = dispatch.check(mappings.load(name), document)
    return {"violations": [asdict(problem) for problem in found[:MOST_PROBLEMS]]}


def _tell(words: dict[str, Any]) -> None:
    payload = json.dumps(words).encode()
    sys.stdout.buffer.write(TOLD.pack(len(payload)) + payload)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
