"""An invoice written as XML by a mapping: the same invoice gives the same bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import localcontext
from typing import Any

from docmill.core.faults import Faulted
from docmill.mappings import doubts, naming, xml
from docmill.mappings.amounts import CONTEXT
from docmill.mappings.formats import FORMATS
from docmill.mappings.functions import FUNCTIONS
from docmill.mappings.profile import Profile
from docmill.mappings.schema import INVOICES, InvoiceMapping, Node
from docmill.mappings.scope import Findings, Scope

Invoice = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Emitted:
    """`review`: paths of the invoice a person should look at; `notes` say why, in sentences."""

    xml: bytes
    review: tuple[str, ...]
    notes: tuple[str, ...]


def emit(
    mapping: InvoiceMapping,
    invoice: Invoice,
    profile: Profile | None = None,
    *,
    pretty: bool = False,
) -> Emitted:
    return emit_all(mapping, [invoice], profile, pretty=pretty)


def emit_all(
    mapping: InvoiceMapping,
    invoices: Sequence[Invoice],
    profile: Profile | Sequence[Profile] | None = None,
    *,
    pretty: bool = False,
) -> Emitted:
    """One file of several invoices, where the mapping has room; a profile for all, or for each."""
    if not invoices or (len(invoices) > 1 and not mapping.is_bulk):
        raise Faulted("GW_4XX", f"{mapping.name} writes one invoice, not {len(invoices)}")
    scopes = [
        Scope(invoice, own, Findings())
        for invoice, own in zip(invoices, _each(profile, len(invoices)), strict=True)
    ]
    with localcontext(CONTEXT):
        for scope in scopes:
            doubts.flag_unreadable(scope)
        if len(scopes) > 1:
            _agree(mapping, scopes)
        root = _Writer(mapping, scopes).document()
    return Emitted(
        xml.written(root, pretty=pretty),
        tuple(_told(scope.findings.review for scope in scopes)),
        tuple(_told(scope.findings.notes for scope in scopes)),
    )


def _each(profile: Profile | Sequence[Profile] | None, count: int) -> Sequence[Profile]:
    if profile is None or isinstance(profile, Profile):
        return [profile or Profile()] * count
    return profile


def _told(found: Iterator[dict[str, None]]) -> Iterator[str]:
    """Findings of all invoices; of several, each says which."""
    rows = list(found)
    for index, each in enumerate(rows):
        yield from each if len(rows) == 1 else (f"{INVOICES}.{index}.{text}" for text in each)


class _Writer:
    """Walks the mapping's tree; `scopes` are the invoices of this file."""

    def __init__(self, mapping: InvoiceMapping, scopes: list[Scope]) -> None:
        self._mapping: InvoiceMapping = mapping
        self._scopes: list[Scope] = scopes

    def document(self) -> xml.Element:
        root = xml.etree.Element(self._mapping.root.tag, nsmap=dict(self._mapping.namespaces))
        self._fill(self._mapping.root, self._scopes[0], root)
        root.text = self._text(self._mapping.root, self._scopes[0]) or None
        return root

    def _fill(self, node: Node, scope: Scope, element: xml.Element) -> None:
        for child in node.children:
            for inner in self._repeated(child, scope):
                if _holds(child.when, inner):
                    self._add(child, inner, element)

    def _add(self, node: Node, scope: Scope, parent: xml.Element) -> None:
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

    def _repeated(self, node: Node, scope: Scope) -> Iterator[Scope]:
        if not node.repeat:
            yield scope
        elif node.repeat == INVOICES:
            yield from self._scopes
        else:
            name = naming.called(node.repeat)
            rows = scope.once(FUNCTIONS[name].call) if name else scope.lines()
            for place, row in enumerate(rows):
                index = getattr(row, "index", place)
                yield scope.inside(row, f"{node.reads or node.repeat}.{index}")

    def _text(self, node: Node, scope: Scope) -> str:
        text = _value(node, scope)
        if node.required and not text:
            path = node.carries
            scope.findings.flag(f"{scope.item_path}{path}" if path.startswith(".") else path)
        return text


def _agree(mapping: InvoiceMapping, scopes: list[Scope]) -> None:
    """What a file says once must be the same for all its invoices, such as the seller's number."""
    for node in _shared(mapping.root):
        told = sorted({_value(node, scope) for scope in scopes})
        if len(told) > 1:
            raise Faulted(
                "GW_4XX",
                f"one file has one {node.name}, and these invoices have {len(told)}:"
                f" {', '.join(text or 'none' for text in told)}",
            )


def _shared(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.repeat != INVOICES:
            yield child
            yield from _shared(child)


def _value(node: Node, scope: Scope) -> str:
    if node.constant is not None:
        return node.constant
    write = FORMATS[node.format].write
    if node.compute:
        return write(FUNCTIONS[node.compute].call(scope))
    texts = (write(scope.value(path)) for path in node.path)
    return next(filter(None, texts), "")


def _holds(when: str, scope: Scope) -> bool:
    if not when:
        return True
    wanted, word = naming.condition(when)
    name = naming.called(word)
    found = FUNCTIONS[name].call(scope) if name else scope.value(word)
    return bool(found) is wanted
