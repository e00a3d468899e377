"""What stands in made-up tables: their heads and their rows."""

from collections.abc import Callable, Sequence
from typing import Final

from bench.sheets import PLACES, Sheet, Td

NAMES: Final = (
    "Region", "Output", "Share", "Change", "Price", "Stock", "Level", "Score", "Count",
    "Ratio", "Index", "Yield",
)  # fmt: skip
UNITS: Final = ["kg", "t", "%", "GWh", "m²", "EUR", "km", "l"]


def _label(made: Sheet) -> str:
    return made.rng.choice([made.rng.choice(PLACES), made.title(2), made.title(3)])


def _numbers(made: Sheet, rows: int) -> list[list[Td]]:
    columns, cents = made.rng.randint(3, 5), made.rng.random() < 0.4
    return [
        [Td(_label(made)), *(Td(made.number(cents=cents), look="n") for _ in range(columns))]
        for _ in range(rows)
    ]


def _gaps(made: Sheet, rows: int) -> list[list[Td]]:
    found = _numbers(made, rows)
    return [
        [
            Td("", look=td.look) if at and made.rng.random() < 0.2 else td
            for at, td in enumerate(row)
        ]
        for row in found
    ]


def _wide(made: Sheet, rows: int) -> list[list[Td]]:
    return [
        [
            Td(made.rng.choice(PLACES)),
            *(Td(f"{made.rng.uniform(0, 99):.1f}", look="n") for _ in range(8)),
        ]
        for _ in range(rows)
    ]


def _mixed(made: Sheet, rows: int) -> list[list[Td]]:
    return [
        [
            Td(f"{made.rng.choice('ABCX')}-{made.rng.randint(100, 999)}"),
            Td(made.title(made.rng.randint(2, 6))),
            Td(_day(made)),
            Td(made.number(cents=True), look="n"),
        ]
        for _ in range(rows)
    ]


def _day(made: Sheet) -> str:
    day, month, year = (made.rng.randint(*ends) for ends in ((1, 28), (1, 12), (10, 25)))
    return f"{day:02}.{month:02}.20{year}"


def _prose(made: Sheet, rows: int) -> list[list[Td]]:
    return [
        [
            Td(made.title(2)),
            Td(made.sentence(16)),
            Td(made.sentence(9)),
            Td(made.number(), look="n"),
        ]
        for _ in range(min(rows, 6))
    ]


def _short(made: Sheet, rows: int) -> list[list[Td]]:
    return [[Td(_label(made)), Td(made.number(), look="n")] for _ in range(rows)]


def _units(made: Sheet, rows: int) -> list[list[Td]]:
    return [
        [
            Td(_label(made)),
            Td(made.rng.choice(UNITS)),
            *(Td(made.number(), look="n") for _ in "123"),
        ]
        for _ in range(rows)
    ]


def _groups(made: Sheet, rows: int) -> list[list[Td]]:
    found: list[list[Td]] = []
    for _ in range(3):
        size = made.rng.randint(2, 3)
        first = [Td(made.rng.choice(PLACES), rows=size)]
        for at in range(size):
            rest = [Td(made.title(2)), Td(made.number(), look="n"), Td(made.number(), look="n")]
            found.append([*first, *rest] if at == 0 else rest)
    return found


def _sections(made: Sheet, rows: int) -> list[list[Td]]:
    found: list[list[Td]] = []
    for at, row in enumerate(_numbers(made, rows)):
        if at % 3 == 0:
            found.append([Td(made.title(3), columns=len(row), look="b")])
        found.append(row)
    width = max(sum(td.columns for td in row) for row in found)
    return [row for row in found if sum(td.columns for td in row) == width]


def _finance(made: Sheet, rows: int) -> list[list[Td]]:
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


def _plain(made: Sheet, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    names = made.rng.sample(NAMES, min(columns, len(NAMES)))
    return [[Td(name, look=look) for name, look in zip(names, looks, strict=False)]]


def _lines(made: Sheet, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    first = [Td(made.rng.choice(NAMES))]
    return [[*first, *(Td(made.title(made.rng.randint(3, 6)), look=look) for look in looks[1:])]]


def _span(made: Sheet, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    half = (columns - 1) // 2
    top = [Td(""), Td(made.title(2), columns=half, look="c")]
    top += [Td(made.title(2), columns=columns - 1 - half, look="c")]
    return [top, *_plain(made, columns, looks)]


def _corner(made: Sheet, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    top = [Td("Name", rows=2), Td("Kind", rows=2), Td(made.title(2), columns=columns - 2, look="c")]
    return [top, _plain(made, columns, looks)[0][2:]]


def _headless(made: Sheet, columns: int, looks: Sequence[str]) -> list[list[Td]]:
    return []


HEADS: Final[dict[str, Callable[[Sheet, int, Sequence[str]], list[list[Td]]]]] = {
    "plain": _plain,
    "lines": _lines,
    "span": _span,
    "corner": _corner,
    "none": _headless,
}
BODIES: Final[dict[str, Callable[[Sheet, int], list[list[Td]]]]] = {
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
}
