"""Pages of known truth: HTML that Chromium prints, and beside it what stands there, in order."""

import html
import re
from dataclasses import dataclass, field
from pydoc_data.topics import topics
from random import Random
from typing import Final

WORDS: Final = sorted(set(re.findall(r"\b[a-z]{2,12}\b", " ".join(topics.values()))))
SMALL: Final = (
    "the", "of", "and", "to", "in", "is", "a", "for", "as",
    "by", "on", "with", "that", "it", "not", "be", "or", "from",
    "at", "which",
)  # fmt: skip
PLACES: Final = (
    "Aachen", "Bergen", "Cardiff", "Dresden", "Esbjerg", "Faro", "Gdansk", "Haarlem", "Izmir",
    "Jena", "Kaunas", "Lille", "Malmo", "Namur", "Oulu", "Porto", "Quimper", "Riga",
    "Split", "Turku", "Utrecht", "Varna", "Wroclaw", "Xanten", "York", "Zadar",
)  # fmt: skip
FONTS: Final = (
    "Liberation Sans",
    "Liberation Serif",
    "DejaVu Sans",
    "DejaVu Serif",
    "Liberation Sans Narrow",
)


@dataclass(frozen=True, slots=True)
class Put:
    """A cell of a table that is known."""

    row: int
    column: int
    text: str
    row_span: int = 1
    column_span: int = 1


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page. Between streams there is no true order: a sidebar and its text."""

    kind: str
    text: str
    stream: int = 0
    cells: tuple[Put, ...] = ()


@dataclass(frozen=True, slots=True)
class Td:
    """A cell as HTML has it."""

    text: str
    rows: int = 1
    columns: int = 1
    look: str = ""


@dataclass
class HtmlPage:
    """A document in the making."""

    rng: Random
    css: str = ""
    body: list[str] = field(default_factory=list[str])
    parts: list[Part] = field(default_factory=list[Part])
    stream: int = 0

    def raw(self, text: str) -> None:
        self.body.append(text)

    def put(self, tag: str, kind: str, text: str, look: str = "") -> None:
        self.parts.append(Part(kind, text, self.stream))
        self.raw(f'<{tag} class="{look}">{html.escape(text)}</{tag.split()[0]}>')

    def heading(self, level: int = 2, words: int = 4) -> None:
        self.put(f"h{level}", "heading", self.title(words))

    def prose(self, count: int = 1, sentences: int = 4, look: str = "") -> None:
        for _ in range(count):
            self.put("p", "paragraph", self.sentences(sentences), look)

    def items(self, count: int, tag: str = "ul", words: int = 9) -> None:
        self.raw(f"<{tag}>")
        for at in range(1, count + 1):
            text = self.sentence(words)
            numbered = f"{at}. {text}" if tag == "ol" else text
            self.parts.append(Part("list_item", numbered, self.stream))
            self.raw(f"<li>{text}</li>")
        self.raw(f"</{tag}>")

    def table(self, rows: list[list[Td]], look: str = "", head: int = 1) -> None:
        cells = placed(rows)
        self.parts.append(Part("table", " ".join(cell.text for cell in cells), self.stream, cells))
        lines = [_row(row, "th" if at < head else "td") for at, row in enumerate(rows)]
        whole = f"<thead>{''.join(lines[:head])}</thead><tbody>{''.join(lines[head:])}</tbody>"
        self.raw(f'<table class="{look}">{whole}</table>')

    def word(self) -> str:
        return self.rng.choice(SMALL if self.rng.random() < 0.35 else WORDS)

    def words(self, low: int, high: int) -> str:
        return " ".join(self.word() for _ in range(self.rng.randint(low, high))).capitalize()

    def title(self, words: int = 4) -> str:
        return " ".join(self.rng.choice(WORDS) for _ in range(words)).capitalize()

    def sentence(self, words: int = 14) -> str:
        inner = [self.word() for _ in range(self.rng.randint(max(words // 2, 3), words * 3 // 2))]
        if len(inner) > 8:
            inner[len(inner) // 2] += ","
        return " ".join(inner).capitalize() + "."

    def sentences(self, count: int) -> str:
        return " ".join(self.sentence() for _ in range(max(1, count + self.rng.randint(-1, 1))))

    def number(self, most: int = 99_999, cents: bool = False) -> str:
        value = self.rng.randint(1, self.rng.choice([99, 999, most]))
        return f"{value:,}.{self.rng.randint(0, 99):02}" if cents else f"{value:,}"

    @property
    def page(self) -> str:
        return (
            "<!doctype html><meta charset=utf-8><style>"
            f"{BASE}{self.css}</style><body>{''.join(self.body)}"
        )


BASE: Final = """
@page{size:A4;margin:18mm} body{margin:0;font:10pt/1.35 'Liberation Sans'} table{border-spacing:0;
border-collapse:collapse;margin:8pt 0} th,td{padding:2.5pt 6pt;text-align:left;vertical-align:top}
th{font-weight:bold} .n{text-align:right} .c{text-align:center} p{margin:0 0 7pt} h1{font-size:20pt}
h2{font-size:14pt;margin:10pt 0 5pt} h3{font-size:10pt;margin:8pt 0 3pt} .i{padding-left:16pt}
.s{float:left} caption,.caption{font-size:9pt} .note{font-size:8pt;margin:0 0 3pt} .full{width:100%}
"""


def _row(row: list[Td], tag: str) -> str:
    cells = (
        f'<{tag} rowspan={td.rows} colspan={td.columns} class="{td.look}">{_inner(td)}</{tag}>'
        for td in row
    )
    return f"<tr>{''.join(cells)}</tr>"


def _inner(td: Td) -> str:
    """A sign of money at the left edge of its cell, the amount at the right one, where asked."""
    sign, _, rest = td.text.partition(" ")
    if "apart" in td.look and rest:
        return f'<span class="s">{html.escape(sign)}</span>&nbsp;{html.escape(rest)}'
    return html.escape(td.text)


def placed(rows: list[list[Td]]) -> tuple[Put, ...]:
    """The cells with text by row and column, as HTML counts them."""
    taken: set[tuple[int, int]] = set()
    cells: list[Put] = []
    for row, tds in enumerate(rows):
        column = 0
        for td in tds:
            while (row, column) in taken:
                column += 1
            taken |= {(row + r, column + c) for r in range(td.rows) for c in range(td.columns)}
            if td.text:
                cells.append(Put(row, column, td.text, td.rows, td.columns))
            column += td.columns
    return tuple(cells)
