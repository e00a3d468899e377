"""What a mapping file may say: its keys and their types, the paths of an invoice, its troubles."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from docmill.core.json_values import is_list
from docmill.invoices.fields import OF_INVOICE, OF_LINE
from docmill.invoices.formats.coretax import CORETAX_FUNCTIONS as CORETAX
from docmill.invoices.formats.en16931 import EN16931_FUNCTIONS as EN16931
from docmill.invoices.formats.scope import Function
from docmill.invoices.formats.values import FORMATS
from docmill.invoices.profile import PROFILE_NAMES

SUFFIX: Final = ".mapping"
# The option by which a run is told the text of a mapping that does not come with docmill.
MAPPING_TEXT: Final = "mapping_text"


PATHS: Final = (*OF_INVOICE, "lines", *(f"profile.{name}" for name in PROFILE_NAMES))
INVOICES: Final = "invoices"  # the repeat over all documents of a bulk file


@dataclass(frozen=True, slots=True)
class Node:
    """One line of a mapping file: an element, or an attribute when the name begins with @."""

    line: int
    name: str
    tag: str
    path: tuple[str, ...] = ()
    constant: str | None = None
    compute: str = ""
    format: str = "text"
    when: str = ""
    repeat: str = ""
    reads: str = ""
    required: bool = False
    children: tuple["Node", ...] = ()

    @property
    def is_attribute(self) -> bool:
        return self.name.startswith("@")

    @property
    def carries(self) -> str:
        """The path of the invoice that this node's text can be read back into, if any."""
        return self.reads or next(filter(_is_printed, self.path), "")


def _is_printed(path: str) -> bool:
    """Of the invoice itself: neither the owner's word nor a column that a function made up."""
    return path[1:] in OF_LINE if path.startswith(".") else not path.startswith("profile.")


@dataclass(frozen=True, slots=True)
class InvoiceMapping:
    """A mapping that was read from its file and found right."""

    name: str
    title: str
    keep_empty: bool
    checker: str
    namespaces: Mapping[str | None, str]
    root: Node

    @property
    def version(self) -> int:
        return int(self.name.rpartition("_v")[2])

    @property
    def is_bulk(self) -> bool:
        return _repeats_invoices(self.root)


def _repeats_invoices(node: Node) -> bool:
    return node.repeat == INVOICES or any(map(_repeats_invoices, node.children))


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing wrong in a mapping file, and what is allowed there."""

    file: str
    line: int
    says: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.says}"


class MappingError(ValueError):
    """A mapping file that can't be used; all that is wrong with it, a line each."""

    def __init__(self, troubles: tuple[Trouble, ...]) -> None:
        self.troubles: tuple[Trouble, ...] = troubles
        super().__init__("\n".join(map(str, troubles)))


# Keys of a line by what they take. A node says where its text comes from at most once.
TEXTS: Final = ("constant", "compute", "format", "when", "repeat", "reads")
SOURCES: Final = ("path", "constant", "compute")
KEYS: Final = ("path", "required", *TEXTS)
HEADER: Final = ("title", "empty", "checker")


STEP: Final = 2
WORD: Final = r"[A-Za-z_][\w.\-]*"
_LINE: Final = re.compile(rf"(?P<name>@?{WORD}(?::{WORD})?)(?P<rest>\s.*)?", re.ASCII)
_DIRECTIVE: Final = re.compile(r"(?P<kind>mapping|namespace)\s+(?P<name>\S+)(?P<rest>\s.*)?")
_PLACE: Final = re.compile(r" \(at line \d+, column \d+\)| \(at end of document\)")


@dataclass(frozen=True, slots=True)
class MappingLine:
    """One meaningful line; `kind` is mapping, namespace or node."""

    number: int
    kind: str
    name: str
    keys: Mapping[str, Any]


@dataclass(slots=True)
class Branch:
    """A node's line with the lines below it."""

    line: MappingLine
    below: list["Branch"] = field(default_factory=list["Branch"])


@dataclass(slots=True)
class MappingSheet:
    """A file cut into its parts, with what could not be understood."""

    directives: list[MappingLine] = field(default_factory=list[MappingLine])
    roots: list[Branch] = field(default_factory=list[Branch])
    troubles: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


