"""Draws broker notes nobody has seen, reads them and scores them: languages, layouts, words vary.

The words here are those of no reader: they were written down from what brokers call things.

python -m bench.broker_notes [--count N] [--seed S] [--out DIR] [--errors]
"""

import argparse
import hashlib
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Final

from bench.papers import Paper
from bench.trades import read, scored

CENT: Final = Decimal("0.01")
SECURITIES: Final = (
    ("DE0007164600", "SAP SE", "Inhaber-Aktien o.N."),
    ("US5949181045", "Microsoft Corp.", "Registered Shares"),
    ("IE00B4L5Y983", "iShares Core MSCI World UCITS ETF", "USD (Acc)"),
    ("LU0392494562", "Comstage MSCI World", "UCITS ETF I"),
    ("FR0000120271", "TotalEnergies SE", "Actions au Porteur"),
    ("GB00B10RZP78", "Unilever PLC", "Registered Shares LS -,031111"),
    ("CH0038863350", "Nestle S.A.", "Namens-Aktien SF -,10"),
)
BROKERS: Final = (
    "Hanse Wertpapierbank AG",
    "Alpenkontor Privatbank",
    "Northgate Brokers Ltd",
    "Meridian Securities LLC",
    "Rheinische Depotbank eG",
    "Kestrel Capital Markets plc",
)
WORDS: Final[dict[str, dict[str, Sequence[str]]]] = {
    "de": {
        "buy": (
            "Wertpapierabrechnung - Kauf",
            "Abrechnung über den Kauf von Wertpapieren",
            "Börsenabrechnung Kauf",
        ),
        "sell": (
            "Wertpapierabrechnung - Verkauf",
            "Abrechnung über den Verkauf von Wertpapieren",
            "Börsenabrechnung Verkauf",
        ),
        "quantity": ("Stück", "Anzahl", "Menge", "Nominal/Stück", "Stückzahl"),
        "price": ("Kurs", "Ausführungskurs", "Preis", "Kurs je Stück"),
        "notional": ("Kurswert", "Bruttobetrag", "Gegenwert"),
        "fee": ("Provision", "Orderentgelt", "Handelsplatzgebühr", "Fremde Spesen"),
        "total": ("Ausmachender Betrag", "Endbetrag", "Zu Ihren {}", "Abrechnungsbetrag"),
        "day": ("Schlusstag", "Handelstag", "Ausführungstag", "Handelsdatum"),
        "value": ("Valuta", "Wertstellung"),
        "name": ("Wertpapier", "Bezeichnung", "Titel"),
        "venue": ("Handelsplatz", "Börse", "Ausführungsplatz"),
        "side": ("Geschäftsart", "Transaktion"),
        "none": (
            "Dividendengutschrift",
            "Ertragsausschüttung Investmentfonds",
            "Depotauszug",
            "Auftragsbestätigung",
            "Stornierung einer Abrechnung",
        ),
        "date": ("Datum",),
        "foot": ("Dieser Beleg wird nicht unterschrieben. Bitte prüfen Sie die Abrechnung.",),
    },
    "en": {
        "buy": (
            "Contract Note - Purchase",
            "Trade Confirmation: BUY",
            "We have bought for your account",
        ),
        "sell": (
            "Contract Note - Sale",
            "Trade Confirmation: SELL",
            "We have sold for your account",
        ),
        "quantity": ("Quantity", "No. of shares", "Units", "Shares"),
        "price": ("Price", "Unit price", "Execution price", "Price per share"),
        "notional": ("Consideration", "Gross amount", "Principal", "Trade value"),
        "fee": ("Commission", "Brokerage", "Exchange fee", "PTM levy"),
        "total": ("Net amount", "Total amount", "Amount due", "Settlement amount"),
        "day": ("Trade date", "Date of transaction", "Deal date", "Execution date"),
        "value": ("Settlement date", "Value date"),
        "name": ("Security", "Instrument", "Description"),
        "venue": ("Venue", "Market", "Place of execution"),
        "side": ("Action", "Transaction type"),
        "none": (
            "Dividend advice",
            "Cash distribution notice",
            "Account statement",
            "Order confirmation",
            "Cancellation of a trade",
        ),
        "date": ("Date",),
        "foot": ("Please check this document and report any difference at once.",),
    },
}


