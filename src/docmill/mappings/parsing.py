"""A mapping file as lines: a tree by indentation, and the keys of each line in TOML's words.

mapping NAME {title = "..", empty = "keep", checker = ".."}
namespace PREFIX {uri = ".."}
Element
  @attribute {constant = ".."}
  Child {path = "seller.name", required = true}
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

STEP: Final = 2
WORD: Final = r"[A-Za-z_][\w.\-]*"
_LINE: Final = re.compile(rf"(?P<name>@?{WORD}(?::{WORD})?)(?P<rest>\s.*)?", re.ASCII)
_DIRECTIVE: Final = re.compile(r"(?P<kind>mapping|namespace)\s+(?P<name>\S+)(?P<rest>\s.*)?")
_PLACE: Final = re.compile(r" \(at line \d+, column \d+\)| \(at end of document\)")


@dataclass(frozen=True, slots=True)
class Line:
    """One meaningful line; `kind` is mapping, namespace or node."""

    number: int
    kind: str
    name: str
    keys: Mapping[str, Any]


@dataclass(slots=True)
class Branch:
    """A node's line with the lines below it."""

    line: Line
    below: list["Branch"] = field(default_factory=list["Branch"])


@dataclass(slots=True)
class Sheet:
    """A file cut into its parts, with what could not be understood."""

    directives: list[Line] = field(default_factory=list[Line])
    roots: list[Branch] = field(default_factory=list[Branch])
    troubles: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


class _NotUnderstood(Exception):  # noqa: N818  it never leaves this module
    pass


def cut(text: str) -> Sheet:
    sheet = Sheet()
    open_branches: list[Branch] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        if not raw.strip() or raw.lstrip().startswith("#"):
            continue
        try:
            depth, line = _depth(raw), _line(number, raw.strip())
            _place(sheet, open_branches, line, depth=depth)
        except _NotUnderstood as exc:
            sheet.troubles.append((number, str(exc)))
    return sheet


def _place(sheet: Sheet, open_branches: list[Branch], line: Line, *, depth: int) -> None:
    if line.kind != "node":
        if depth or sheet.roots:
            raise _NotUnderstood(f"{line.kind} lines come first and are not indented")
        sheet.directives.append(line)
        return
    if depth > len(open_branches):
        raise _NotUnderstood(
            f"indented too far: {STEP} spaces more than the line above it belongs to"
        )
    branch = Branch(line)
    (open_branches[depth - 1].below if depth else sheet.roots).append(branch)
    open_branches[depth:] = [branch]


def _depth(raw: str) -> int:
    blank = raw[: len(raw) - len(raw.lstrip())]
    if blank.strip(" "):
        raise _NotUnderstood("indented with something else than spaces")
    if len(blank) % STEP:
        raise _NotUnderstood(f"indented by {len(blank)} spaces; every step is {STEP}")
    return len(blank) // STEP


def _line(number: int, text: str) -> Line:
    if found := _DIRECTIVE.fullmatch(text):
        return Line(number, found["kind"], found["name"], _keys(found["rest"] or ""))
    if found := _LINE.fullmatch(text):
        return Line(number, "node", found["name"], _keys(found["rest"] or ""))
    raise _NotUnderstood(
        "not a line of a mapping: write an element's name, then its keys in braces"
    )


def _keys(rest: str) -> Mapping[str, Any]:
    """The keys in braces after a name; a comment may follow."""
    rest = rest.strip()
    if not rest or rest.startswith("#"):
        return {}
    if not rest.startswith("{"):
        raise _NotUnderstood('keys stand in braces, such as {path = "seller.name"}')
    try:
        return tomllib.loads(f"keys = {rest}")["keys"]
    except tomllib.TOMLDecodeError as exc:
        raise _NotUnderstood(f"the keys can't be read: {_PLACE.sub('', str(exc))}") from exc


def every(branches: list[Branch]) -> Iterator[Branch]:
    for branch in branches:
        yield branch
        yield from every(branch.below)
