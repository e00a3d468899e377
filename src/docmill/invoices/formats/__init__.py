"""Mappings: files that say which XML an invoice becomes; and the way back from that XML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import localcontext
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.fields import ValueKind
from docmill.invoices.fields import FIELDS, LINE_FIELDS
from docmill.invoices.formats import language, xml
from docmill.invoices.formats.language import (
    FUNCTIONS,
    INVOICES,
    SUFFIX,
    InvoiceMapping,
    MappingError,
    Node,
    Trouble,
    build_mapping,
)
from docmill.invoices.formats.scope import Findings, MappingScope
from docmill.invoices.formats.values import FORMATS
from docmill.invoices.profile import Profile
from docmill.invoices.values import CONTEXT, clean, look_up, parse_iso_date, parse_number

MAPPINGS: Final = files("docmill.invoices.formats") / "files"
DEFAULT: Final = "pt_simon_invoice_v1"


# Those that an operator added; each process is told of them when it starts.
_ADDED: Final = dict[str, InvoiceMapping]()


def list_names() -> tuple[str, ...]:
    return tuple(sorted({*list_built_in(), *_ADDED}))


def register(text: str, file: str) -> InvoiceMapping:
    """From now on this process knows the mapping by its name."""
    mapping = _build_named(text, file)
    _ADDED[mapping.name] = mapping
    return mapping


def forget_added() -> None:
    """This process knows only those that come with docmill."""
    _ADDED.clear()


@cache
def list_built_in() -> tuple[str, ...]:
    found = (entry.name for entry in MAPPINGS.iterdir() if entry.name.endswith(SUFFIX))
    return tuple(sorted(name.removesuffix(SUFFIX) for name in found))


def load(name: str) -> InvoiceMapping:
    if name in _ADDED:
        return _ADDED[name]
    if name not in list_built_in():
        raise DocmillError(
            "UNKNOWN_MAPPING", f"there is no {name!r}; known: {', '.join(list_names())}"
        )
    return _load_built_in(name)


@cache
def _load_built_in(name: str) -> InvoiceMapping:
    file = f"{name}{SUFFIX}"
    return _build_named((MAPPINGS / file).read_text("utf-8"), file)


def load_file(path: Path) -> InvoiceMapping:
    """A mapping from anywhere, checked like ours; MappingError says what is wrong, line by line."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as exc:
        line = path.read_bytes()[: exc.start].count(b"\n") + 1
        raise MappingError((Trouble(path.name, line, "is not UTF-8 text"),)) from exc
    return _build_named(text, path.name)


def _build_named(text: str, file: str) -> InvoiceMapping:
    mapping = build_mapping(text, file)
    if file != mapping.name + SUFFIX:
        says = f"the file of {mapping.name} is called {mapping.name}{SUFFIX}"
        raise MappingError((Trouble(file, 1, says),))
    return mapping


InvoiceData = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Emitted:
    """`review`: paths of the invoice a person should look at; `notes` say why, in sentences.

    `missing`: those that the format can't do without.
    """

    xml: bytes
    review: tuple[str, ...]
    notes: tuple[str, ...]
    missing: tuple[str, ...] = ()


def emit(
    mapping: InvoiceMapping,
    invoice: InvoiceData,
    profile: Profile | None = None,
    *,
    pretty: bool = False,
) -> Emitted:
    return emit_all(mapping, [invoice], profile, pretty=pretty)


def emit_all(
    mapping: InvoiceMapping,
    invoices: Sequence[InvoiceData],
    profile: Profile | Sequence[Profile] | None = None,
    *,
    pretty: bool = False,
) -> Emitted:
    """One file of several invoices, where the mapping has room; a profile for all, or for each."""
    if not invoices or (len(invoices) > 1 and not mapping.is_bulk):
        raise DocmillError("GW_4XX", f"{mapping.name} writes one invoice, not {len(invoices)}")
    scopes = [
        MappingScope(invoice, own, Findings())
        for invoice, own in zip(invoices, _profile_of_each(profile, len(invoices)), strict=True)
    ]
    with localcontext(CONTEXT):
        for scope in scopes:
            _flag_unreadable(scope)
        if len(scopes) > 1:
            _check_agreement(mapping, scopes)
        root = _Writer(mapping, scopes).document()
    return Emitted(
        xml.serialize(root, pretty=pretty),
        tuple(_join_findings(scope.findings.review for scope in scopes)),
        tuple(_join_findings(scope.findings.notes for scope in scopes)),
        tuple(_join_findings(scope.findings.missing for scope in scopes)),
    )


