"""Styles of made-up tables: which rules are drawn, how the head is built, what stands in the cells
and where the table stands. Half of the styles are held out: rules are not tuned on them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from eval.html_cells import BODIES, HEADS
from eval.html_page import FONTS, HtmlPage, Td

RULES: Final = {
    "grid": "th,td{border:0.7pt solid #444}",
    "outer": "table{border:1pt solid #000} th{border-bottom:1pt solid #000} "
    "th+th,td+td{border-left:1pt solid #000}",
    "level": "tr{border-bottom:0.5pt solid #888} thead tr:last-child{border-bottom:1pt solid #000}",
    "book": "table{border-top:1.2pt solid #000;border-bottom:1.2pt solid #000} "
    "thead{border-bottom:.6pt solid #000}",
    "none": "",
    "zebra": "tbody tr:nth-child(odd){background:#e8eef5}",
    "fill": "thead{background:#234;color:#fff}",
    "steep": "th+th,td+td{border-left:0.7pt solid #333}",
    "frame": "table{border:1pt solid #000}",
    "double": "th,td{border:2.5pt double #000}",
    "dotted": "tr{border-bottom:1pt dotted #777}",
}


@dataclass(frozen=True, slots=True)
class Style:
    """One way to set a table."""

    rules: str
    head: str
    body: str
    place: str
    font: int
    size: float

    @property
    def name(self) -> str:
        return f"{self.rules}-{self.head}-{self.body}-{self.place}"


TUNED: Final = (
    Style("grid", "plain", "numbers", "page", 0, 10),
    Style("grid", "corner", "groups", "caption", 1, 10),
    Style("level", "lines", "mixed", "page", 2, 8),
    Style("book", "span", "numbers", "notes", 1, 9),
    Style("none", "plain", "numbers", "page", 0, 10),
    Style("none", "plain", "prose", "page", 1, 10),
    Style("zebra", "plain", "gaps", "tight", 4, 11),
    Style("fill", "lines", "units", "page", 2, 9),
    Style("steep", "plain", "numbers", "centred", 3, 9),
    Style("none", "plain", "finance", "page", 1, 9),
    Style("grid", "plain", "prose", "column", 0, 8),
    Style("book", "plain", "mixed", "column", 1, 8),
    Style("none", "plain", "short", "page", 0, 10),
    Style("level", "plain", "gaps", "break", 3, 10),
    Style("grid", "plain", "mixed", "pair", 4, 8),
    Style("book", "low", "trial", "notes", 1, 8),
    Style("book", "ruledspan", "numbers", "caption", 1, 8),
    Style("none", "years", "finance", "page", 0, 9),
    Style("none", "none", "leaders", "page", 1, 10),
    Style("level", "plain", "middle", "page", 2, 9),
    Style("book", "plain", "dense", "page", 0, 9),
    Style("none", "plain", "people", "page", 3, 9),
    Style("level", "years", "tree", "page", 1, 10),
    Style("frame", "plain", "gaps", "page", 4, 10),
    Style("zebra", "low", "wide", "page", 0, 7),
    Style("none", "plain", "numbers", "float", 1, 9),
    Style("double", "span", "numbers", "column", 0, 7),
)
HELD: Final = (
    Style("grid", "span", "gaps", "notes", 2, 8),
    Style("grid", "plain", "sections", "page", 1, 10),
    Style("outer", "plain", "numbers", "caption", 0, 9),
    Style("level", "corner", "prose", "page", 4, 10),
    Style("book", "lines", "prose", "page", 1, 9),
    Style("book", "span", "wide", "page", 1, 8),
    Style("none", "lines", "gaps", "page", 2, 9),
    Style("none", "span", "numbers", "caption", 0, 10),
    Style("none", "none", "mixed", "page", 3, 9),
    Style("zebra", "lines", "finance", "page", 0, 9),
    Style("fill", "plain", "groups", "page", 1, 11),
    Style("dotted", "plain", "short", "page", 2, 10),
    Style("none", "plain", "units", "pair", 4, 9),
    Style("level", "plain", "mixed", "column", 1, 8),
    Style("grid", "lines", "wide", "break", 0, 8),
    Style("none", "plain", "sections", "tight", 3, 10),
)


def page(style: Style, seed: int) -> HtmlPage:
    """A document with a table of this style, or two."""
    made = HtmlPage(Random(f"{style.name} {seed}"))
    made.css = f"body{{font:{style.size}pt/1.35 '{FONTS[style.font]}'}} {RULES[style.rules]}"
    PLACED[style.place](made, style)
    return made


def _table(made: HtmlPage, style: Style, rows: int = 0, look: str = "full") -> None:
    body = BODIES[style.body](made, rows or made.rng.randint(4, 9))
    columns = max(sum(td.columns for td in row) for row in body)
    head = HEADS[style.head](made, columns, [_look(body, at) for at in range(columns)])
    made.table([*head, *body], look, len(head))


def _look(body: Sequence[Sequence[Td]], column: int) -> str:
    full = max(body, key=len)
    look = full[column].look if column < len(full) else ""
    return "n" if "n" in look.split() else ""


def _page(made: HtmlPage, style: Style) -> None:
    made.heading()
    made.prose(2)
    _table(made, style)
    made.prose(1)


def _caption(made: HtmlPage, style: Style) -> None:
    made.prose(1)
    made.put("p", "caption", f"Table {made.rng.randint(1, 9)}: {made.sentence(8)}", "caption")
    _table(made, style)
    made.prose(2)


def _notes(made: HtmlPage, style: Style) -> None:
    _caption_only(made)
    _table(made, style)
    for mark in "12":
        made.put("p", "paragraph", f"{mark} {made.sentence(10)}", "note")
    made.prose(2)


def _caption_only(made: HtmlPage) -> None:
    made.put("p", "caption", f"Table {made.rng.randint(1, 9)}. {made.title(5)}", "caption")


def _tight(made: HtmlPage, style: Style) -> None:
    made.prose(1)
    _table(made, style, look="")
    made.prose(2)


def _centred(made: HtmlPage, style: Style) -> None:
    made.css += "table{margin:10pt auto}"
    _tight(made, style)


def _column(made: HtmlPage, style: Style) -> None:
    made.css += ".two{columns:2;column-gap:18pt;text-align:justify} table{break-inside:avoid}"
    made.heading(1)
    made.raw("<div class=two>")
    made.prose(3, 5)
    _table(made, style, 5)
    made.prose(4, 5)
    made.raw("</div>")


def _pair(made: HtmlPage, style: Style) -> None:
    made.css += ".pair{display:flex;gap:24pt;align-items:flex-start} .pair table{flex:1}"
    made.prose(2)
    made.raw("<div class=pair>")
    for stream in (1, 2):
        made.stream = stream
        _table(made, style)
    made.stream = 0
    made.raw("</div>")
    made.prose(2)


def _float(made: HtmlPage, style: Style) -> None:
    """A small table with the text around it."""
    made.css += "table{float:right;margin:4pt 0 8pt 16pt} p{text-align:justify}"
    made.prose(1)
    made.stream = 1
    _table(made, style, look="")
    made.stream = 0
    made.prose(4, 6)


def _break(made: HtmlPage, style: Style) -> None:
    made.prose(3, 6)
    _table(made, style, 44)
    made.prose(1)


PLACED: Final[dict[str, Callable[[HtmlPage, Style], None]]] = {
    "page": _page,
    "caption": _caption,
    "notes": _notes,
    "tight": _tight,
    "centred": _centred,
    "column": _column,
    "pair": _pair,
    "break": _break,
    "float": _float,
}