class _NotUnderstoodError(Exception):
    pass


def parse_lines(text: str) -> MappingSheet:
    sheet = MappingSheet()
    open_branches: list[Branch] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        if not raw.strip() or raw.lstrip().startswith("#"):
            continue
        try:
            depth, line = _measure_depth(raw), _parse_line(number, raw.strip())
            _attach(sheet, open_branches, line, depth=depth)
        except _NotUnderstoodError as exc:
            sheet.troubles.append((number, str(exc)))
    return sheet


def _attach(
    sheet: MappingSheet, open_branches: list[Branch], line: MappingLine, *, depth: int
) -> None:
    if line.kind != "node":
        if depth or sheet.roots:
            raise _NotUnderstoodError(f"{line.kind} lines come first and are not indented")
        sheet.directives.append(line)
        return
    if depth > len(open_branches):
        raise _NotUnderstoodError(
            f"indented too far: {STEP} spaces more than the line above it belongs to"
        )
    branch = Branch(line)
    (open_branches[depth - 1].below if depth else sheet.roots).append(branch)
    open_branches[depth:] = [branch]


def _measure_depth(raw: str) -> int:
    blank = raw[: len(raw) - len(raw.lstrip())]
    if blank.strip(" "):
        raise _NotUnderstoodError("indented with something else than spaces")
    if len(blank) % STEP:
        raise _NotUnderstoodError(f"indented by {len(blank)} spaces; every step is {STEP}")
    return len(blank) // STEP


def _parse_line(number: int, text: str) -> MappingLine:
    if found := _DIRECTIVE.fullmatch(text):
        return MappingLine(number, found["kind"], found["name"], _parse_keys(found["rest"] or ""))
    if found := _LINE.fullmatch(text):
        return MappingLine(number, "node", found["name"], _parse_keys(found["rest"] or ""))
    raise _NotUnderstoodError(
        "not a line of a mapping: write an element's name, then its keys in braces"
    )


def _parse_keys(rest: str) -> Mapping[str, Any]:
    """The keys in braces after a name; a comment may follow."""
    rest = rest.strip()
    if not rest or rest.startswith("#"):
        return {}
    if not rest.startswith("{"):
        raise _NotUnderstoodError('keys stand in braces, such as {path = "seller.name"}')
    try:
        return tomllib.loads(f"keys = {rest}")["keys"]
    except tomllib.TOMLDecodeError as exc:
        raise _NotUnderstoodError(f"the keys can't be read: {_PLACE.sub('', str(exc))}") from exc


def walk_branches(branches: list[Branch]) -> Iterator[Branch]:
    for branch in branches:
        yield branch
        yield from walk_branches(branch.below)


FUNCTIONS: Final[Mapping[str, Function]] = {**CORETAX, **EN16931}


_CALL: Final = re.compile(r"([a-z0-9_]+)\(\)")
_LISTED: Final = 12  # more names than that are not read by anybody
_NOT: Final = "not "