def _profile_of_each(profile: Profile | Sequence[Profile] | None, count: int) -> Sequence[Profile]:
    if profile is None or isinstance(profile, Profile):
        return [profile or Profile()] * count
    return profile


def _join_findings(found: Iterator[dict[str, None]]) -> Iterator[str]:
    """Findings of all invoices; of several, each says which."""
    rows = list(found)
    for index, each in enumerate(rows):
        yield from each if len(rows) == 1 else (f"{INVOICES}.{index}.{text}" for text in each)


def _flag_unreadable(scope: MappingScope) -> None:
    """Values that no mapping can use are flagged; none is guessed."""
    rows = [("", scope.invoice, FIELDS)]
    rows += [(f"lines.{index}.", line, LINE_FIELDS) for index, line in enumerate(scope.lines())]
    for prefix, data, fields in rows:
        for field in fields:
            value = look_up(data, field.path)
            if not clean(value):
                continue
            if field.is_number and parse_number(value) is None:
                scope.findings.flag(f"{prefix}{field.path}", "is no number as in 1234567.80")
            if field.kind is ValueKind.DATE and not parse_iso_date(value):
                scope.findings.flag(f"{prefix}{field.path}", "is no date as in 2025-03-14")


class _Writer:
    """Walks the mapping's tree; `scopes` are the invoices of this file."""

    def __init__(self, mapping: InvoiceMapping, scopes: list[MappingScope]) -> None:
        self._mapping: InvoiceMapping = mapping
        self._scopes: list[MappingScope] = scopes

    def document(self) -> xml.Element:
        root = xml.etree.Element(self._mapping.root.tag, nsmap=dict(self._mapping.namespaces))
        self._fill(self._mapping.root, self._scopes[0], root)
        root.text = self._text(self._mapping.root, self._scopes[0]) or None
        return root

    def _fill(self, node: Node, scope: MappingScope, element: xml.Element) -> None:
        for child in node.children:
            for inner in self._repeat_scopes(child, scope):
                if _condition_holds(child.when, inner):
                    self._add(child, inner, element)

    def _add(self, node: Node, scope: MappingScope, parent: xml.Element) -> None:
        text = self._text(node, scope)
        if node.is_attribute:
            if text or self._mapping.keep_empty:
                parent.set(node.tag, text)
            return
        element = xml.etree.SubElement(parent, node.tag)
        self._fill(node, scope, element)
        element.text = text or None
        if not text and not len(element) and not self._is_kept(node):
            parent.remove(element)

    def _is_kept(self, node: Node) -> bool:
        """An empty element stays where the mapping keeps them all, or asks for this one."""
        return self._mapping.keep_empty or node.constant is not None

    def _repeat_scopes(self, node: Node, scope: MappingScope) -> Iterator[MappingScope]:
        if not node.repeat:
            yield scope
        elif node.repeat == INVOICES:
            yield from self._scopes
        else:
            name = language.called_function(node.repeat)
            rows = scope.once(FUNCTIONS[name].call) if name else scope.lines()
            for place, row in enumerate(rows):
                index = getattr(row, "index", place)
                yield scope.inside(row, f"{node.reads or node.repeat}.{index}")

    def _text(self, node: Node, scope: MappingScope) -> str:
        text = _node_text(node, scope)
        if node.required and not text:
            path = node.carries
            scope.findings.miss(f"{scope.item_path}{path}" if path.startswith(".") else path)
        return text


def _check_agreement(mapping: InvoiceMapping, scopes: list[MappingScope]) -> None:
    """What a file says once must be the same for all its invoices, such as the seller's number."""
    for node in _shared_nodes(mapping.root):
        texts = sorted({_node_text(node, scope) for scope in scopes})
        if len(texts) > 1:
            raise DocmillError(
                "GW_4XX",
                f"one file has one {node.name}, and these invoices have {len(texts)}:"
                f" {', '.join(text or 'none' for text in texts)}",
            )


