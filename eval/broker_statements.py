"""Draws notes and statements in eight languages by families of layouts, reads and scores them.

Families under `HELD` are never tuned on: a score counts only there.

python -m eval.broker_statements [--count N] [--seed S] [--half tuned|held] [--errors]
python -m eval.broker_statements --rows 2000      (how long one long statement takes)
"""

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from eval.broker_crowded import CROWDED_HELD, CROWDED_TUNED
from eval.broker_deals import CENT, WORDS, Deal, a_deal
from eval.broker_notes import Note, head, listed, nothing, sided, tabled, title_of, word_of
from eval.broker_singles import SINGLES_HELD, SINGLES_TUNED
from eval.score_trades import mean_right, print_reliability, read

LANGUAGES: Final = tuple(sorted(WORDS))
CODES: Final = {"de": "KV", "en": "BS", "fr": "AV", "it": "AV", "es": "CV", "nl": "KV"}
Drawing = Callable[[Note, Sequence[Deal]], Sequence[Deal]]


def draw_titled(note: Note, text: str) -> None:
    note.canvas.text(50, note.y, text, size=note.canvas.size * 1.3)
    note.y += 24


def draw_table(note: Note, names: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Columns across the page: words set left, the last three right."""
    left = len(names) - 3
    places = [50 + at * 270 / max(left, 1) for at in range(left)] + [375.0, 455.0, 545.0]
    for line in (names, *lines):
        sides = ["left"] * left + ["right"] * 3
        note.line(*zip(places, line, sides, strict=True))


def draw_worded(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A word in each row."""
    draw_titled(note, note.broker)
    names = [note.say("day"), note.say("side"), "ISIN"]
    names += [note.say("quantity"), note.say("price"), note.say("notional")]
    draw_table(
        note, names, [[_day(note, d), word_of(note, d), d.isin, *_sums(note, d)] for d in deals]
    )
    return deals


def draw_signed(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """No word: what was sold has a minus, and so has what was paid."""
    draw_titled(note, note.broker)
    names = [note.say("day"), note.say("name"), "ISIN"]
    names += [note.say("quantity"), note.say("price"), note.say("notional")]
    lines = [[_day(note, d), d.name[:12], d.isin, *_sums(note, d, signed=True)] for d in deals]
    draw_table(note, names, lines)
    return deals


def draw_coded(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A letter in each row tells the direction; both occur."""
    sides = ("buy", "sell")
    mixed = [replace(deal, direction=sides[at % 2]) for at, deal in enumerate(deals)]
    codes = CODES.get(note.language, "BS")
    draw_titled(note, note.broker)
    names = [note.say("day"), "", "ISIN", note.say("quantity"), note.say("price")]
    lines = [[_day(note, d), codes[d.direction == "sell"], d.isin, *_sums(note, d)] for d in mixed]
    draw_table(note, [*names, note.say("notional")], lines)
    return mixed


def draw_sectioned(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A heading for each security, and what was done in it below; what is held at both ends."""
    done: list[Deal] = []
    draw_titled(note, note.broker)
    for at in range(0, len(deals), 3):
        part = [replace(d, isin=deals[at].isin, name=deals[at].name) for d in deals[at : at + 3]]
        note.line((50, part[0].name, "left"))
        note.line((50, f"ISIN: {part[0].isin}", "left"))
        names = [note.say("side"), note.say("day"), note.say("quantity"), note.say("price")]
        draw_table(
            note,
            [*names, note.say("notional")],
            [[word_of(note, d), _day(note, d), *_sums(note, d)] for d in part],
        )
        note.y += 10
        done += part
    return done


def draw_converted(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """Amounts in the currency of the trade and of the account, with the rate between them."""
    draw_titled(note, note.broker)
    told: list[Deal] = []
    for deal in deals:
        rate = Decimal(note.rng.randrange(10100, 13900)) / 10000
        foreign = replace(deal, currency="USD", fees=())
        word = word_of(note, deal)
        euros = (foreign.notional / rate).quantize(CENT)
        note.line(
            (50, f"{_day(note, deal)} {word} {deal.isin}", "left"),
            (300, note.number(deal.quantity), "right"),
            (370, f"{note.number(deal.price)} USD", "right"),
            (450, f"{note.number(foreign.notional)} USD", "right"),
            (490, note.number(rate), "right"),
            (560, f"{note.number(euros)} EUR", "right"),
        )
        told.append(replace(foreign, currency="EUR", paid=euros))
    return told


def draw_with_lots(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A note of one trade, and on the next page the lots that its tax comes from."""
    listed(note, deals[0])
    note.canvas.turn()
    note.y = 60.0
    draw_titled(note, note.say("lots"))
    for deal in deals[1:4]:
        amount = note.money(deal.notional, deal.currency)
        note.line((50, f"{_day(note, deal)} {note.number(deal.quantity)} {amount}", "left"))
    return deals[:1]


def draw_single(drawing: Callable[[Note, Deal], None]) -> Drawing:
    def draw(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
        drawing(note, deals[0])
        return deals[:1]

    return draw


def draw_nothing(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    nothing(note, deals[0])
    return ()


def draw_costs(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """What a deal would cost, told before it is done."""
    head(note, note.say("costs"))
    deal = deals[0]
    for label, value in (
        (title_of(note, deal), deal.isin),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("price"), note.money(deal.price, deal.currency)),
        (note.say("notional"), note.money(deal.notional, deal.currency)),
    ):
        note.line((50, label, "left"), (260, value, "left"))
    return ()


def _day(note: Note, deal: Deal) -> str:
    return deal.day.strftime("%d.%m.%Y") if note.language in {"de", "pl"} else note.day(deal.day)


def _sums(note: Note, deal: Deal, *, signed: bool = False) -> list[str]:
    """Quantity, price and notional as a table has them."""
    out = "-" if signed and deal.direction == "sell" else ""
    paid = "-" if signed and deal.direction == "buy" else ""
    amount = f"{paid}{note.number(deal.notional)} {deal.currency}"
    return [f"{out}{note.number(deal.quantity)}", note.number(deal.price), amount]


TUNED: Final[dict[str, tuple[str, Drawing]]] = {
    "listed": ("single", draw_single(listed)),
    "worded": ("multi", draw_worded),
    "signed": ("multi", draw_signed),
    "nothing": ("none", draw_nothing),
    **SINGLES_TUNED,
    **CROWDED_TUNED,
}
HELD: Final[dict[str, tuple[str, Drawing]]] = {
    "tabled": ("single", draw_single(tabled)),
    "sided": ("single", draw_single(sided)),
    "with lots": ("single", draw_with_lots),
    "coded": ("multi", draw_coded),
    "sectioned": ("multi", draw_sectioned),
    "converted": ("multi", draw_converted),
    "costs": ("none", draw_costs),
    **SINGLES_HELD,
    **CROWDED_HELD,
}


def draw(seed: int, families: dict[str, tuple[str, Drawing]]) -> tuple[bytes, dict[str, Any]]:
    """One document of the next family, and what is true of it."""
    rng = random.Random(seed)
    name = list(families)[seed % len(families)]
    kind, drawing = families[name]
    note = Note(rng, LANGUAGES)
    deals = drawing(note, [a_deal(rng) for _ in range(rng.randrange(4, 13))])
    note.y += 20
    note.line((50, note.say("foot"), "left"))
    data = note.canvas.pdf()
    return data, {
        "file": f"{seed}.pdf",
        "sha256": hashlib.sha256(data).hexdigest(),
        "kind": kind,
        "family": name,
        "language": note.language,
        "trades": [deal.truth() for deal in deals],
    }


def draw_and_read(
    count: int, seed: int, out: Path, families: dict[str, tuple[str, Drawing]]
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """So many documents drawn and read: what is true, and what came out."""
    records: list[dict[str, Any]] = []
    results: dict[str, dict[str, Any]] = {}
    for number in range(seed * 10_000, seed * 10_000 + count):
        data, record = draw(number, families)
        (out / record["file"]).write_bytes(data)
        digest, found = read(out / record["file"])
        records.append(record)
        results[digest] = found
    return records, results


def make(folder: Path, count: int, seed: int) -> None:
    """A folder of documents of all families with their truth."""
    folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for number in range(seed * 10_000, seed * 10_000 + count):
        data, record = draw(number, {**TUNED, **HELD})
        (folder / record["file"]).write_bytes(data)
        records.append({**record, "group": record["family"]})
    (folder / "truth.json").write_text(json.dumps(records))


def draw_long(rows: int, seed: int = 1) -> bytes:
    """One statement of so many rows."""
    rng = random.Random(seed)
    note = Note(rng, ("en",))
    deals = [a_deal(rng) for _ in range(rows)]
    draw_signed(note, [replace(d, day=date(2024, d.day.month, d.day.day)) for d in deals])
    return note.canvas.pdf()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--half", choices=("tuned", "held"), default="held")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if asked.rows:
            return _time_long(asked.rows, Path(folder))
        families = TUNED if asked.half == "tuned" else HELD
        records, results = draw_and_read(asked.count, asked.seed, Path(folder), families)
    for key in ("family", "language"):
        for name in sorted({record[key] for record in records}):
            some = [record for record in records if record[key] == name]
            print(f"{key:9} {name:10} {len(some):4} {mean_right(some, results):.3f}")
    print(f"all {mean_right(records, results):.4f}")
    for record in records if asked.errors else ():
        if mean_right([record], results) < 1:
            print(record["file"], record["family"], record["language"], record["trades"][:1])
            print("   ", results[record["sha256"]].get("trades", [])[:1])
    print_reliability(records, results)
    return 0


def _time_long(rows: int, folder: Path) -> int:
    path = folder / "long.pdf"
    path.write_bytes(draw_long(rows))
    start = time.monotonic()
    _, found = read(path)
    print(f"{len(found['trades'])} trades of {rows} rows in {time.monotonic() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
