"""Draws broker notes nobody has seen, reads them and scores them: languages, layouts, words vary.

The words here are those of no reader: they were written down from what brokers call things.

python -m eval.broker_notes [--count N] [--seed S] [--out DIR] [--errors]
"""

import argparse
import hashlib
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from eval.broker_deals import BROKERS, CENT, WORDS, Deal, a_deal
from eval.canvas import Canvas
from eval.score_trades import read, scored

DAYS: Final = {
    "de": ("%d.%m.%Y",),
    "en": ("%d %B %Y", "%d-%b-%Y", "%Y-%m-%d"),
    "pl": ("%d.%m.%Y", "%Y-%m-%d"),
}


class Note:
    """One document: how it speaks, how it writes numbers and dates, and its canvas."""

    def __init__(self, rng: random.Random, languages: Sequence[str] = ("de", "en")) -> None:
        self.rng: random.Random = rng
        self.language: str = rng.choice(languages)
        self.canvas: Canvas = Canvas(
            rng.choice(("Helvetica", "Times-Roman", "Courier")), rng.choice((8.0, 9.0, 10.0))
        )
        self.comma: bool = self.language != "en" and rng.random() < 0.85
        self.broker: str = rng.choice(BROKERS)
        self.y: float = 60.0

    def say(self, what: str) -> str:
        return self.rng.choice(WORDS[self.language][what])

    def number(self, value: Decimal) -> str:
        text = f"{value:,f}"
        return text.translate(str.maketrans(",.", ".,")) if self.comma else text

    def money(self, value: Decimal, currency: str) -> str:
        amount = self.number(value.quantize(CENT))
        return self.rng.choice((f"{amount} {currency}", f"{currency} {amount}"))

    def day(self, day: date) -> str:
        form = DAYS.get(self.language, ("%d/%m/%Y", "%d-%m-%Y"))
        return day.strftime(form[day.day % len(form)])

    def line(self, *parts: tuple[float, str, str]) -> None:
        for x, text, to in parts:
            self.canvas.text(x, self.y, text, to=to)
        self.y += self.canvas.size * 1.6
        if self.y > 790:
            self.canvas.turn()
            self.y = 60.0


def head(note: Note, title: str) -> None:
    note.line((note.rng.choice((50.0, 300.0)), note.broker, "left"))
    note.line(
        (50, "Max Mustermann", "left"), (400, f"Depot {note.rng.randrange(10**8, 10**9)}", "left")
    )
    note.line((400, f"{note.say('date')}: {note.day(date(2026, 1, 5))}", "left"))
    note.y += 20
    note.canvas.text(50, note.y, title, size=note.canvas.size * note.rng.choice((1, 1.5)))
    note.y += 30


def word_of(note: Note, deal: Deal) -> str:
    return WORDS[note.language]["word"][deal.direction == "sell"]


def title_of(note: Note, deal: Deal) -> str:
    return note.say(deal.direction)


def fees(note: Note, deal: Deal) -> list[tuple[str, str]]:
    return [(note.say("fee"), note.money(fee, deal.currency)) for fee in deal.fees]


def total(note: Note, deal: Deal) -> tuple[str, str]:
    side = "Lasten" if deal.direction == "buy" else "Gunsten"
    return note.say("total").format(side), note.money(deal.settled, deal.currency)


def listed(note: Note, deal: Deal) -> None:
    """Labels on the left, values in a column beside them."""
    x, colon = note.rng.choice((180.0, 260.0)), note.rng.choice((":", ""))
    head(note, title_of(note, deal))
    rows = [
        (note.say("name"), f"{deal.name} {deal.more}"),
        ("ISIN", deal.isin),
        (note.say("day"), note.day(deal.day)),
        (note.say("venue"), note.rng.choice(("XETRA", "NYSE", "Tradegate"))),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("price"), f"{note.number(deal.price)} {deal.currency}"),
        (note.say("notional"), note.money(deal.notional, deal.currency)),
        *fees(note, deal),
        total(note, deal),
        (note.say("value"), note.day(deal.value)),
    ]
    if note.rng.random() < 0.5:
        rows[2:4] = reversed(rows[2:4])
    for label, value in rows:
        note.line((50, f"{label}{colon}", "left"), (x, value, "left"))


