"""Made-up pages without a table: articles, letters, forms, sidebars, lists."""

from collections.abc import Callable
from random import Random
from typing import Final

from eval.html_page import FONTS, PLACES, HtmlPage

Maker = Callable[[HtmlPage], None]


def article(made: HtmlPage) -> None:
    made.css = "p{text-align:justify}"
    made.heading(1, 6)
    for _ in range(3):
        made.heading(2)
        made.prose(2)
    made.items(4, "ol")
    made.prose(1)
    made.items(3)
    made.prose(1)


def two_columns(made: HtmlPage) -> None:
    made.css = ".two{columns:2;column-gap:16pt;text-align:justify} body{font-size:9pt}"
    made.heading(1, 6)
    made.prose(1, 5)
    made.raw("<div class=two>")
    for _ in range(4):
        made.heading(2, 3)
        made.prose(2, 5)
    made.raw("</div>")


def three_columns(made: HtmlPage) -> None:
    made.css = (
        ".three{columns:3;column-gap:12pt;text-align:justify} "
        "body{font:8.5pt/1.25 'Liberation Serif'}"
    )
    made.heading(1, 7)
    made.raw("<div class=three>")
    for _ in range(3):
        made.heading(3, 3)
        made.prose(3, 4)
    made.raw("</div>")


def sidebar(made: HtmlPage) -> None:
    made.css = (
        ".row{display:flex;gap:20pt} .main{flex:3} .side{flex:1;background:#eee;padding:8pt;"
        "font-size:8.5pt;line-height:1.3}"
    )
    made.heading(1, 5)
    made.raw("<div class=row><div class=main>")
    made.prose(3, 5)
    made.heading(2)
    made.prose(3, 5)
    made.raw("</div><div class=side>")
    made.stream = 1
    made.heading(3, 2)
    made.prose(3, 2)
    made.raw("</div></div>")


def form(made: HtmlPage) -> None:
    """Labels and values in two columns; nothing of it is a table."""
    made.css = ".f{display:grid;grid-template-columns:110pt 1fr 90pt 1fr;row-gap:5pt}"
    made.heading(1, 3)
    made.prose(1)
    for side in (1, 2):
        made.raw("<div class=f>")
        made.stream = side
        for _ in range(6):
            made.put("span", "label", made.title(made.rng.randint(1, 2)) + ":")
            value = made.rng.choice([made.number(), made.title(2), made.rng.choice(PLACES)])
            made.put("span", "value", value)
        made.raw("</div><br>")
    made.stream = 0
    made.prose(2)


def letter(made: HtmlPage) -> None:
    """A sender at the left, what the letter is about at the right, and its text."""
    made.css = (
        ".row{display:flex;justify-content:space-between;margin-bottom:30pt} .r div{margin:0}"
    )
    made.raw("<div class=row>")
    for stream in (1, 2):
        made.raw("<div class=r>")
        made.stream = stream
        for text in address(made):
            made.put("div", "line", text)
        made.raw("</div>")
    made.stream = 0
    made.raw("</div>")
    made.put("p", "paragraph", f"Dear {made.rng.choice(PLACES)},")
    made.prose(4, 4)
    made.put("p", "paragraph", "Yours sincerely,")
    made.put("p", "paragraph", made.title(2))


def address(made: HtmlPage) -> list[str]:
    street = f"{made.title(1)} street {made.rng.randint(1, 99)}"
    town = f"{made.rng.randint(10000, 99999)} {made.rng.choice(PLACES)}"
    return [
        made.title(2),
        street,
        town,
        f"Phone {made.rng.randint(100, 999)} {made.rng.randint(1000, 9999)}",
    ]


def magazine(made: HtmlPage) -> None:
    made.css = (
        ".two{columns:2;column-gap:20pt;text-align:justify} .q{font:italic 15pt/1.3 'DejaVu Serif';"
        "break-inside:avoid;border-top:2pt solid;border-bottom:2pt solid;margin:8pt 0;"
        "text-align:left}"
        " .d::first-letter{float:left;font-size:34pt;line-height:28pt;padding-right:3pt}"
    )
    made.heading(1, 5)
    made.raw("<div class=two>")
    made.prose(1, 6, "d")
    made.prose(2, 5)
    made.stream = 1
    made.put("p", "quote", made.sentence(12), "q")
    made.stream = 0
    made.prose(3, 5)
    made.raw("</div>")


def bullets(made: HtmlPage) -> None:
    made.css = "body{font:10.5pt/1.4 'DejaVu Sans'} li{margin-bottom:3pt}"
    made.heading(1, 3)
    for _ in range(3):
        made.heading(3, 3)
        made.raw("<ul>")
        for _ in range(3):
            made.put("li", "list_item", made.sentence(16))
            made.items(2)
        made.raw("</ul>")


def running(made: HtmlPage) -> None:
    made.css = (
        "@page{margin:26mm 18mm} .h{position:fixed;top:-15mm;left:0;font-size:8pt} "
        ".f{position:fixed;bottom:-15mm;right:0;font-size:8pt}"
    )
    made.raw(f"<div class=h>{made.title(4)}</div><div class=f>{made.title(2)} 2024</div>")
    made.heading(1)
    for _ in range(9):
        made.heading(2)
        made.prose(3, 5)


TUNED: Final[tuple[Maker, ...]] = (
    article, two_columns, three_columns, sidebar, form, letter, magazine, bullets, running,
)  # fmt: skip


def page(make: Maker, seed: int) -> HtmlPage:
    made = HtmlPage(Random(f"{make.__name__} {seed}"))
    make(made)
    font = FONTS[seed % len(FONTS)]
    made.css = f"body{{font-family:'{font}'}} {made.css}"
    return made
