"""More made-up pages without a table. These are held out: rules are not tuned on them."""

from typing import Final

from eval.html_page import HtmlPage
from eval.html_texts import Maker, address


def indented(made: HtmlPage) -> None:
    made.css = (
        ".two{columns:2;column-gap:11pt;text-align:justify} body{font:9pt/1.2 'Liberation Serif'}"
        " p{margin:0;text-indent:12pt} h3{font-size:9pt}"
    )
    made.heading(1, 6)
    made.raw("<div class=two>")
    for _ in range(5):
        made.heading(3, 3)
        made.prose(3, 4)
    made.raw("</div>")


def figure(made: HtmlPage) -> None:
    made.css = (
        ".two{columns:2;column-gap:18pt} .b{height:120pt;background:#ccd;break-inside:avoid}"
        " .n{font-size:7.5pt;border-top:.5pt solid;text-align:left}"
    )
    made.heading(1)
    made.raw("<div class=two>")
    made.prose(3, 5)
    made.raw("<div class=b></div>")
    made.put("p", "caption", f"Figure 1. {made.sentence(12)}", "caption")
    made.prose(4, 5)
    made.put("p", "paragraph", f"1 {made.sentence(12)}", "n")
    made.raw("</div>")


def newspaper(made: HtmlPage) -> None:
    """Headlines over all and over two of four columns."""
    made.css = (
        "body{font:8.5pt/1.25 'Liberation Serif'} "
        ".g{display:grid;grid-template-columns:2fr 1fr;gap:14pt} "
        ".a{columns:2;column-gap:12pt} p{text-align:justify;margin:0 0 3pt}"
    )
    made.heading(1, 5)
    made.raw("<div class=g><div>")
    made.stream = 1
    made.heading(2, 6)
    made.raw("<div class=a>")
    made.prose(5, 5)
    made.raw("</div></div><div>")
    made.stream = 2
    made.heading(2, 4)
    made.prose(4, 4)
    made.raw("</div></div>")


def margin_notes(made: HtmlPage) -> None:
    made.css = (
        ".row{display:flex;gap:16pt} .side{flex:1;font:italic 8pt/1.2 'DejaVu Sans'} .main{flex:4}"
    )
    made.heading(1)
    for stream in (1, 2, 3):
        made.raw("<div class=row><div class=side>")
        made.stream = stream
        made.put("p", "paragraph", made.sentence(9))
        made.raw("</div><div class=main>")
        made.stream = 0
        made.prose(2, 4)
        made.raw("</div></div>")


def boxed_form(made: HtmlPage) -> None:
    """Small labels above their values, three to a row."""
    made.css = (
        ".f{display:grid;grid-template-columns:1fr 1fr 1fr;gap:10pt 14pt} "
        ".l{font-size:7pt;color:#666} .f div{display:block}"
    )
    made.heading(2, 3)
    made.raw("<div class=f>")
    for stream in range(1, 10):
        made.stream = stream
        made.raw("<div>")
        made.put("div", "label", made.title(2), "l")
        made.put("div", "value", made.rng.choice([made.number(), made.title(2)]))
        made.raw("</div>")
    made.stream = 0
    made.raw("</div><br>")
    made.prose(3)


def resume(made: HtmlPage) -> None:
    """Years at the left, what was done then at the right."""
    made.css = ".row{display:flex;gap:14pt;margin-bottom:6pt} .when{width:80pt} .what{flex:1}"
    made.heading(1, 2)
    for _ in range(3):
        made.heading(2, 2)
        for _ in range(2):
            year = made.rng.randint(1990, 2020)
            made.raw("<div class=row>")
            made.put("div", "label", f"{year} to {year + made.rng.randint(1, 5)}", "when")
            made.raw("<div class=what>")
            made.put("div", "paragraph", made.sentences(3))
            made.raw("</div></div>")


def newsletter(made: HtmlPage) -> None:
    made.css = ".row{display:flex;gap:18pt} .a{flex:7;text-align:justify} .b{flex:3;font-size:9pt}"
    made.heading(1, 3)
    made.raw("<div class=row><div class=a>")
    made.stream = 1
    made.heading(2)
    made.prose(5, 4)
    made.raw("</div><div class=b>")
    made.stream = 2
    made.heading(3, 2)
    made.items(5)
    made.heading(3, 2)
    made.prose(2, 3)
    made.raw("</div></div>")


def clauses(made: HtmlPage) -> None:
    made.css = "body{font:10pt/1.3 'Liberation Serif'} .x{padding-left:26pt;text-indent:-26pt}"
    made.heading(1, 3)
    for at in range(1, 4):
        made.put("h3", "heading", f"{at}. {made.title(2).title()}")
        for inner in range(1, 3):
            made.put("p", "paragraph", f"{at}.{inner} {made.sentences(3)}", "x")
        for letter in "abc":
            made.put("p", "list_item", f"({letter}) {made.sentence(12)}", "x")


def switching(made: HtmlPage) -> None:
    made.css = ".two{columns:2;column-gap:18pt;text-align:justify;margin-bottom:8pt}"
    made.heading(1)
    for _ in range(2):
        made.prose(1, 4)
        made.raw("<div class=two>")
        made.prose(3, 4)
        made.raw("</div>")
    made.prose(1, 3)


def letterhead(made: HtmlPage) -> None:
    """A letter with a foot of four small blocks beside each other."""
    made.css = (
        ".c{text-align:center} .g{display:grid;grid-template-columns:repeat(4,1fr);font-size:7pt}"
    )
    made.put("div", "line", made.title(3), "c")
    made.put("div", "line", address(made)[1], "c")
    made.raw("<br><br>")
    for text in address(made):
        made.put("div", "line", text)
    made.raw("<br>")
    made.prose(5, 4)
    made.raw("<br><div class=g>")
    for stream in range(1, 5):
        made.stream = stream
        made.raw("<div>")
        for text in address(made):
            made.put("div", "line", text)
        made.raw("</div>")
    made.raw("</div>")


def questions(made: HtmlPage) -> None:
    made.css = "b{display:block} body{font:11pt/1.4 'Liberation Sans Narrow'}"
    made.heading(2, 2)
    for _ in range(6):
        made.put("b", "heading", made.title(5) + "?")
        made.prose(1, 3)


HELD: Final[tuple[Maker, ...]] = (
    indented, figure, newspaper, margin_notes, boxed_form, resume, newsletter, clauses, switching,
    letterhead, questions,
)  # fmt: skip
