"""Made-up pages on which little is plain text, and nothing is a table."""

from typing import Final

from eval.html_page import PLACES, HtmlPage
from eval.html_texts import Maker


def paper(made: HtmlPage) -> None:
    """A scientific paper: title and authors in the middle, abstract, two columns, references."""
    made.css = (
        "body{font:9pt/1.2 'Liberation Serif'} h1,.m{text-align:center} h3{text-align:center}"
        ".a{display:flex;justify-content:space-around;text-align:center} .two{columns:2;"
        "column-gap:14pt;text-align:justify} .two p{margin:0;text-indent:10pt} "
        ".abs{margin:8pt 50pt}"
        ".r{font-size:8pt;padding-left:14pt;text-indent:-14pt!important}"
    )
    made.heading(1, 6)
    made.raw("<div class=a>")
    for stream in (1, 2, 3):
        made.stream = stream
        made.raw("<div>")
        for text in (made.title(2).title(), made.title(3), made.rng.choice(PLACES)):
            made.put("div", "line", text)
        made.raw("</div>")
    made.raw("</div>")
    made.stream = 0
    made.prose(1, 5, "abs")
    made.raw("<div class=two>")
    for at in range(1, 5):
        made.put("h3", "heading", f"{at}. {made.title(2).title()}")
        made.prose(3, 5)
    made.put("h3", "heading", "References")
    for at in range(1, 7):
        made.put("p", "reference", f"[{at}] {made.sentence(16)}", "r")
    made.raw("</div>")


def contents(made: HtmlPage) -> None:
    """Titles with leaders and the numbers of their pages."""
    made.css = ".t{display:flex} .t i{flex:1;overflow:hidden;white-space:nowrap}"
    made.heading(1, 1)
    for at in range(1, 16):
        title = f"{at}. {made.title(made.rng.randint(2, 5))}"
        made.raw(
            f"<div class=t><span>{title}&nbsp;</span><i>{'.' * 300}</i><span>{3 * at}</span></div>"
        )


def hyphens(made: HtmlPage) -> None:
    """Narrow columns whose words are cut at the ends of lines."""
    made.css = (
        ".three{columns:3;column-gap:14pt;text-align:justify;hyphens:manual}"
        "body{font:9pt/1.25 'DejaVu Serif'}"
    )
    made.heading(2)
    made.raw("<div class=three>")
    for _ in range(6):
        text = made.sentences(5)
        made.put("p", "paragraph", text)
        made.body[-1] = " ".join(
            word[:4] + "&shy;" + word[4:] if len(word) > 7 else word
            for word in made.body[-1].replace('<p class="">', "<p> ").split(" ")
        )
    made.raw("</div>")


def chart(made: HtmlPage) -> None:
    """Bars with figures on two axes: their labels stand in rows and columns."""
    bars = "".join(
        f'<rect x="{50 + 60 * at}" y="{made.rng.randint(20, 140)}" width="40" height="60"'
        f' fill="#579"/><text x="{55 + 60 * at}" y="215">{2015 + at}</text>'
        for at in range(6)
    )
    ticks = "".join(f'<text x="10" y="{200 - 40 * at}">{at * 25}</text>' for at in range(5))
    made.prose(2)
    made.raw(f'<svg width="430" height="230" font-size="11">{bars}{ticks}</svg>')
    made.put("p", "caption", f"Figure 2: {made.sentence(9)}", "caption")
    made.prose(3)


def slide(made: HtmlPage) -> None:
    made.css = "@page{size:A4 landscape} body{font:18pt/1.4 'Liberation Sans'} h1{font-size:32pt}"
    made.heading(1, 4)
    made.items(4, words=8)
    made.raw("<div style='columns:2'>")
    made.items(6, words=5)
    made.raw("</div>")


def listing(made: HtmlPage) -> None:
    """Lines of a program between paragraphs."""
    made.css = "pre{font:8.5pt/1.3 'Liberation Mono'}"
    made.prose(2)
    lines = [
        "    " * (at % 3) + f"{made.rng.choice(PLACES).lower()} = {made.title(1).lower()}({at})"
        for at in range(8)
    ]
    made.put("pre", "code", "\n".join(lines))
    made.prose(2)


def invoice_head(made: HtmlPage) -> None:
    """Two parties, and facts of a letter in two columns without a colon."""
    made.css = ".g{display:grid;grid-template-columns:1fr 1fr;gap:4pt 60pt;margin-bottom:20pt}"
    made.raw("<div class=g>")
    for stream in (1, 2):
        made.stream = stream
        made.raw("<div>")
        for text in (made.title(1), made.title(2).title(), made.title(2), made.rng.choice(PLACES)):
            made.put("div", "line", text)
        made.raw("</div>")
    made.raw("</div>")
    made.stream = 0
    made.prose(3)


MORE: Final[tuple[Maker, ...]] = (
    paper, contents, hyphens, chart, slide, listing, invoice_head,
)  # fmt: skip
