"""A mapping from the text of its file; a file with anything wrong in it is not used at all."""

import re
from collections.abc import Iterable
from typing import Final

from docmill.mappings import naming, schema
from docmill.mappings.parsing import Branch, Line, Sheet, cut
from docmill.mappings.schema import BadMapping, InvoiceMapping, Node, Trouble

CHECKERS: Final = ("coretax", "ubl", "cii")
CHOICES: Final = {"empty": ("drop", "keep"), "checker": CHECKERS}
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*_v[1-9][0-9]{0,3}")


def build(text: str, file: str) -> InvoiceMapping:
    """The mapping a file holds; BadMapping lists every trouble with its line."""
    builder = _Builder(cut(text))
    mapping = builder.mapping()
    if builder.troubles or mapping is None:
        rows = sorted(set(builder.troubles))
        raise BadMapping(tuple(Trouble(file, line, says) for line, says in rows))
    return mapping


class _Builder:
    """Walks a sheet once, makes nodes of its lines and collects what is wrong with them."""

    def __init__(self, sheet: Sheet) -> None:
        self.troubles: list[tuple[int, str]] = list(sheet.troubles)
        self._sheet: Sheet = sheet
        self._namespaces: dict[str | None, str] = {}

    def mapping(self) -> InvoiceMapping | None:
        headers = [line for line in self._sheet.directives if line.kind == "mapping"]
        if len(headers) != 1:
            at = headers[1].number if headers else 1
            return self._trouble(at, ["one line 'mapping NAME {title = \"..\"}' begins the file"])
        header, roots = headers[0], self._sheet.roots
        self._trouble(header.number, _wrong_header(header))
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

    def _namespace(self, line: Line) -> None:
        self._trouble(line.number, naming.wrong_keys(line.keys, ("uri",)))
        prefix = None if line.name == "default" else line.name
        if prefix in self._namespaces:
            self._trouble(line.number, [f"the namespace {line.name!r} is declared twice"])
        if not line.keys.get("uri"):
            self._trouble(line.number, ['a namespace has an address: {uri = ".."}'])
        self._namespaces[prefix] = str(line.keys.get("uri", ""))

    def _node(self, branch: Branch, *, inside: tuple[str, ...]) -> Node:
        line, keys = branch.line, branch.line.keys
        repeat = str(keys.get("repeat", ""))
        inner = naming.fields_inside(repeat) or inside
        self._trouble(line.number, naming.wrong_keys(keys, schema.KEYS))
        self._trouble(line.number, naming.wrong_repeat(repeat))
        self._trouble(line.number, naming.wrong_names(keys, inner))
        self._trouble(line.number, _wrong_shape(branch))
        return Node(
            line=line.number,
            name=line.name,
            tag=self._tag(line),
            path=naming.paths_of(keys.get("path", [])),
            constant=str(keys["constant"]) if "constant" in keys else None,
            compute=str(keys.get("compute", "")),
            format=str(keys.get("format", "text")),
            when=str(keys.get("when", "")),
            repeat=repeat,
            reads=str(keys.get("reads", "")),
            required=keys.get("required") is True,
            children=tuple(self._node(each, inside=inner) for each in branch.below),
        )

    def _tag(self, line: Line) -> str:
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


def _wrong_header(line: Line) -> Iterable[str]:
    if not _NAME.fullmatch(line.name):
        yield f"the name {line.name!r} does not end in a version, as in invoice_v1"
    yield from naming.wrong_keys(line.keys, schema.HEADER)
    for key, allowed in CHOICES.items():
        value = str(line.keys.get(key, allowed[0]))
        if value not in allowed:
            yield naming.unknown(key, value, allowed)
    if not line.keys.get("title"):
        yield 'title is missing: {title = ".."} says in a few words what the mapping writes'


def _wrong_shape(branch: Branch) -> Iterable[str]:
    """Where the text comes from, and what may stand below what."""
    line, keys = branch.line, branch.line.keys
    below = [each.line.name for each in branch.below]
    elements = [name for name in below if not name.startswith("@")]
    sources = [key for key in schema.SOURCES if key in keys]
    if len(sources) > 1:
        yield f"{' and '.join(sources)}: a value comes from one place only"
    if sources and elements:
        yield f"an element has a value ({sources[0]}) or elements below it, not both"
    if not sources and not elements:
        yield f"no value: give one of {', '.join(schema.SOURCES)}, or elements below it"
    if line.name.startswith("@") and (below or "repeat" in keys):
        yield "an attribute has no repeat, and nothing stands below it"
    names = [name for name in below if name.startswith("@")]
    if len(names) != len(set(names)):
        yield "the same attribute twice"
    if names != below[: len(names)]:
        yield "attributes stand before elements"