def unknown_name(what: str, name: str, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"there is no {what} {name!r}; did you mean {near[0]!r}?"
    listed = ", ".join(names[:_LISTED]) + (", .." if len(names) > _LISTED else "")
    return f"there is no {what} {name!r}; allowed: {listed}"


def called_function(word: str) -> str:
    """The function that `name()` calls, or nothing when the word is a path."""
    found = _CALL.fullmatch(word)
    return found[1] if found else ""


def parse_condition(when: str) -> tuple[bool, str]:
    """A condition as (wanted, word): `not due_date` holds when there is none."""
    return not when.startswith(_NOT), when.removeprefix(_NOT)


def check_keys(keys: Mapping[str, Any], allowed: Iterable[str]) -> Iterator[str]:
    for key, value in keys.items():
        if key not in allowed:
            yield unknown_name("key", key, allowed)
        elif key == "required" and not isinstance(value, bool):
            yield "required is true or false"
        elif key == "path" and not _is_path_value(value):
            yield "path is a text in quotes, or a list of them"
        elif key not in ("required", "path") and not isinstance(value, str):
            yield f"{key} is a text in quotes"


def _is_path_value(value: Any) -> bool:
    rows = value if is_list(value) else [value]
    return bool(rows) and all(isinstance(row, str) for row in rows)


def list_node_paths(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(row) for row in value) if is_list(value) else ()


def fields_inside(repeat: str) -> tuple[str, ...]:
    """What `.name` may name inside a repeat: the fields of a line, or of a function's rows."""
    function = FUNCTIONS.get(called_function(repeat))
    if function is None or function.row is None:
        return tuple(OF_LINE) if repeat == "lines" else ()
    made = [name for name, value in vars(function.row).items() if isinstance(value, property)]
    own = [each.name for each in fields(function.row)]
    return (*own, *made, *(OF_LINE if "index" in own else ()))


def check_repeat(repeat: str) -> Iterator[str]:
    rows = [f"{name}()" for name, function in FUNCTIONS.items() if function.row]
    allowed = ["lines", INVOICES, *rows]
    if repeat and repeat not in allowed:
        yield unknown_name("list", repeat, allowed)


def check_names(keys: Mapping[str, Any], inside: tuple[str, ...]) -> Iterator[str]:
    """`inside` are the fields of the nearest repeat, for paths that begin with a dot."""
    values = {name for name, function in FUNCTIONS.items() if not function.row}
    compute, shape = str(keys.get("compute", "")), str(keys.get("format", "text"))
    if compute and compute not in values:
        yield unknown_name("function", compute, values)
    if shape not in FORMATS:
        yield unknown_name("format", shape, FORMATS)
    for path in list_node_paths(keys.get("path", [])):
        yield from check_path(path, inside)
    _, word = parse_condition(str(keys.get("when", "")))
    if function := called_function(word):
        if function not in values:
            yield unknown_name("function", function, values)
    elif word:
        yield from check_path(word, inside)
    yield from _check_reads(str(keys.get("reads", "")))


def check_path(path: str, inside: tuple[str, ...]) -> Iterator[str]:
    if not path.startswith("."):
        if path not in PATHS:
            yield unknown_name("path", path, PATHS)
    elif not inside:
        yield f"{path!r} begins with a dot, but no repeat gives it an item here"
    elif path[1:] not in inside:
        yield unknown_name("path", path, (f".{name}" for name in inside))


def _check_reads(path: str) -> Iterator[str]:
    """What is read back goes into the invoice, never into a profile."""
    allowed = [name for name in PATHS if not name.startswith("profile.")]
    allowed += [f".{name}" for name in OF_LINE]
    if path and path not in allowed:
        yield unknown_name("path", path, allowed)


CHECKERS: Final = ("coretax", "ubl", "cii")
CHOICES: Final = {"empty": ("drop", "keep"), "checker": CHECKERS}
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*_v[1-9][0-9]{0,3}")


def build_mapping(text: str, file: str) -> InvoiceMapping:
    """The mapping a file holds; MappingError lists every trouble with its line."""
    builder = _Builder(parse_lines(text))
    mapping = builder.mapping()
    if builder.troubles or mapping is None:
        rows = sorted(set(builder.troubles))
        raise MappingError(tuple(Trouble(file, line, says) for line, says in rows))
    return mapping


class _Builder:
    """Walks a sheet once, makes nodes of its lines and collects what is wrong with them."""

    def __init__(self, sheet: MappingSheet) -> None:
        self.troubles: list[tuple[int, str]] = list(sheet.troubles)
        self._sheet: MappingSheet = sheet
        self._namespaces: dict[str | None, str] = {}

    def mapping(self) -> InvoiceMapping | None:
        headers = [line for line in self._sheet.directives if line.kind == "mapping"]
        if len(headers) != 1:
            at = headers[1].number if headers else 1
            return self._trouble(at, ["one line 'mapping NAME {title = \"..\"}' begins the file"])
        header, roots = headers[0], self._sheet.roots
        self._trouble(header.number, _check_header(header))
        for line in self._sheet.directives:
            if line.kind == "namespace":
                self._namespace(line)
        if len(roots) != 1:
            at = roots[1].line.number if roots else header.number
            return self._trouble(at, ["a document has exactly one root element"])
        if {"repeat", "when", "reads"} & {*roots[0].line.keys}:
            at = roots[0].line.number
            self._trouble(at, ["the root is written once and always: no repeat, when or reads"])
        root = self._node(roots[0], inside=())
        title, checker = str(header.keys.get("title")), str(header.keys.get("checker", ""))
        keep = header.keys.get("empty") == "keep"
        return InvoiceMapping(header.name, title, keep, checker, self._namespaces, root)

    def _trouble(self, line: int, says: Iterable[str]) -> None:
        self.troubles.extend((line, each) for each in says)

    def _namespace(self, line: MappingLine) -> None:
        self._trouble(line.number, check_keys(line.keys, ("uri",)))
        prefix = None if line.name == "default" else line.name
        if prefix in self._namespaces:
            self._trouble(line.number, [f"the namespace {line.name!r} is declared twice"])
        if not line.keys.get("uri"):
            self._trouble(line.number, ['a namespace has an address: {uri = ".."}'])
        self._namespaces[prefix] = str(line.keys.get("uri", ""))

    def _node(self, branch: Branch, *, inside: tuple[str, ...]) -> Node:
        line, keys = branch.line, branch.line.keys
        repeat = str(keys.get("repeat", ""))
        inner = fields_inside(repeat) or inside
        self._trouble(line.number, check_keys(keys, KEYS))
        self._trouble(line.number, check_repeat(repeat))
        self._trouble(line.number, check_names(keys, inner))
        self._trouble(line.number, _check_shape(branch))
        return Node(
            line=line.number,
            name=line.name,
            tag=self._tag(line),
            path=list_node_paths(keys.get("path", [])),
            constant=str(keys["constant"]) if "constant" in keys else None,
            compute=str(keys.get("compute", "")),
            format=str(keys.get("format", "text")),
            when=str(keys.get("when", "")),
            repeat=repeat,
            reads=str(keys.get("reads", "")),
            required=keys.get("required") is True,
            children=tuple(self._node(each, inside=inner) for each in branch.below),
        )

    def _tag(self, line: MappingLine) -> str:
        """The name as lxml writes it; an attribute without a prefix is in no namespace."""
        prefix, colon, local = line.name.removeprefix("@").rpartition(":")
        if not colon:
            default = None if line.name.startswith("@") else self._namespaces.get(None)
            return f"{{{default}}}{local}" if default else local
        if prefix not in self._namespaces:
            declared = ", ".join(filter(None, self._namespaces)) or "none"
            self._trouble(
                line.number, [f"the prefix {prefix!r} is not declared; declared: {declared}"]
            )
        return f"{{{self._namespaces.get(prefix)}}}{local}"


def _check_header(line: MappingLine) -> Iterable[str]:
    if not _NAME.fullmatch(line.name):
        yield f"the name {line.name!r} does not end in a version, as in invoice_v1"
    yield from check_keys(line.keys, HEADER)
    for key, allowed in CHOICES.items():
        value = str(line.keys.get(key, allowed[0]))
        if value not in allowed:
            yield unknown_name(key, value, allowed)
    if not line.keys.get("title"):
        yield 'title is missing: {title = ".."} says in a few words what the mapping writes'


def _check_shape(branch: Branch) -> Iterable[str]:
    """Where the text comes from, and what may stand below what."""
    line, keys = branch.line, branch.line.keys
    below = [each.line.name for each in branch.below]
    elements = [name for name in below if not name.startswith("@")]
    sources = [key for key in SOURCES if key in keys]
    if len(sources) > 1:
        yield f"{' and '.join(sources)}: a value comes from one place only"
    if sources and elements:
        yield f"an element has a value ({sources[0]}) or elements below it, not both"
    if not sources and not elements:
        yield f"no value: give one of {', '.join(SOURCES)}, or elements below it"
    if line.name.startswith("@") and (below or "repeat" in keys):
        yield "an attribute has no repeat, and nothing stands below it"
    names = [name for name in below if name.startswith("@")]
    if len(names) != len(set(names)):
        yield "the same attribute twice"
    if names != below[: len(names)]:
        yield "attributes stand before elements"
