"""What stands in made-up tables: their heads and their rows."""

from collections.abc import Callable, Sequence
from typing import Final

from eval.html_page import PLACES, HtmlPage, Td

NAMES: Final = (
    "Region", "Output", "Share", "Change", "Price", "Stock", "Level", "Score", "Count",
    "Ratio", "Index", "Yield",
)  # fmt: skip
UNITS: Final = ["kg", "t", "%", "GWh", "m²", "EUR", "km", "l"]


def _label(made: HtmlPage) -> str:
    return made.rng.choice([made.rng.choice(PLACES), made.title(2), made.title(3)])


def _numbers(made: HtmlPage, rows: int) -> list[list[Td]]:
    columns, cents = made.rng.randint(3, 5), made.rng.random() < 0.4
    return [
        [Td(_label(made)), *(Td(made.number(cents=cents), look="n") for _ in range(columns))]
        for _ in range(rows)
    ]


def _gaps(made: HtmlPage, rows: int) -> list[list[Td]]:
    found = _numbers(made, rows)
    return [
        [
            Td("", look=td.look) if at and made.rng.random() < 0.2 else td
            for at, td in enumerate(row)
        ]
        for row in found
    ]


def _wide(made: HtmlPage, rows: int) -> list[list[Td]]:
    return [
        [
            Td(made.rng.choice(PLACES)),
            *(Td(f"{made.rng.uniform(0, 99):.1f}", look="n") for _ in range(8)),
        ]
        for _ in range(rows)
    ]


def _mixed(made: HtmlPage, rows: int) -> list[list[Td]]:
    return [
        [
            Td(f"{made.rng.choice('ABCX')}-{made.rng.randint(100, 999)}"),
            Td(made.title(made.rng.randint(2, 6))),
            Td(_day(made)),
            Td(made.number(cents=True), look="n"),
        ]
        for _ in range(rows)
    ]


def _day(made: HtmlPage) -> str:
    day, month, year = (made.rng.randint(*ends) for ends in ((1, 28), (1, 12), (10, 25)))
    return f"{day:02}.{month:02}.20{year}"


def _prose(made: HtmlPage, rows: int) -> list[list[Td]]:
    return [
        [
            Td(made.title(2)),
            Td(made.sentence(16)),
            Td(made.sentence(9)),
            Td(made.number(), look="n"),
        ]
        for _ in range(min(rows, 6))
    ]


def _short(made: HtmlPage, rows: int) -> list[list[Td]]:
    return [[Td(_label(made)), Td(made.number(), look="n")] for _ in range(rows)]


def _units(made: HtmlPage, rows: int) -> list[list[Td]]:
    return [
        [
            Td(_label(made)),
            Td(made.rng.choice(UNITS)),
            *(Td(made.number(), look="n") for _ in "123"),
        ]
        for _ in range(rows)
    ]


def _groups(made: HtmlPage, rows: int) -> list[list[Td]]:
    found: list[list[Td]] = []
    for _ in range(3):
        size = made.rng.randint(2, 3)
        first = [Td(made.rng.choice(PLACES), rows=size)]
        for at in range(size):
            rest = [Td(made.title(2)), Td(made.number(), look="n"), Td(made.number(), look="n")]
            found.append([*first, *rest] if at == 0 else rest)
    return found


def _sections(made: HtmlPage, rows: int) -> list[list[Td]]:
    found: list[list[Td]] = []
    for at, row in enumerate(_numbers(made, rows)):
        if at % 3 == 0:
            found.append([Td(made.title(3), columns=len(row), look="b")])
        found.append(row)
    width = max(sum(td.columns for td in row) for row in found)
    return [row for row in found if sum(td.columns for td in row) == width]


def _finance(made: HtmlPage, rows: int) -> list[list[Td]]:
    """As in annual reports: signs of money apart, indents, losses in brackets, a total."""
    found = [[Td("Revenues", columns=1), Td(""), Td("")]]
    for at in range(rows):
        values = [made.number(999_999) for _ in "12"]
        texts = [f"({value})" if made.rng.random() < 0.2 else value for value in values]
        texts = [f"$ {text}" for text in texts] if at == 0 else texts
        found.append([Td(made.title(3), look="i"), *(Td(text, look="n apart") for text in texts)])
    total = [Td(f"$ {made.number(999_999)}", look="n apart total") for _ in "12"]
    made.css += ".total{border-top:.7pt solid #000}"
    return [*found, [Td("Total " + made.title(1).lower()), *total]]


