"""Results drawn for looking at: JSON as a tree that opens and closes, XML in colours.

Everything that comes from a document is escaped here, once.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from markupsafe import Markup, escape

from docmill.core.json_values import is_list, is_object

NODES: Final = 1500
DEEPEST: Final = 40
LONGEST: Final = 2000

_XML: Final = re.compile(
    r"(?P<comment><!--.*?-->|<\?.*?\?>|<!.*?>)"
    r"|(?P<open></?)(?P<name>[^\s/>]+)(?P<attributes>[^>]*?)(?P<close>/?>)"
    r"|(?P<text>[^<]+|<)",
    re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(r"""(\s+)([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')""")


def draw_tree(value: Any) -> Markup:
    """Data as nested lists; what is past the limit is counted, not drawn."""
    return TreeDrawing().draw(value)


class TreeDrawing:
    """One drawing, and how many values it may still draw."""

    def __init__(self) -> None:
        self._left: int = NODES

    def draw(self, value: Any) -> Markup:
        body = self._children(value, 0) if isinstance(value, dict | list) else _draw_plain(value)
        return Markup('<div class="tree">{}</div>').format(body)

    def _children(self, value: Any, depth: int) -> Markup:
        items = list(_list_items(value))
        drawn: list[Markup] = []
        while items and self._left > 0:
            drawn.append(self._item(*items.pop(0), depth=depth))
        if items:
            drawn.append(Markup('<li class="meta">… {} more</li>').format(len(items)))
        return Markup("<ul>{}</ul>").format(Markup("").join(drawn))

    def _item(self, name: str, value: Any, *, depth: int) -> Markup:
        self._left -= 1
        if not (is_object(value) or is_list(value)) or not value or depth >= DEEPEST:
            return Markup('<li><span class="k">{}</span> {}</li>').format(name, _draw_plain(value))
        return Markup(
            '<li><details{}><summary><span class="k">{}</span> <span class="meta">{}</span>'
            "</summary>{}</details></li>"
        ).format(
            Markup(" open") if depth == 0 and len(value) <= 12 else "",
            name,
            _describe_count(value),
            self._children(value, depth + 1),
        )


def _list_items(value: Any) -> Iterator[tuple[str, Any]]:
    if is_object(value):
        yield from value.items()
    else:
        yield from ((str(number), each) for number, each in enumerate(value, 1))


def _describe_count(value: dict[str, Any] | list[Any]) -> str:
    noun = "entry" if isinstance(value, list) else "field"
    plural = "entries" if isinstance(value, list) else "fields"
    return f"{len(value)} {noun if len(value) == 1 else plural}"


def _draw_plain(value: Any) -> Markup:
    if isinstance(value, str):
        shown = value if len(value) <= LONGEST else value[:LONGEST] + "…"
        return Markup('<span class="s">{}</span>').format(shown)
    return Markup('<span class="n">{}</span>').format(json.dumps(value))


def draw_xml(text: str) -> Markup:
    """XML in colours. It is only looked at piece by piece, so broken XML is shown as it is."""
    return Markup("").join(_draw_piece(found) for found in _XML.finditer(text))


def _draw_piece(found: re.Match[str]) -> Markup:
    if found["comment"]:
        return Markup('<span class="c">{}</span>').format(found["comment"])
    if found["name"]:
        return Markup('<span class="t">{}{}</span>{}<span class="t">{}</span>').format(
            found["open"], found["name"], _draw_attributes(found["attributes"]), found["close"]
        )
    return escape(found["text"])


def _draw_attributes(text: str) -> Markup:
    drawn, at = Markup(""), 0
    for found in _ATTRIBUTE.finditer(text):
        drawn += escape(text[at : found.start()])
        drawn += Markup('{}<span class="k">{}</span>{}<span class="s">{}</span>').format(
            *found.groups()
        )
        at = found.end()
    return drawn + escape(text[at:])