def _shared_nodes(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.repeat != INVOICES:
            yield child
            yield from _shared_nodes(child)


def _node_text(node: Node, scope: MappingScope) -> str:
    if node.constant is not None:
        return node.constant
    write = FORMATS[node.format].write
    if node.compute:
        return write(FUNCTIONS[node.compute].call(scope))
    texts = (write(scope.value(path)) for path in node.path)
    return next(filter(None, texts), "")


def _condition_holds(when: str, scope: MappingScope) -> bool:
    if not when:
        return True
    wanted, word = language.parse_condition(when)
    name = language.called_function(word)
    found = FUNCTIONS[name].call(scope) if name else scope.value(word)
    return bool(found) is wanted


Json = dict[str, Any]


def read_back(mapping: InvoiceMapping, document: bytes) -> Json:
    """The invoice that the XML tells of; of a bulk file the first."""
    return read_back_all(mapping, document)[0]


def read_back_all(mapping: InvoiceMapping, document: bytes) -> list[Json]:
    root = xml.parse(document)
    if root.tag != mapping.root.tag:
        raise xml.NotXmlError(
            f"the root is {root.tag}, and {mapping.name} writes {mapping.root.tag}"
        )
    shared: Json = {}
    invoices: list[Json] = []
    _read_node(mapping.root, root, _Places(shared, {}), invoices=invoices)
    found = [_join_shared(shared, invoice) for invoice in invoices] if mapping.is_bulk else [shared]
    return found or [shared]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where values go: into the invoice, and for paths that begin with a dot into its row."""

    invoice: Json
    row: Json


def _read_node(node: Node, element: xml.Element, places: _Places, *, invoices: list[Json]) -> None:
    """Elements come in the mapping's order: each child of the mapping takes those that fit it."""
    waiting = list(element)
    for child in node.children:
        if child.is_attribute:
            _carry(child, element.get(child.tag), places)
            continue
        for part in _take_elements(child, waiting):
            inner = _enter(child, places, invoices)
            _carry(child, None if len(part) else part.text, inner)
            _read_node(child, part, inner, invoices=invoices)


def _take_elements(node: Node, waiting: list[xml.Element]) -> Iterator[xml.Element]:
    while waiting and _fits_node(node, waiting[0]):
        yield waiting.pop(0)
        if not node.repeat:
            return


def _enter(node: Node, places: _Places, invoices: list[Json]) -> _Places:
    if node.repeat == INVOICES:
        invoices.append({})
        return _Places(invoices[-1], {})
    if not node.repeat:
        return places
    row: Json = {}
    if (node.reads or node.repeat) == "lines":
        places.invoice.setdefault("lines", []).append(row)
    return _Places(places.invoice, row)


def _fits_node(node: Node, element: xml.Element) -> bool:
    """Same name, and the same text wherever the mapping always writes the same."""
    if element.tag != node.tag:
        return False
    if node.constant is not None and (element.text or "") != node.constant:
        return False
    return all(_has_child(child, element) for child in node.children if _is_always(child))


def _has_child(child: Node, element: xml.Element) -> bool:
    if child.is_attribute:
        return child.constant is None or element.get(child.tag) == child.constant
    if not _is_constant(child):
        return True
    return any(_fits_node(child, part) for part in element)


def _is_always(node: Node) -> bool:
    return not node.when and not node.repeat


def _is_constant(node: Node) -> bool:
    """The mapping writes it every time, and the same each time, itself or somewhere below."""
    below = filter(_is_always, node.children)
    return node.constant is not None or any(map(_is_constant, below))


def _carry(node: Node, text: str | None, places: _Places) -> None:
    value = FORMATS[node.format].read(text or "")
    if not value or not node.carries:
        return
    into = places.row if node.carries.startswith(".") else places.invoice
    *parents, name = node.carries.removeprefix(".").split(".")
    for parent in parents:
        into = into.setdefault(parent, {})
    into[name] = value


def _join_shared(shared: Json, invoice: Json) -> Json:
    """What the file says once, unless the invoice says more of it."""
    joined = {**shared, **invoice}
    for name, value in shared.items():
        if isinstance(value, dict):
            joined[name] = {**value, **invoice.get(name, {})}
    return joined