def _plain(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    names = made.rng.sample(NAMES, min(columns, len(NAMES)))
    return [[Td(name, look=look) for name, look in zip(names, looks, strict=False)]]


def _lines(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    first = [Td(made.rng.choice(NAMES))]
    return [[*first, *(Td(made.title(made.rng.randint(3, 6)), look=look) for look in looks[1:])]]


def _span(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    half = (columns - 1) // 2
    top = [Td(""), Td(made.title(2), columns=half, look="c")]
    top += [Td(made.title(2), columns=columns - 1 - half, look="c")]
    return [top, *_plain(made, columns, looks)]


def _corner(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    top = [Td("Name", rows=2), Td("Kind", rows=2), Td(made.title(2), columns=columns - 2, look="c")]
    return [top, _plain(made, columns, looks)[0][2:]]


def _headless(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    return []


def _low(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    """Heads of one line to three that stand on the same ground, as journals set them."""
    made.css += "th{vertical-align:bottom;text-align:center} th:first-child{text-align:left}"
    first = [Td(made.rng.choice(NAMES))]
    return [[*first, *(Td(made.title(made.rng.randint(1, 5)), look="c") for _ in looks[1:])]]


def _ruled_span(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    """Two levels, with a rule under each cell that is over several columns."""
    made.css += ".u{border-bottom:.5pt solid #000}"
    top, low = _span(made, columns, looks)
    return [[Td(td.text, td.rows, td.columns, "c u") if td.text else td for td in top], low]


def _years(made: HtmlPage, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    """As in annual reports: what the years are, above them."""
    top = [Td(""), Td("Year ended December 31,", columns=columns - 1, look="c")]
    years = [Td(str(2024 - at), look="n") for at in range(columns - 1)]
    return [top, [Td("(in millions)"), *years]]


def _leaders(made: HtmlPage, rows: int) -> list[list[Td]]:
    dots = ["." * made.rng.randint(20, 40) for _ in range(rows)]
    return [
        [Td(f"{_label(made)} {dot}"), Td(made.number(), look="n"), Td(made.number(), look="n")]
        for dot in dots
    ]


def _trial(made: HtmlPage, rows: int) -> list[list[Td]]:
    """Means and errors in the middle of narrow columns."""
    made.css += "td{padding:1pt 4pt}"
    return [
        [
            Td(made.title(made.rng.randint(1, 3))),
            *(
                Td(f"{made.rng.uniform(0, 9):.2f} ± {made.rng.uniform(0, 1):.2f}", look="c")
                for _ in "123"
            ),
            Td(f"< 0.{made.rng.randint(1, 99):02}", look="c"),
        ]
        for _ in range(rows)
    ]


def _middle(made: HtmlPage, rows: int) -> list[list[Td]]:
    made.css += "td{vertical-align:middle}"
    return _prose(made, rows)


def _dense(made: HtmlPage, rows: int) -> list[list[Td]]:
    """Long cells, and no room between rows but that between lines."""
    made.css += "td{padding:0 6pt}"
    return [
        [Td(_day(made)), Td(made.sentence(14)), Td(made.number(cents=True), look="n")]
        for _ in range(rows)
    ]


def _people(made: HtmlPage, rows: int) -> list[list[Td]]:
    return [
        [
            Td(made.title(2).title()),
            Td(made.title(made.rng.randint(1, 3))),
            Td(made.rng.choice(PLACES)),
        ]
        for _ in range(rows)
    ]


def _tree(made: HtmlPage, rows: int) -> list[list[Td]]:
    """Rows without figures above the indented ones that belong to them."""
    found: list[list[Td]] = []
    for at in range(rows):
        if at % 3 == 0:
            found.append([Td(made.title(2)), *(Td("") for _ in "123")])
        values = (Td(made.number(cents=True), look="n") for _ in "123")
        found.append([Td(made.title(2), look="i"), *values])
    return found


HEADS: Final[dict[str, Callable[[HtmlPage, int, Sequence[str]], list[list[Td]]]]] = {
    "plain": _plain,
    "lines": _lines,
    "span": _span,
    "corner": _corner,
    "none": _headless,
    "low": _low,
    "ruledspan": _ruled_span,
    "years": _years,
}
BODIES: Final[dict[str, Callable[[HtmlPage, int], list[list[Td]]]]] = {
    "numbers": _numbers,
    "gaps": _gaps,
    "wide": _wide,
    "mixed": _mixed,
    "prose": _prose,
    "short": _short,
    "units": _units,
    "groups": _groups,
    "sections": _sections,
    "finance": _finance,
    "leaders": _leaders,
    "trial": _trial,
    "middle": _middle,
    "dense": _dense,
    "people": _people,
    "tree": _tree,
}