@dataclass(frozen=True, slots=True)
class Deal:
    direction: str
    isin: str
    name: str
    more: str
    day: date
    value: date
    quantity: Decimal
    price: Decimal
    fees: tuple[Decimal, ...]
    currency: str

    @property
    def notional(self) -> Decimal:
        return (self.quantity * self.price).quantize(CENT, ROUND_HALF_UP)

    @property
    def settled(self) -> Decimal:
        paid = sum(self.fees, Decimal(0))
        return self.notional + paid if self.direction == "buy" else self.notional - paid

    def truth(self) -> dict[str, Any]:
        return {
            "isin": self.isin,
            "direction": self.direction,
            "trade_date": self.day.isoformat(),
            "quantity": float(self.quantity),
            "currency": self.currency,
            "notional": float(self.notional),
            "settlement_amount": float(self.settled),
        }


class Note:
    """One document: how it speaks, how it writes numbers and dates, and its paper."""

    def __init__(self, rng: random.Random) -> None:
        self.rng: random.Random = rng
        self.language: str = rng.choice(("de", "en"))
        self.paper: Paper = Paper(
            rng.choice(("Helvetica", "Times-Roman", "Courier")), rng.choice((8.0, 9.0, 10.0))
        )
        self.comma: bool = self.language == "de" and rng.random() < 0.85
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
        form = ("%d.%m.%Y",) if self.language == "de" else ("%d %B %Y", "%d-%b-%Y", "%Y-%m-%d")
        return day.strftime(form[day.day % len(form)])

    def line(self, *parts: tuple[float, str, str]) -> None:
        for x, text, to in parts:
            self.paper.text(x, self.y, text, to=to)
        self.y += self.paper.size * 1.6
        if self.y > 790:
            self.paper.turn()
            self.y = 60.0


def a_deal(rng: random.Random) -> Deal:
    isin, name, more = rng.choice(SECURITIES)
    day = date(2019, 1, 2) + timedelta(days=rng.randrange(2200))
    whole = rng.random() < 0.7
    quantity = (
        Decimal(rng.randrange(2, 3000)) if whole else Decimal(rng.randrange(1000, 900000)) / 10000
    )
    price = (
        Decimal(rng.randrange(300, 60000)) / 100
        if rng.random() < 0.6
        else Decimal(rng.randrange(30000, 6000000)) / 10000
    )
    fees = tuple(Decimal(rng.randrange(90, 3000)) / 100 for _ in range(rng.randrange(0, 4)))
    currency = rng.choice(("EUR", "EUR", "USD", "CHF", "GBP"))
    value = day + timedelta(days=2)
    return Deal(
        rng.choice(("buy", "sell")), isin, name, more, day, value, quantity, price, fees, currency
    )


def head(note: Note, title: str) -> None:
    note.line((note.rng.choice((50.0, 300.0)), note.broker, "left"))
    note.line(
        (50, "Max Mustermann", "left"), (400, f"Depot {note.rng.randrange(10**8, 10**9)}", "left")
    )
    note.line((400, f"{note.say('date')}: {note.day(date(2026, 1, 5))}", "left"))
    note.y += 20
    note.paper.text(50, note.y, title, size=note.paper.size * note.rng.choice((1, 1.5)))
    note.y += 30


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
    head(note, "Abrechnung" if note.language == "de" else "Confirmation")
    word = {"de": {"buy": "Kauf", "sell": "Verkauf"}, "en": {"buy": "Buy", "sell": "Sell"}}
    note.line(
        (50, note.say("side"), "left"),
        (150, word[note.language][deal.direction], "left"),
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
    word = {"de": {"buy": "Kauf", "sell": "Verkauf"}, "en": {"buy": "Buy", "sell": "Sell"}}
    for deal in deals:
        cells = [
            note.day(deal.day),
            word[note.language][deal.direction],
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
    data = note.paper.pdf()
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
