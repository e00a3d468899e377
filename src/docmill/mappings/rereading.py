"""XML that a mapping wrote, read back into the values that it carries."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docmill.mappings import xml
from docmill.mappings.formats import FORMATS
from docmill.mappings.schema import INVOICES, InvoiceMapping, Node

Json = dict[str, Any]


def read_back(mapping: InvoiceMapping, document: bytes) -> Json:
    """The invoice that the XML tells of; of a bulk file the first."""
    return read_back_all(mapping, document)[0]


def read_back_all(mapping: InvoiceMapping, document: bytes) -> list[Json]:
    root = xml.parse(document)
    if root.tag != mapping.root.tag:
        raise xml.NotXml(f"the root is {root.tag}, and {mapping.name} writes {mapping.root.tag}")
    shared: Json = {}
    invoices: list[Json] = []
    _read(mapping.root, root, _Places(shared, {}), invoices=invoices)
    found = [_joined(shared, invoice) for invoice in invoices] if mapping.is_bulk else [shared]
    return found or [shared]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where values go: into the invoice, and for paths that begin with a dot into its row."""

    invoice: Json
    row: Json


def _read(node: Node, element: xml.Element, places: _Places, *, invoices: list[Json]) -> None:
    """Elements come in the mapping's order: each child of the mapping takes those that fit it."""
    waiting = list(element)
    for child in node.children:
        if child.is_attribute:
            _carry(child, element.get(child.tag), places)
            continue
        for part in _taken(child, waiting):
            inner = _inside(child, places, invoices)
            _carry(child, None if len(part) else part.text, inner)
            _read(child, part, inner, invoices=invoices)


def _taken(node: Node, waiting: list[xml.Element]) -> Iterator[xml.Element]:
    while waiting and _fits(node, waiting[0]):
        yield waiting.pop(0)
        if not node.repeat:
            return


def _inside(node: Node, places: _Places, invoices: list[Json]) -> _Places:
    if node.repeat == INVOICES:
        invoices.append({})
        return _Places(invoices[-1], {})
    if not node.repeat:
        return places
    row: Json = {}
    if (node.reads or node.repeat) == "lines":
        places.invoice.setdefault("lines", []).append(row)
    return _Places(places.invoice, row)


def _fits(node: Node, element: xml.Element) -> bool:
    """Same name, and the same text wherever the mapping always writes the same."""
    if element.tag != node.tag:
        return False
    if node.constant is not None and (element.text or "") != node.constant:
        return False
    return all(_has(child, element) for child in node.children if _is_always(child))


def _has(child: Node, element: xml.Element) -> bool:
    if child.is_attribute:
        return child.constant is None or element.get(child.tag) == child.constant
    if not _is_constant(child):
        return True
    return any(_fits(child, part) for part in element)


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


def _joined(shared: Json, invoice: Json) -> Json:
    """What the file says once, unless the invoice says more of it."""
    joined = {**shared, **invoice}
    for name, value in shared.items():
        if isinstance(value, dict):
            joined[name] = {**value, **invoice.get(name, {})}
    return joined
