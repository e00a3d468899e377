"""Invoices of varied structure: tax schemes, places of the foot, forms of the table.

python -m eval.structures FOLDER [--count 200] [--seed 1]

The words are few and known; what varies is where things stand and how sums come about. A family
is a scheme, a form of table and a place of the foot: `is_held` says which are held out.
"""

import argparse
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from eval.canvas import Canvas
from eval.foots import SCHEMES, Foot, Locale, Sale

WORDS = Path(__file__).with_name("structures.toml")
FORMS = (
    *("plain", "offset", "wrapped", "centred_heads", "carried", "copy", "sections", "reordered"),
    *("codes", "discounts", "gross_columns", "decimals", "tight", "unit_beside", "unit_glued"),
    *("no_heads", "amounts_only", "numbered_text"),
)
PLACES = ("right", "left", "in_table", "offset")
WIDTHS = {
    "position": 30,
    "description": 190,
    "quantity": 55,
    "unit": 45,
    "unit_price": 80,
    "tax_rate": 45,
    "amount": 85,
    "code": 60,
    "discount": 45,
    "gross": 85,
    "tax_amount": 70,
}
LEFT, BOTTOM = 40.0, 800.0


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the table."""

    text: str
    quantity: Decimal
    price: Decimal
    amount: Decimal


@dataclass(slots=True)
class Sheet:
    """An invoice while it is drawn."""

    random: Random
    locale: Locale
    texts: dict[str, Any]
    form: str
    place: str
    canvas: Canvas = field(default_factory=Canvas)
    columns: list[tuple[str, str, float, float]] = field(default_factory=list[Any])
    money: str = ""
    step: float = 15.0
    y: float = 0.0

    def amount(self, value: Decimal) -> str:
        text = self.locale.print(value)
        before, after = (self.money, "") if self.money[:1] != " " else ("", self.money)
        return f"{before}{text}{after}"

    def word(self, concept: str) -> str:
        return self.random.choice(self.locale.words[concept])


def load_locales() -> dict[str, tuple[Locale, dict[str, Any]]]:
    found: dict[str, tuple[Locale, dict[str, Any]]] = {}
    for name, table in tomllib.loads(WORDS.read_text("utf-8")).items():
        words = {concept: tuple(each) for concept, each in table["words"].items()}
        rest = {key: table[key] for key in ("mark", "group", "places", "scale")}
        made = Locale(
            name=name, words=words, rates=tuple(table["rates"]), money=tuple(table["money"]), **rest
        )
        found[name] = made, table
    return found


def _items(sheet: Sheet) -> list[Item]:
    found: list[Item] = []
    for text in sheet.random.sample(sheet.texts["things"], sheet.random.randint(2, 5)):
        quantity = Decimal(sheet.random.choice((1, 2, 3, 5, 10, 12, 24)))
        cents = sheet.random.randint(500, 99_900) if sheet.locale.places else 100
        price = Decimal(cents) / 100 * sheet.locale.scale
        price = price if sheet.locale.places else price * sheet.random.randint(2, 900)
        amount = quantity * price
        if sheet.form == "discounts" and sheet.random.random() < 0.5:
            amount = sheet.locale.round(amount * 9 / 10)
        found.append(Item(text, quantity, price, amount))
    return found


def _head(sheet: Sheet, number: str, parties: tuple[str, str]) -> None:
    canvas = sheet.canvas
    canvas.text(LEFT, 50, parties[0], size=13)
    canvas.text(LEFT, 64, "Jalan Melati 12, 10110")
    canvas.text(400, 50, sheet.word("title"), size=15)
    canvas.text(400, 80, f"{sheet.word('number')} {number}")
    canvas.text(400, 94, f"{sheet.word('date')} 14.03.2025")
    canvas.text(LEFT, 110, sheet.word("to"))
    canvas.text(LEFT, 124, parties[1])
    sheet.y = 180


def _set_columns(sheet: Sheet) -> None:
    """The columns from left to right: kind, heading, left and right edge."""
    kinds = ["description", "quantity", "unit_price", "amount"]
    if sheet.random.random() < 0.5:
        kinds.insert(0, "position")
    if sheet.random.random() < 0.3:
        kinds.insert(kinds.index("quantity") + 1, "unit")
    if sheet.random.random() < 0.3:
        kinds.insert(kinds.index("amount"), "tax_rate")
    if sheet.form == "reordered":
        kinds.remove("quantity")
        kinds.insert(sheet.random.choice((0, kinds.index("unit_price") + 1)), "quantity")
    _add_kinds(sheet.form, kinds)
    x, narrow = LEFT, 0.72 if sheet.form == "tight" else 0.85 if len(kinds) > 6 else 1.0
    for kind in kinds:
        word = sheet.word(f"{kind}_column" if kind in {"discount", "gross"} else kind)
        sheet.columns.append((kind, word, x, x + WIDTHS[kind] * narrow - 8))
        x += WIDTHS[kind] * narrow


def _add_kinds(form: str, kinds: list[str]) -> None:
    """Further columns that a form of table has, or those it lacks."""
    if form == "codes":
        kinds.insert(kinds.index("description"), "code")
    if form == "discounts":
        kinds.insert(kinds.index("amount"), "discount")
    if form == "gross_columns":
        kinds += ["tax_amount", "gross"]
    if form == "amounts_only":
        kinds.remove("quantity")
        kinds.remove("unit_price")
    if form in {"unit_beside", "unit_glued"} and "unit" in kinds:
        kinds.remove("unit")


def _cell(sheet: Sheet, column: tuple[str, str, float, float], text: str, drop: float = 0) -> None:
    kind, _, left, right = column
    if kind in {"description", "position", "unit", "code"}:
        sheet.canvas.text(left, sheet.y + drop, text)
    else:
        sheet.canvas.text(right, sheet.y + drop, text, to="right")


def _table_head(sheet: Sheet) -> None:
    if sheet.form == "no_heads":
        return
    for column in sheet.columns:
        _, text, left, right = column
        if sheet.form == "centred_heads":
            sheet.canvas.text((left + right) / 2, sheet.y, text, to="centre")
        else:
            _cell(sheet, column, text)
    sheet.y += sheet.step + 3


def _row_texts(sheet: Sheet, at: int, item: Item) -> dict[str, str]:
    """What a row shows, by the kind of its columns."""
    unit = sheet.locale.words["units"][at % 3]
    count = sheet.locale.print(item.quantity, 2 if sheet.form == "decimals" else 0)
    beside = {"unit_beside": f" {unit}", "unit_glued": unit}.get(sheet.form, "")
    rate = Decimal(sheet.locale.rates[0])
    tax = sheet.locale.round(item.amount * rate / 100)
    numbered = f"{item.text} {at * 4} x {at + 1}"
    return {
        "position": str(at),
        "code": str(100_000 + at * 7919),
        "description": numbered if sheet.form == "numbered_text" else item.text,
        "quantity": f"{count}{beside}",
        "unit": unit,
        "unit_price": sheet.amount(item.price),
        "discount": "10%" if item.amount != item.quantity * item.price else "0%",
        "tax_rate": f"{sheet.locale.rates[0]}%",
        "amount": sheet.amount(item.amount),
        "tax_amount": sheet.amount(tax),
        "gross": sheet.amount(item.amount + tax),
    }


def _row(sheet: Sheet, at: int, item: Item) -> None:
    shown = _row_texts(sheet, at, item)
    for column in sheet.columns:
        numeric = column[0] not in {"position", "description"}
        drop = 4.2 if sheet.form == "offset" and numeric else 0.0
        _cell(sheet, column, shown[column[0]], drop)
    if sheet.form == "wrapped":
        sheet.y += sheet.step * 0.75
        words = next(column for column in sheet.columns if column[0] == "description")
        _cell(sheet, words, sheet.texts["longer"])
    sheet.y += sheet.step + (5 if sheet.form == "offset" else 0)


def _sum_row(sheet: Sheet, label: str, value: Decimal) -> None:
    words = next(column for column in sheet.columns if column[0] == "description")
    amounts = next(column for column in sheet.columns if column[0] == "amount")
    _cell(sheet, words, label)
    _cell(sheet, amounts, sheet.amount(value))
    sheet.y += sheet.step


def _table(sheet: Sheet, items: Sequence[Item]) -> None:
    _table_head(sheet)
    half = len(items) // 2
    for at, item in enumerate(items, 1):
        _row(sheet, at, item)
        if at == half and sheet.form in {"carried", "sections"}:
            _break_table(sheet, items[:half])


def _break_table(sheet: Sheet, done: Sequence[Item]) -> None:
    """The middle of a table: the next page with the sum so far, or another table."""
    total = sum((item.amount for item in done), Decimal(0))
    if sheet.form == "carried":
        _sum_row(sheet, sheet.word("carried"), total)
        sheet.canvas.text(500, BOTTOM + 10, "1 / 2")
        sheet.canvas.turn()
        sheet.y = 80
        _table_head(sheet)
        if sheet.random.random() < 0.7:
            _sum_row(sheet, sheet.word("brought"), total)
        return
    _sum_row(sheet, sheet.locale.words["net"][0], total)
    sheet.y += 2 * sheet.step
    _table_head(sheet)


def _draw_foot(sheet: Sheet, foot: Foot) -> None:
    amounts = next(column[3] for column in sheet.columns if column[0] == "amount")
    edge = 280.0 if sheet.place == "left" else amounts
    label = LEFT if sheet.place in {"left", "in_table"} else edge - 210
    sheet.y += sheet.step
    for text, value in foot.rows:
        drop = -4.4 if sheet.place == "offset" else 0.0
        sheet.canvas.text(label, sheet.y, text)
        sheet.canvas.text(edge, sheet.y + drop, sheet.amount(value), to="right")
        sheet.y += sheet.step + 2


def make_one(seed: str, family: tuple[str, str, str]) -> tuple[bytes, dict[str, Any]]:
    """One invoice of a family, and its truth."""
    random = Random(seed)
    scheme, form, place = family
    names = ("id",) if scheme in {"other_base", "withheld"} else tuple(load_locales())
    locale, texts = load_locales()[random.choice(names)]
    sheet = Sheet(random, locale, texts, form, place)
    sheet.money = random.choice(locale.money)
    sheet.step = random.uniform(14, 22)
    sheet.canvas.size = random.choice((8.5, 9.0, 10.0))
    items = _items(sheet)
    total = sum((item.amount for item in items), Decimal(0))
    foot = SCHEMES[scheme](Sale(locale, random, total))
    number = f"A-{random.randint(1000, 9999)}"
    parties = random.choice(texts["seller"]), random.choice(texts["buyer"])
    _set_columns(sheet)
    state = random.getstate()
    for copy in range(2 if form == "copy" else 1):
        if copy:
            sheet.canvas.turn()
        random.setstate(state)
        _head(sheet, number, parties)
        _table(sheet, items)
        _draw_foot(sheet, foot)
    return sheet.canvas.pdf(), _truth(number, parties, foot) | _lines(sheet, items)


def _lines(sheet: Sheet, items: Sequence[Item]) -> dict[str, Any]:
    shown = {kind for kind, *_ in sheet.columns}
    lines = [
        {
            "description": item.text,
            "quantity": str(item.quantity) if "quantity" in shown else None,
            "unit_price": str(item.price) if "unit_price" in shown else None,
            "amount": str(item.amount),
        }
        for item in items
    ]
    return {"lines": lines}


def _truth(number: str, parties: tuple[str, str], foot: Foot) -> dict[str, Any]:
    sums = {"net": foot.net, "tax": foot.tax, "gross": foot.gross}
    return {
        "invoice_number": number,
        "issue_date": "2025-03-14",
        "seller_name": parties[0],
        "buyer_name": parties[1],
        **{name: None if value is None else str(value) for name, value in sums.items()},
    }


def list_families() -> Iterator[tuple[str, str, str]]:
    """Every scheme in every form of table; the places of the foot take turns."""
    for one, scheme in enumerate(SCHEMES):
        for two, form in enumerate(FORMS):
            yield scheme, form, PLACES[(one + two) % len(PLACES)]


def is_held(group: str) -> bool:
    """Whether a family is only for scoring."""
    return hashlib.sha256(group.encode()).digest()[-1] % 2 == 1


def make(folder: Path, count: int, seed: int) -> None:
    """Invoices and `truth.json` in a folder, the families one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    families = list(list_families())
    records: list[dict[str, Any]] = []
    for at in range(count):
        family = families[(at * 7) % len(families)]
        data, shown = make_one(f"{seed}-{at}", family)
        digest = hashlib.sha256(data).hexdigest()
        name = f"{digest[:12]}.pdf"
        (folder / name).write_bytes(data)
        group = "-".join(family)
        records.append({"file": name, "sha256": digest, "group": group, "truth": shown})
    (folder / "truth.json").write_text(json.dumps(records, ensure_ascii=False, indent=1))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    make(asked.folder, asked.count, asked.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