def tabled(note: Note, deal: Deal) -> None:
    """The security in a one-row table, the sums below, set right."""
    head(note, title_of(note, deal))
    note.line(
        (50, note.say("quantity"), "left"),
        (130, note.say("name"), "left"),
        (380, note.say("price"), "right"),
        (540, note.say("notional"), "right"),
    )
    note.line(
        (50, note.number(deal.quantity), "left"),
        (130, deal.name, "left"),
        (380, f"{note.number(deal.price)} {deal.currency}", "right"),
        (540, note.money(deal.notional, deal.currency), "right"),
    )
    note.line((130, deal.more, "left"))
    note.line((130, f"ISIN {deal.isin}", "left"))
    note.y += 10
    for label, value in (*fees(note, deal), total(note, deal)):
        note.line((300, label, "left"), (540, value, "right"))
    note.y += 10
    note.line(
        (50, f"{note.say('day')} {note.day(deal.day)}", "left"),
        (300, f"{note.say('value')} {note.day(deal.value)}", "left"),
    )


def sided(note: Note, deal: Deal) -> None:
    """Facts in two columns side by side, the direction as a fact."""
    head(note, {"de": "Abrechnung", "en": "Confirmation"}.get(note.language, note.broker))
    note.line(
        (50, note.say("side"), "left"),
        (150, word_of(note, deal), "left"),
        (320, note.say("day"), "left"),
        (430, note.day(deal.day), "left"),
    )
    note.line(
        (50, "ISIN", "left"),
        (150, deal.isin, "left"),
        (320, note.say("value"), "left"),
        (430, note.day(deal.value), "left"),
    )
    note.line(
        (50, note.say("quantity"), "left"),
        (150, note.number(deal.quantity), "left"),
        (320, note.say("price"), "left"),
        (430, f"{note.number(deal.price)} {deal.currency}", "left"),
    )
    note.line((50, f"{deal.name} {deal.more}", "left"))
    note.y += 12
    for label, value in (
        (note.say("notional"), note.money(deal.notional, deal.currency)),
        *fees(note, deal),
        total(note, deal),
    ):
        note.line((50, label, "left"), (300, value, "right"))


def many(note: Note, deals: Sequence[Deal]) -> None:
    """One row each."""
    head(note, "Sammelabrechnung" if note.language == "de" else "Trade confirmations")
    names = [
        note.say("day"),
        note.say("side"),
        "ISIN",
        note.say("quantity"),
        note.say("price"),
        note.say("notional"),
    ]
    places = (
        (50, "left"),
        (165, "left"),
        (225, "left"),
        (350, "right"),
        (440, "right"),
        (545, "right"),
    )
    note.line(*((x, name, to) for (x, to), name in zip(places, names, strict=True)))
    for deal in deals:
        cells = [
            note.day(deal.day),
            word_of(note, deal),
            deal.isin,
            note.number(deal.quantity),
            note.number(deal.price),
            note.money(deal.notional, deal.currency),
        ]
        note.line(*((x, cell, to) for (x, to), cell in zip(places, cells, strict=True)))


def nothing(note: Note, deal: Deal) -> None:
    head(note, note.say("none"))
    for label, value in (
        ("ISIN", deal.isin),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("value"), note.day(deal.value)),
        (note.say("notional"), note.money(deal.notional, deal.currency)),
    ):
        note.line((50, label, "left"), (220, value, "left"))


LAYOUTS: Final[tuple[Callable[[Note, Deal], None], ...]] = (listed, tabled, sided)


def drawn(seed: int) -> tuple[bytes, dict[str, Any]]:
    """One document and what is true of it."""
    rng = random.Random(seed)
    note, deal = Note(rng), a_deal(rng)
    kind = rng.choices(("single", "multi", "none"), (6, 2, 2))[0]
    deals = [deal]
    if kind == "single":
        rng.choice(LAYOUTS)(note, deal)
    elif kind == "multi":
        deals = [a_deal(rng) for _ in range(rng.randrange(2, 9))]
        many(note, deals)
    else:
        nothing(note, deal)
        deals = []
    note.y += 30
    note.line((50, note.say("foot"), "left"))
    data = note.canvas.pdf()
    digest = hashlib.sha256(data).hexdigest()
    return data, {
        "file": f"{seed}.pdf",
        "sha256": digest,
        "kind": kind,
        "trades": [one.truth() for one in deals],
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "docmill-notes")
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    records, results = made(asked.count, asked.seed, asked.out)
    return scored(records, results, asked.out, errors=asked.errors)


def made(
    count: int, seed: int, out: Path
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """So many notes drawn and read: what is true, and what came out."""
    records: list[dict[str, Any]] = []
    results: dict[str, dict[str, Any]] = {}
    for number in range(seed * 10_000, seed * 10_000 + count):
        data, record = drawn(number)
        (out / record["file"]).write_bytes(data)
        digest, found = read(out / record["file"])
        records.append(record)
        results[digest] = found
    return records, results


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
