"""Made-up Indonesian and English invoices as PDFs, with truth in the scorer's format.

python -m bench.indonesian FOLDER [--count 200] [--seed 1]

It knows how such invoices look, and nothing of how they are read.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from bench.papers import A4, FONTS, Paper, width
from bench.trade import Deal, Firm, Sold, deal, rounded

MONTHS = (
    "Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember".split()
)
SAY: dict[str, tuple[list[str], list[str]]] = {
    "number": (["No. Faktur", "Nomor Invoice", "No. Invoice", "Nomor"], ["Invoice No.", "Invoice Number", "Invoice #", "INV No"]),
    "date": (["Tanggal", "Tgl. Faktur", "Tanggal Invoice"], ["Date", "Invoice Date", "Date of Issue"]),
    "due": (["Jatuh Tempo", "Tgl Jatuh Tempo"], ["Due Date", "Payment Due"]),
    "po": (["No. PO", "No. Pesanan"], ["PO Number", "Your Order No."]),
    "do": (["No. Surat Jalan"], ["Delivery Order", "D/O No."]),
    "customer": (["Kode Pelanggan"], ["Customer ID"]),
    "buyer": (["Kepada Yth.", "Kepada:", "Ditagihkan kepada:", "Pelanggan:"], ["Bill To:", "Bill To", "Customer:", "Invoice To:", "Sold To"]),
    "ship": (["Dikirim ke:", "Alamat Pengiriman"], ["Ship To:", "Deliver To"]),
    "title": (["FAKTUR", "INVOICE", "FAKTUR PENJUALAN", "TAGIHAN"], ["INVOICE", "TAX INVOICE", "Commercial Invoice"]),
    "row": (["No", "No."], ["No", "#", "Item"]),
    "description": (["Nama Barang", "Keterangan", "Uraian", "Deskripsi", "Nama Barang / Jasa"], ["Description", "Item Description", "Particulars"]),
    "quantity": (["Jumlah Barang", "Kuantitas", "Qty", "Banyaknya"], ["Qty", "Quantity"]),
    "unit": (["Satuan"], ["Unit", "UOM"]),
    "price": (["Harga Satuan", "Harga", "Harga Satuan (Rp)"], ["Unit Price", "Price", "Rate"]),
    "percent": (["Disc", "Diskon (%)", "Disk %"], ["Disc %", "Discount"]),
    "amount": (["Jumlah", "Jumlah Harga", "Total", "Jumlah (Rp)"], ["Amount", "Total", "Line Total"]),
    "net": (["Subtotal", "Sub Total", "Jumlah", "Total Harga Jual"], ["Subtotal", "Sub-Total", "Total before VAT"]),
    "off": (["Diskon", "Potongan Harga"], ["Discount", "Less: Discount"]),
    "base": (["DPP", "Dasar Pengenaan Pajak"], ["Tax Base", "Taxable Amount"]),
    "other": (["DPP Nilai Lain", "DPP Nilai Lain (11/12)"], ["Other Tax Base (11/12)"]),
    "gross": (["Total", "Grand Total", "Jumlah Tagihan", "Total Tagihan"], ["Total", "Grand Total", "Invoice Total", "TOTAL AMOUNT"]),
    "withheld": (["PPh 23 (2%)", "Potongan PPh Pasal 23"], ["Withholding Tax (PPh 23) 2%"]),
    "paid": (["Uang Muka", "Sudah Dibayar"], ["Down Payment", "Paid"]),
    "left": (["Sisa Tagihan", "Sisa yang harus dibayar"], ["Balance Due", "Amount Due"]),
}  # fmt: skip


@dataclass
class Style:
    """How one invoice is laid out, chosen once."""

    rng: Random
    paper: Paper
    deal: Deal
    lang: int
    point: bool
    cents: int
    money: str
    thousandths: bool = False
    ghosts: bool = False
    middle: bool = False
    glued: bool = False

    def say(self, key: str) -> str:
        local, english = SAY[key]
        if self.lang == 2 and self.rng.random() < 0.5:
            return f"{self.rng.choice(english)} / {self.rng.choice(local)}"
        return self.rng.choice(SAY[key][min(self.lang, 1)])

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def amount(self, value: Decimal, *, money: bool = False) -> str:
        text = f"{rounded(value, self.cents):,}"
        if not self.point:
            text = text.translate(str.maketrans(".,", ",."))
        return self.money.format(text) if money else text

    def count(self, value: Decimal) -> str:
        text = f"{rounded(value, 3):,f}" if self.thousandths else f"{value:,f}"
        return text if self.point else text.translate(str.maketrans(".,", ",."))

    def day(self, day: date, kind: int) -> str:
        named = MONTHS[day.month - 1] if self.lang != 1 else day.strftime("%B")
        return [
            f"{day.day} {named} {day.year}",
            day.strftime("%d/%m/%Y"),
            day.isoformat(),
            f"{day.day:02}-{named[:3]}-{day.year}",
            day.strftime("%d.%m.%Y"),
        ][kind]


def style(rng: Random) -> Style:
    sale = deal(rng)
    lang = rng.choice([0, 0, 1, 2])
    point = rng.random() < (0.35 if lang == 0 else 0.7)
    whole = all(line.amount == int(line.amount) for line in sale.lines) and sale.tax == int(
        sale.tax
    )
    whole = whole and sale.withheld == int(sale.withheld) and sale.paid == int(sale.paid)
    whole = whole and sale.discount == int(sale.discount) and sale.net * 11 % 12 == 0
    cents = 0 if whole and rng.random() < 0.6 else 2
    sign = {"IDR": ["Rp {}", "Rp{}", "Rp. {}", "IDR {}", "{} IDR"]}.get(sale.currency)
    sign = sign or [sale.currency + " {}", "{} " + sale.currency]
    font = rng.choice(list(FONTS))
    paper = Paper(font, rng.choice([6, 6.5, 7] if font == "Courier" else [7.5, 8, 9, 10]))
    made = Style(rng, paper, sale, lang, point, cents, rng.choice(sign))
    made.thousandths, made.ghosts = rng.random() < 0.12, rng.random() < 0.08
    made.middle, made.glued = rng.random() < 0.12, rng.random() < 0.08
    return made


def draw(style: Style) -> bytes:
    """The whole invoice."""
    y = head(style)
    y = facts(style, y)
    y = table(style, y + 14)
    y = sums(style, y + 6)
    foot(style, y)
    return style.paper.pdf()


def block(
    style: Style, x: float, y: float, firm: Firm, *, to: str = "left", full: bool = True
) -> float:
    step = style.paper.size * 1.35
    lines = [firm.name, firm.street, firm.town]
    if full:
        lines += [f"Telp. {firm.phone}", f"NPWP: {firm.npwp}"][: style.rng.randrange(1, 3)]
    for line in lines:
        style.paper.text(x, y, line, to=to)
        y += step
    return y


def head(style: Style) -> float:
    """Letterhead and title; in some the seller stands only at the foot."""
    kind = style.rng.choice(["left", "right", "centre", "foot", "logo"])
    place = {"left": (40.0, "left"), "right": (555.0, "right"), "centre": (297.0, "centre")}
    y = 50.0
    if kind in place:
        x, to = place[kind]
        style.paper.text(
            x, y, style.deal.seller.name, to=to, size=style.paper.size * style.rng.choice([1, 1.6])
        )
        firm = style.deal.seller
        for line in (
            firm.street + ", " + firm.town,
            f"Telp: {firm.phone}  Email: info@{firm.domain}",
        )[: style.rng.randrange(1, 3)]:
            y += style.paper.size * 1.5
            style.paper.text(x, y, line, to=to)
        y += 20
    elif kind == "logo":
        style.paper.text(40, y, style.deal.seller.name, size=16)
        y += 24
    style.deal.others["foot"] = "1" if kind in {"foot", "logo"} or style.chance(0.3) else ""
    x, to = style.rng.choice([(297.0, "centre"), (40.0, "left"), (555.0, "right")])
    style.paper.text(x, y + 8, style.say("title"), to=to, size=style.paper.size * 1.7)
    return y + 34


def labelled(style: Style) -> list[tuple[str, str]]:
    sale, kind = style.deal, style.rng.randrange(5)
    pairs = [(style.say("number"), sale.number), (style.say("date"), style.day(sale.issued, kind))]
    if sale.due:
        pairs.append((style.say("due"), style.day(sale.due, kind)))
    for key in ("po", "do", "customer"):
        if style.chance(0.4):
            pairs.append((style.say(key), sale.others[key]))
    if style.chance(0.4):
        style.rng.shuffle(pairs)
    if style.chance(0.1):
        pairs = [(f"{at}){label.upper()}", value) for at, (label, value) in enumerate(pairs, 1)]
    return pairs


def facts(style: Style, y: float) -> float:
    """The buyer on one side, number and dates on the other, or above each other."""
    pairs = labelled(style)
    if style.glued:
        pairs = [(label.replace(" ", ""), value) for label, value in pairs]
    shape = style.rng.choice(["beside", "swapped", "stacked", "ruled"])
    left, right = (40.0, 330.0) if shape != "swapped" else (330.0, 40.0)
    bottom = buyer(style, left, y, ship=shape in {"stacked", "ruled"} and style.chance(0.4))
    if shape == "stacked":
        return pairs_down(style, 40.0, bottom + 10, pairs)
    if shape == "ruled":
        return pairs_across(style, bottom + 12, pairs)
    return max(bottom, pairs_down(style, right, y, pairs))


def buyer(style: Style, x: float, y: float, *, ship: bool) -> float:
    step = style.paper.size * 1.35
    label = style.chance(0.85) or ship
    if label:
        style.paper.text(x, y, style.say("buyer"))
    if ship:
        style.paper.text(x + 190, y, style.say("ship"))
        for at, line in enumerate(
            ["Gudang " + style.deal.buyer.town.split()[0], style.deal.buyer.street]
        ):
            style.paper.text(x + 190, y + step * (at + 1), line)
    return block(
        style, x, y + (step if label else 0), style.deal.buyer, full=style.chance(0.6) and not ship
    )


def pairs_down(style: Style, x: float, y: float, pairs: Sequence[tuple[str, str]]) -> float:
    colon = style.rng.choice([" : ", ": ", "", "cell"])
    far = max(105.0, 12 + max(width(label, style.paper.font, style.paper.size) for label, _ in pairs))
    for label, value in pairs:
        if colon == "cell":
            style.paper.text(x, y, label)
            style.paper.text(x + far, y, ": " + value)
        elif colon:
            style.paper.text(x, y, label.rstrip(":") + colon + value)
        else:
            style.paper.text(x, y, label)
            style.paper.text(x + far, y, value)
        y += style.paper.size * 1.4
    return y


def pairs_across(style: Style, y: float, pairs: Sequence[tuple[str, str]]) -> float:
    """Labels in one row, each with its value below."""
    step = 515 / max(len(pairs), 4)
    for at, (label, value) in enumerate(pairs):
        for row, line in enumerate(style.paper.wrapped(label, step - 8)):
            style.paper.text(40 + at * step, y + row * 10, line)
        for row, line in enumerate(style.paper.wrapped(value, step + 20)):
            style.paper.text(40 + at * step, y + 24 + row * 10, line)
    return y + 40


@dataclass
class Col:
    key: str
    x: float
    wide: float
    to: str

    @property
    def anchor(self) -> float:
        return {"left": self.x, "right": self.x + self.wide, "centre": self.x + self.wide / 2}[
            self.to
        ]


def columns(style: Style) -> list[Col]:
    keys = ["row"] if style.chance(0.7) else []
    keys += ["description", "quantity"]
    keys += ["unit"] if style.chance(0.5) else []
    keys += ["price"]
    off = any(line.percent for line in style.deal.lines)
    keys += ["percent"] if off else []
    keys += ["amount"]
    if style.chance(0.15):
        keys.remove("quantity")
        keys.insert(keys.index("description"), "quantity")
    wide = {
        "row": 22.0,
        "quantity": 48.0,
        "unit": 42.0,
        "price": 88.0,
        "percent": 36.0,
        "amount": 92.0,
    }
    rest = 515 - sum(wide.get(key, 0) for key in keys)
    x, found = 40.0, list[Col]()
    for key in keys:
        to = "right" if key in {"price", "percent", "amount"} else "left"
        to = style.rng.choice(["right", "centre"]) if key == "quantity" else to
        found.append(Col(key, x, wide.get(key, rest) - 8, to))
        x += wide.get(key, rest)
    return found


def heading(style: Style, cols: Sequence[Col], names: dict[str, str], y: float) -> float:
    rows = {col.key: style.paper.wrapped(names[col.key], col.wide) for col in cols}
    deepest = max(len(lines) for lines in rows.values())
    for col in cols:
        for at, line in enumerate(rows[col.key]):
            style.paper.text(col.anchor, y + at * style.paper.size * 1.2, line, to=col.to)
    return y + deepest * style.paper.size * 1.2 + 6


def table(style: Style, y: float) -> float:
    """The lines, over as many pages as they need."""
    cols = columns(style)
    names = {col.key: style.say(col.key) for col in cols}
    y = heading(style, cols, names, y)
    again, money, unit_in = style.chance(0.6), style.chance(0.25), style.chance(0.5)
    inside, split = style.chance(0.15), style.chance(0.3)
    for at, line in enumerate(style.deal.lines, 1):
        texts = style.paper.wrapped(
            line.description, next(c.wide for c in cols if c.key == "description"), inside=inside
        )
        if y + (1 if split else len(texts)) * style.paper.size * 1.25 > 770:
            so_far = sum((sold.amount for sold in style.deal.lines[: at - 1]), Decimal(0))
            y = turned(style, cols, names if again else None, so_far)
        y = row(style, cols, line, at, texts, money=money, unit_in=unit_in)(y)
    return y


def turned(style: Style, cols: Sequence[Col], names: dict[str, str] | None, so_far: Decimal) -> float:
    if style.rng.random() < 0.3:
        word = style.rng.choice(["Subtotal halaman ini", "Dipindahkan", "Carried forward"])
        style.paper.text(cols[-1].x - 60, 785, word, to="right")
        style.paper.text(cols[-1].anchor, 785, style.amount(so_far), to=cols[-1].to)
    style.paper.text(555, 815, f"Hal. {len(style.paper.pages)}", to="right")
    style.paper.turn()
    y = 60.0
    if names:
        style.paper.text(40, 40, style.deal.seller.name)
        return heading(style, cols, names, y)
    return y


def row(
    style: Style,
    cols: Sequence[Col],
    line: Sold,
    at: int,
    texts: list[str],
    *,
    money: bool,
    unit_in: bool,
) -> Any:
    step = style.paper.size * 1.25
    own_unit = any(col.key == "unit" for col in cols)

    def put(y: float) -> float:
        shown = {
            "row": str(at),
            "unit": line.unit,
            "amount": style.amount(line.amount, money=money),
        }
        if line.quantity is not None and line.price is not None:
            unit = f" {line.unit}" if unit_in and not own_unit else ""
            shown |= {
                "quantity": style.count(line.quantity) + unit,
                "price": style.amount(line.price, money=money),
            }
            shown |= {"percent": f"{line.percent:g}%" if line.percent else ""}
        level = y + (step * (len(texts) - 1) / 2 if style.middle else 0)
        for col in cols:
            if col.key != "description" and shown.get(col.key):
                if style.ghosts and col.key == "amount":
                    style.paper.text(col.anchor, level, style.amount(line.amount + 1000), to=col.to)
                style.paper.text(col.anchor, level, shown[col.key], to=col.to)
        x = next(col.x for col in cols if col.key == "description")
        for text in texts:
            if y > 790:
                style.paper.turn()
                y = 60.0
            style.paper.text(x, y, text)
            y += step
        return y + style.rng.choice([2, 5])

    return put


def sums(style: Style, y: float) -> float:
    sale = style.deal
    total = sum((line.amount for line in sale.lines), Decimal(0))
    rows = [(style.say("net"), total)]
    if style.chance(0.08):
        rows.append(("Subtotal", total))
    if sale.discount:
        rows.append((style.say("off"), -sale.discount if style.chance(0.5) else sale.discount))
    if sale.discount or (sale.rate and style.chance(0.3)):
        rows.append((style.say("base"), sale.net))
    if sale.rate == "12":
        rows.append((style.say("other"), sale.net * 11 / 12))
    if sale.rate:
        rows.append(
            (style.rng.choice(["PPN {}%", "PPN ({}%)", "VAT {}%"]).format(sale.rate), sale.tax)
        )
    rows.append((style.say("gross"), sale.gross))
    if sale.withheld:
        rows.append((style.say("withheld"), -sale.withheld if style.chance(0.5) else sale.withheld))
    if sale.paid:
        rows.append((style.say("paid"), sale.paid))
    if sale.withheld or sale.paid:
        rows.append((style.say("left"), sale.gross - sale.withheld - sale.paid))
    if y + len(rows) * 14 > 790:
        style.paper.turn()
        y = 70.0
    return summed(style, y, rows)


def summed(style: Style, y: float, rows: Sequence[tuple[str, Decimal]]) -> float:
    money, right = style.chance(0.6), style.chance(0.5)
    colon = style.rng.choice(["", " :", ":"])
    for label, value in rows:
        style.paper.text(430 if right else 350, y, label + colon, to="right" if right else "left")
        style.paper.text(547, y, style.amount(value, money=money), to="right")
        y += style.paper.size * 1.5
    return y


def foot(style: Style, y: float) -> None:
    """Words for the sum, the bank, the signature: numbers and names that are not what is sought."""
    sale, step = style.deal, style.paper.size * 1.4
    if y > 700:
        style.paper.turn()
        y = 60.0
    if style.chance(0.5):
        y += step
        style.paper.text(
            40,
            y,
            "Terbilang: "
            + style.rng.choice(["# Sebelas juta rupiah #", "Seratus dua puluh ribu rupiah"]),
        )
    y += 2 * step
    bank = [
        f"Bank {style.rng.choice(['BCA', 'Mandiri', 'BNI'])} Cab. Jakarta",
        f"No. Rek: {sale.others['account']}",
    ]
    holder = style.rng.choice(["a/n {}", "Atas Nama: {}", "A/C Name: {}"]).format(sale.seller.name)
    for line in [*bank, holder] if sale.others["foot"] or style.chance(0.5) else []:
        style.paper.text(40, y, line)
        y += step
    if style.chance(0.4):
        style.paper.text(
            430, y + step, f"{sale.seller.town.split()[0]}, {style.day(sale.issued, 0)}"
        )
        style.paper.text(
            430, y + 5 * step, style.rng.choice(["Budi Santoso", "Siti Rahayu", "Hormat kami,"])
        )
    if sale.others["foot"]:
        firm = sale.seller
        line = f"{firm.name} - {firm.street} - {firm.town} - NPWP {firm.npwp}"
        style.paper.text(A4[0] / 2, 812, line, to="centre", size=7)


def truth(style: Style, data: bytes, name: str, group: str) -> dict[str, Any]:
    sale = style.deal
    shown = {
        "invoice_number": sale.number,
        "issue_date": sale.issued.isoformat(),
        "due_date": sale.due.isoformat() if sale.due else None,
        "currency": sale.currency if _shows(data, sale.currency) else None,
        "seller_name": sale.seller.name,
        "buyer_name": sale.buyer.name,
        "net": str(sale.net),
        "tax": str(sale.tax) if sale.rate else None,
        "gross": str(sale.gross),
        "lines": [
            {
                "description": line.description,
                "quantity": str(line.quantity) if line.quantity is not None else None,
                "unit_price": str(line.price) if line.price is not None else None,
                "amount": str(line.amount),
            }
            for line in sale.lines
        ],
    }
    digest = hashlib.sha256(data).hexdigest()
    return {"file": name, "sha256": digest, "group": group, "truth": shown}


def _shows(data: bytes, currency: str) -> bool:
    """Whether the page says its currency anywhere."""
    return currency.encode() in data or (currency == "IDR" and (b"Rp" in data or b"rupiah" in data))


def make(folder: Path, count: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for at in range(count):
        made = style(Random(f"{seed}:{at}"))
        data = draw(made)
        name = f"{at:04}.pdf"
        (folder / name).write_bytes(data)
        records.append(truth(made, data, name, f"g{at % 20:02}"))
    (folder / "truth.json").write_text(json.dumps(records, indent=1))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    make(asked.folder, asked.count, asked.seed)


if __name__ == "__main__":
    main(sys.argv[1:])
