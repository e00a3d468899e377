"""Draws the broker papers of `data/broker_papers.txt`, each set by hand, reads and scores them.

A paper opens with `= name | language kind asset numbers days currency [buy|sell|pair|same]`. Two
spaces set cells apart, `>` sets one right, `[a|b]` has the words for buying and selling, `{..}` a
value, `^` marks the head of a table, `*` a line that each trade of a statement has, `:` one above
all trades that it says the same of, `|` one whose last cell each trade has side by side, `~` a new
page. The same paper is drawn in columns, or as plain lines with single spaces, as many files have
them.

python -m eval.broker_papers [--sheets | --slips | --tickets] [--count N] [--seed S]
    [--half tuned|held|all] [--errors]
"""

import argparse
import hashlib
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from eval.broker_deals import CENT
from eval.canvas import Canvas, width
from eval.score_trades import mean_right, print_reliability, read

PAPERS: Final = Path(__file__).parent / "data" / "broker_papers.txt"
SHEETS: Final = Path(__file__).parent / "data" / "broker_sheets.txt"  # other structures
SLIPS: Final = Path(__file__).parent / "data" / "broker_slips.txt"  # mostly of one trade
TICKETS: Final = Path(__file__).parent / "data" / "broker_tickets.txt"  # more countries and kinds
COLUMN: Final = 5.0  # points: how wide a letter of the text file is drawn
LEFT: Final = 36.0
GAP: Final = 9.0
LEADING: Final = 13.0
FOOT: Final = 780.0
TOP: Final = 50.0
WIDE: Final = 560.0
MOST: Final = 14  # trades of most statements
LONG: Final = 60  # trades of a statement that goes over several pages
ABREAST: Final = 4  # trades that stand side by side, at most
APART: Final = 110.0  # points between them
TEN_THOUSANDTH: Final = Decimal("0.0001")
LOT_PRICES: Final = (Decimal("11.20"), Decimal("14.75"))
DAYS: Final = {
    "dmy": "%d/%m/%Y", "dmyp": "%d.%m.%Y", "dmyh": "%d-%m-%Y", "mdy": "%m/%d/%Y",
    "iso": "%Y-%m-%d", "dmony": "%d %b %Y", "dmy2": "%d/%m/%y", "dmonyh": "%d-%b-%Y",
}  # fmt: skip
MONTHS: Final = {
    "fr": ("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
    "es": ("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
           "diciembre"),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "it": ("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
           "dicembre"),
}  # fmt: skip
MARKS: Final = {
    "dot": ",.", "comma": ".,", "fr": "\xa0,", "space": " ,", "swiss": "'.", "lakh": ",.",
}  # fmt: skip
CARRIED: Final = {
    "de": "Übertrag", "en": "Carried forward", "fr": "A reporter", "it": "A riportare",
    "es": "Suma y sigue", "nl": "Transport", "pt": "A transportar", "pl": "Do przeniesienia",
}  # fmt: skip
NAMES: Final = {
    "share": ("Orvane Marine Systems", "Quillfeather Foods", "Tamsin Robotics", "Veldra Chemie",
              "Bravonne Energie", "Castelmar Industrie", "Pellworm Logistik", "Zdrojowa Huta"),
    "etf": ("Lumen World Equity UCITS ETF Acc", "Arbor Emerging Markets UCITS ETF",
            "Novaterra Small Cap UCITS ETF Dist", "Corvid Global Bond UCITS ETF"),
    "fund": ("Sylvan Balanced Growth Fund A", "Meridiem Dividend Select Fonds R",
             "Aurelia Pacific Equity Fund I", "Bastion Multi Asset Fund P"),
    "bond": ("2,750% Kommunalbank Taldorf 2031", "4,125% Grenval SA 2029",
             "1,500% Republic of Ostmark 2034"),
    "crypto": ("Bitcoin", "Ether", "Solana"),
    "option": ("Orvane Marine", "Tamsin Robotics"),
}  # fmt: skip
SIGNS: Final = {"EUR": "€", "USD": "$", "GBP": "£"}
SYMBOLS: Final = {"Bitcoin": "BTC", "Ether": "ETH", "Solana": "SOL"}
HOLDERS: Final = ("Jo Winter", "Ana Prado", "Luc Morel", "Ewa Lis", "Piet Maas", "Ida Conti")
BANKS: Final = ("Nordhaven Bank AG", "Banca Lariana", "Kantoor Zuid Bank", "Casa Bem Corretora")
_VALUE: Final = re.compile(r"\{([^{}]+)\}")
_SIDES: Final = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_LAKH: Final = re.compile(r"(?<=\d)(?=(?:\d\d)*\d{3}(?:\.|$))")  # 1,23,456.78
_CELL: Final = re.compile(r"\S+(?: \S+)*")


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper as the file has it."""

    name: str
    language: str
    kind: str
    asset: str
    numbers: str
    days: str
    currency: str
    way: str
    lines: tuple[str, ...]

    @property
    def held(self) -> bool:
        return is_held(self.name)


@dataclass(frozen=True, slots=True)
class PaperDeal:
    """A trade as a paper prints it."""

    direction: str
    isin: str
    name: str
    day: date
    quantity: Decimal
    price: Decimal
    fees: tuple[Decimal, Decimal]
    accrued: Decimal
    foreign: Decimal
    notional: Decimal
    rate: Decimal
    time: str

    @property
    def settled(self) -> Decimal:
        sign = 1 if self.direction == "buy" else -1
        return self.notional + self.accrued + sign * sum(self.fees, Decimal(0))


def is_held(name: str) -> bool:
    """Whether a paper is one of those that nobody tunes on."""
    return bool(hashlib.sha256(name.encode()).digest()[0] % 2)


def load_papers(which: str, file: Path = PAPERS) -> list[Paper]:
    kept = {"tuned": {False}, "held": {True}, "all": {False, True}}[which]
    papers: list[Paper] = []
    for part in file.read_text("utf-8").split("\n= ")[1:]:
        head, *lines = part.rstrip().split("\n")
        name, _, about = head.partition(" | ")
        language, kind, asset, numbers, days, currency, way = [*about.split(), ""][:7]
        papers.append(
            Paper(name, language, kind, asset, numbers, days, currency, way, tuple(lines))
        )
    return [paper for paper in papers if paper.held in kept]


def make_isin(rng: random.Random) -> str:
    """A number nobody has, with a check figure that is right."""
    code = rng.choice(("DE", "FR", "IE", "LU", "US", "GB", "NL", "IT", "ES", "PL", "PT"))
    code += "".join(rng.choice("0123456789") for _ in range(9))
    digits = "".join(str(int(char, 36)) for char in code)
    doubled = [int(d) * (2 - at % 2) for at, d in enumerate(reversed(digits))]
    return code + str(-sum(value // 10 + value % 10 for value in doubled) % 10)


def make_deal(rng: random.Random, paper: Paper, year: int) -> PaperDeal:
    """A deal of the kind that a paper tells of; all sums are those it prints."""
    lines = "\n".join(paper.lines)
    quantity, price, notional = _make_numbers(rng, paper.asset)
    rate = Decimal(rng.randrange(10300, 12900)) / 10000 if "{rate}" in lines else Decimal(1)
    fees = [Decimal(rng.randrange(95, 2900)) / 100 if f"{{f{n}}}" in lines else Decimal(0)
            for n in (1, 2)]  # fmt: skip
    return PaperDeal(
        direction=paper.way if paper.way in {"buy", "sell"} else rng.choice(("buy", "sell")),
        isin=make_isin(rng),
        name=rng.choice(NAMES[paper.asset]),
        day=date(year, 1, 4) + timedelta(days=rng.randrange(340)),
        quantity=quantity,
        price=price,
        fees=(fees[0], fees[1]),
        accrued=Decimal(rng.randrange(100, 9000)) / 100 if "{acc}" in lines else Decimal(0),
        foreign=notional,
        notional=(notional / rate).quantize(CENT),
        rate=rate,
        time=f"{rng.randrange(9, 18):02}:{rng.randrange(60):02}:{rng.randrange(60):02}",
    )


def _make_numbers(rng: random.Random, asset: str) -> tuple[Decimal, Decimal, Decimal]:
    """Quantity, price and what they come to."""
    if asset == "bond":
        nominal, price = Decimal(rng.randrange(2, 80) * 1000), Decimal(rng.randrange(8500, 11200))
        return nominal, price / 100, (nominal * price / 10000).quantize(CENT)
    if asset == "option":
        count, price = Decimal(rng.randrange(2, 20)), Decimal(rng.randrange(35, 990)) / 100
        return count, price, count * price * 100
    price = Decimal(rng.randrange(450, 38000)) / 100
    whole = asset == "share" or (asset == "etf" and rng.random() < 0.4)
    places = {"share": 0, "etf": 4, "fund": 3, "crypto": 6}[asset]
    count = Decimal(rng.randrange(2, 900) if whole else rng.randrange(900, 990000))
    if not whole:
        count = count.scaleb(-places)
    if asset == "crypto":
        price *= 90
    return count, price, (count * price).quantize(CENT)


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """A piece of a line, where it starts or ends."""

    text: str
    x: float
    right: bool


Line = Sequence[PlacedCell]
NEW_PAGE: Final[Line] = ()


def split_line(line: str) -> list[PlacedCell]:
    """The cells of a line of the text file, where that file has them."""
    return [
        PlacedCell(
            match[0].removeprefix(">"),
            LEFT + COLUMN * (match.end() if match[0].startswith(">") else match.start()),
            match[0].startswith(">"),
        )
        for match in _CELL.finditer(line)
    ]


def set_under(cells: Line, head: Line) -> Line:
    """The cells of a record under those of the head, where each has one."""
    if len(cells) != len(head):
        return cells
    return [
        replace(cell, x=over.x + COLUMN * len(over.text) if cell.right else over.x)
        for cell, over in zip(cells, head, strict=True)
    ]


def draw_lines(canvas: Canvas, lines: Sequence[Line], *, plain: bool) -> None:
    """Lines under each other, in columns or plain; what is too wide for the page is set smaller."""
    placed = [_place_plain(line) if plain else _place(canvas, line) for line in lines]
    ends = [x + width(text, canvas.font, canvas.size) for line in placed for x, text in line]
    scale = min(1.0, (WIDE - LEFT) / max(ends))
    y = TOP
    for line in placed:
        if not line or y > FOOT:
            canvas.turn()
            y = TOP
        for x, text in line:
            canvas.text(x * scale, y, text, size=canvas.size * scale)
        y += LEADING if line else 0


def _place_plain(line: Line) -> list[tuple[float, str]]:
    return [(LEFT, " ".join(cell.text for cell in line if cell.text))] if line else []


def _place(canvas: Canvas, line: Line) -> list[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    end = LEFT - GAP
    for cell in line:
        wide = width(cell.text, canvas.font, canvas.size)
        x = max(cell.x - (wide if cell.right else 0), end + GAP)
        if cell.text:
            found.append((x, cell.text))
            end = x + wide
    return found


@dataclass(frozen=True, slots=True)
class Printer:
    """How a paper writes its values."""

    paper: Paper
    rng: random.Random
    year: int

    def number(self, value: Decimal, places: int = 2) -> str:
        text = f"{value:,f}" if -int(value.as_tuple().exponent) > places else f"{value:,.{places}f}"
        if self.paper.numbers == "lakh":
            text = _LAKH.sub(",", text.replace(",", ""))
        group, point = MARKS[self.paper.numbers]
        return text.translate(str.maketrans({",": group, ".": point}))

    def day(self, day: date) -> str:
        if self.paper.days == "long":
            month = MONTHS[self.paper.language].split()[day.month - 1]
            link = " de " if self.paper.language == "es" else " "
            point = "." if self.paper.language == "de" else ""
            return link.join((f"{day.day}{point}", month, str(day.year)))
        return day.strftime(DAYS[self.paper.days])

    def fill(self, line: Line, deal: PaperDeal, more: Mapping[str, str]) -> Line:
        known = {**self._amounts(deal), **self._facts(deal), **more}
        return [replace(cell, text=self._fill_text(cell.text, deal, known)) for cell in line]

    def _fill_text(self, text: str, deal: PaperDeal, known: Mapping[str, str]) -> str:
        text = _SIDES.sub(lambda match: match[1 + (deal.direction == "sell")], text)
        return _VALUE.sub(lambda match: known[match[1]], text)

    def _amounts(self, deal: PaperDeal) -> dict[str, str]:
        sold = deal.direction == "sell"
        count, amount = self.number(deal.quantity, 0), self.number(deal.notional)
        half = deal.quantity // 3
        part = (half * deal.price).quantize(CENT)
        return {
            "q": count, "q-": f"-{count}" if sold else count,
            "q+": f"{'-' if sold else '+'}{count}",
            "q.a": self.number(half, 0), "q.b": self.number(deal.quantity - half, 0),
            "p": self.number(deal.price), "pf": self.number(deal.price),
            "n": amount, "n-": amount if sold else f"-{amount}",
            "n()": amount if sold else f"({amount})",
            "n.d": "" if sold else amount, "n.c": amount if sold else "",
            "pp": self.number(deal.price * 100), "n.a": self.number(part),
            "n.b": self.number(deal.notional - part),
            "accp": self.number((deal.accrued * 100 / deal.quantity).quantize(TEN_THOUSANDTH)),
            "nf": self.number(deal.foreign), "rate": self.number(deal.rate, 4),
            "f1": self.number(deal.fees[0]), "f2": self.number(deal.fees[1]),
            "t": self.number(deal.settled), "acc": self.number(deal.accrued),
            "v.a": self.number(half * LOT_PRICES[0]),
            "v.b": self.number((deal.quantity - half) * LOT_PRICES[1]),
        }  # fmt: skip

    def _facts(self, deal: PaperDeal) -> dict[str, str]:
        words = deal.name.split()
        half = (len(words) + 1) // 2
        return {
            "isin": deal.isin, "wkn": deal.isin[5:11], "cusip": "41165R109", "name": deal.name,
            "name12": " ".join(words[:2]), "name.1": " ".join(words[:half]),
            "name.2": " ".join(words[half:]), "sym": SYMBOLS.get(deal.name, deal.name[:4].upper()),
            "day": self.day(deal.day), "value": self.day(deal.day + timedelta(days=2)),
            "order": self.day(deal.day - timedelta(days=3)), "time": deal.time,
            "print": self.day(deal.day + timedelta(days=5)), "year": str(self.year),
            "lot": self.day(deal.day - timedelta(days=700)),
            "lot2": self.day(deal.day - timedelta(days=391)),
            "ref": str(self.rng.randrange(10**6, 10**7)), "acct": f"{self.rng.randrange(10**7)}-01",
            "holder": self.rng.choice(HOLDERS), "bank": self.rng.choice(BANKS),
        }  # fmt: skip


def draw(seed: int, papers: Sequence[Paper]) -> tuple[bytes, dict[str, Any]]:
    """One document of the next paper, and what is true of it."""
    rng = random.Random(seed)
    paper = papers[seed % len(papers)]
    printer = Printer(paper, rng, rng.randrange(2018, 2026))
    deals = _make_deals(rng, paper, printer.year)
    font = rng.choice(("Helvetica", "Times-Roman"))
    canvas = Canvas(font, rng.choice((7.5, 8.0, 9.0)))
    plain = rng.random() < 0.5
    draw_lines(canvas, list(_fill_lines(printer, deals)), plain=plain)
    data = canvas.pdf()
    trades = [] if paper.kind == "none" else [_make_truth(paper, deal) for deal in deals]
    return data, {
        "file": f"{seed}.pdf", "sha256": hashlib.sha256(data).hexdigest(), "kind": paper.kind,
        "family": paper.name, "language": paper.language, "plain": plain, "trades": trades,
    }  # fmt: skip


def _make_deals(rng: random.Random, paper: Paper, year: int) -> list[PaperDeal]:
    count = rng.randrange(2, MOST) if rng.random() < 0.8 else rng.randrange(MOST, LONG)
    count = 1 if paper.kind != "multi" else 2 if paper.way == "pair" else count
    if any(line.startswith("|") for line in paper.lines):
        count = min(count, 2 + count % (ABREAST - 1))
    deals = sorted((make_deal(rng, paper, year) for _ in range(count)), key=lambda one: one.day)
    if paper.way == "same":
        few = deals[: 1 + count // 4]
        deals = [replace(d, isin=o.isin, name=o.name) for d in deals for o in [rng.choice(few)]]
    one_day = "{day1}" in "\n".join(paper.lines) or paper.way == "pair"
    if count > 1:  # a statement of one direction alone tells nothing by its codes
        sides = ("sell", "buy") if rng.random() < 0.5 else ("buy", "sell")
        deals[:2] = [replace(d, direction=s) for d, s in zip(deals[:2], sides, strict=True)]
    return [replace(one, day=deals[0].day) for one in deals] if one_day else deals


def _fill_lines(printer: Printer, deals: Sequence[PaperDeal]) -> Iterator[Line]:
    """The lines with their values; those of a table again for each of the deals."""
    paper, first = printer.paper, deals[0]
    days = {
        "day1": printer.day(first.day),
        "value1": printer.day(first.day + timedelta(days=2)),
    }
    record = [line.removeprefix("*") for line in paper.lines if line.startswith("*")]
    head = [split_line(line.removeprefix("^")) for line in paper.lines if line.startswith("^")]
    over = [split_line(line[1:]) for line in paper.lines if line.startswith(":")]
    for line in paper.lines:
        if line == "~":
            yield NEW_PAGE
        elif line.startswith("|"):
            yield _fill_abreast(printer, deals, line[1:])
        elif not line.startswith(("*", ":")):
            yield printer.fill(split_line(line.removeprefix("^")), first, days)
        elif record and line.startswith("*"):
            for group in _group_deals(printer, deals, over):
                yield from (printer.fill(each, group[0], days) for each in over)
                yield from _fill_records(printer, group, record, head)
            record = []


def _group_deals(
    printer: Printer, deals: Sequence[PaperDeal], over: Sequence[Line]
) -> list[list[PaperDeal]]:
    """The deals that the lines above them say the same of, in the order of the first of each."""
    groups: dict[str, list[PaperDeal]] = {}
    for deal in deals:
        told = " ".join(cell.text for line in over for cell in printer.fill(line, deal, {}))
        groups.setdefault(told, []).append(deal)
    return list(groups.values())


def _fill_abreast(printer: Printer, deals: Sequence[PaperDeal], line: str) -> Line:
    """A label, and the same value of each deal side by side."""
    label, cell = split_line(line)
    return [
        label,
        *(
            replace(printer.fill([cell], deal, {})[0], x=cell.x + at * APART)
            for at, deal in enumerate(deals)
        ),
    ]


def _fill_records(
    printer: Printer, deals: Sequence[PaperDeal], record: Sequence[str], head: Sequence[Line]
) -> Iterator[Line]:
    held = Decimal(0)
    paid = Decimal(0)
    lines = [set_under(split_line(line), head[0] if head else ()) for line in record]
    for at, deal in enumerate(deals):
        if (
            at and at % 20 == 0
        ):  # a page is full: its sum, the next page, the sum and the head again
            word = CARRIED[printer.paper.language]
            carried = split_line(f"{word}        {printer.number(paid)}")
            yield from (carried, NEW_PAGE, carried, *head)
        held += deal.quantity if deal.direction == "buy" else -deal.quantity
        paid += deal.notional
        more = {"sum": printer.number(held, 0), "no": str(at + 1)}
        yield from (printer.fill(line, deal, more) for line in lines)


def _make_truth(paper: Paper, deal: PaperDeal) -> dict[str, Any]:
    lines = "\n".join(paper.lines)
    printed = paper.currency in lines or SIGNS.get(paper.currency, " ") in lines.replace(" ", "")
    return {
        "isin": deal.isin if "{isin}" in lines else None,
        "direction": deal.direction,
        "trade_date": deal.day.isoformat(),
        "quantity": float(deal.quantity),
        "currency": paper.currency if printed else None,
        "notional": float(deal.notional),
        "settlement_amount": float(deal.settled) if "{t}" in lines else None,
        "name": deal.name if "{name" in lines else None,
    }


def make(folder: Path, count: int, seed: int, which: str = "all", *, file: Path = PAPERS) -> None:
    """A folder of documents with their truth."""
    folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    papers = load_papers(which, file)
    for number in range(seed * 10_000, seed * 10_000 + count):
        data, record = draw(number, papers)
        (folder / record["file"]).write_bytes(data)
        records.append({**record, "group": record["family"]})
    (folder / "truth.json").write_text(json.dumps(records))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=236)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--half", choices=("tuned", "held", "all"), default="held")
    files = parser.add_mutually_exclusive_group()
    for name, file in (("--sheets", SHEETS), ("--slips", SLIPS), ("--tickets", TICKETS)):
        files.add_argument(name, dest="file", action="store_const", const=file, default=PAPERS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    folder = asked.out or Path(tempfile.mkdtemp())
    make(folder, asked.count, asked.seed, asked.half, file=asked.file)
    records: list[dict[str, Any]] = json.loads((folder / "truth.json").read_text())
    results = dict(read(folder / record["file"]) for record in records)
    for key in ("family", "language", "kind", "plain") if asked.errors else ("kind", "plain"):
        for name in sorted({record[key] for record in records}):
            some = [record for record in records if record[key] == name]
            print(f"{key:9} {name!s:24} {len(some):4} {mean_right(some, results):.3f}")
    print(f"all {mean_right(records, results):.4f}")
    print_reliability(records, results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
