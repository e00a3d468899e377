"""How one made-up invoice is set: its words, its numbers, its quirks. Chosen once, by chance."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from random import Random

from eval.canvas import FONTS, Canvas
from eval.indonesian_sales import Deal, deal, rounded

MONTHS = [
    "Januari",
    "Februari",
    "Maret",
    "April",
    "Mei",
    "Juni",
    "Juli",
    "Agustus",
    "September",
    "Oktober",
    "November",
    "Desember",
]
SAY: dict[str, tuple[list[str], list[str]]] = {
    "number": (
        ["No. Faktur", "Nomor Invoice", "No. Invoice", "Nomor"],
        ["Invoice No.", "Invoice Number", "Invoice #", "INV No"],
    ),
    "date": (
        ["Tanggal", "Tgl. Faktur", "Tanggal Invoice"],
        ["Date", "Invoice Date", "Date of Issue"],
    ),
    "due": (["Jatuh Tempo", "Tgl Jatuh Tempo"], ["Due Date", "Payment Due"]),
    "po": (["No. PO", "No. Pesanan"], ["PO Number", "Your Order No."]),
    "do": (["No. Surat Jalan"], ["Delivery Order", "D/O No."]),
    "customer": (["Kode Pelanggan"], ["Customer ID"]),
    "buyer": (
        ["Kepada Yth.", "Kepada:", "Ditagihkan kepada:", "Pelanggan:"],
        ["Bill To:", "Bill To", "Customer:", "Invoice To:", "Sold To"],
    ),
    "ship": (["Dikirim ke:", "Alamat Pengiriman"], ["Ship To:", "Deliver To"]),
    "title": (
        ["FAKTUR", "INVOICE", "FAKTUR PENJUALAN", "TAGIHAN"],
        ["INVOICE", "TAX INVOICE", "Commercial Invoice"],
    ),
    "row": (["No", "No."], ["No", "#", "Item"]),
    "description": (
        ["Nama Barang", "Keterangan", "Uraian", "Deskripsi", "Nama Barang / Jasa"],
        ["Description", "Item Description", "Particulars"],
    ),
    "quantity": (["Jumlah Barang", "Kuantitas", "Qty", "Banyaknya"], ["Qty", "Quantity"]),
    "unit": (["Satuan"], ["Unit", "UOM"]),
    "price": (["Harga Satuan", "Harga", "Harga Satuan (Rp)"], ["Unit Price", "Price", "Rate"]),
    "percent": (["Disc", "Diskon (%)", "Disk %"], ["Disc %", "Discount"]),
    "amount": (
        ["Jumlah", "Jumlah Harga", "Total", "Jumlah (Rp)"],
        ["Amount", "Total", "Line Total"],
    ),
    "net": (
        ["Subtotal", "Sub Total", "Jumlah", "Total Harga Jual"],
        ["Subtotal", "Sub-Total", "Total before VAT"],
    ),
    "off": (["Diskon", "Potongan Harga"], ["Discount", "Less: Discount"]),
    "base": (["DPP", "Dasar Pengenaan Pajak"], ["Tax Base", "Taxable Amount"]),
    "other": (["DPP Nilai Lain", "DPP Nilai Lain (11/12)"], ["Other Tax Base (11/12)"]),
    "gross": (
        ["Total", "Grand Total", "Jumlah Tagihan", "Total Tagihan"],
        ["Total", "Grand Total", "Invoice Total", "TOTAL AMOUNT"],
    ),
    "withheld": (["PPh 23 (2%)", "Potongan PPh Pasal 23"], ["Withholding Tax (PPh 23) 2%"]),
    "paid": (["Uang Muka", "Sudah Dibayar"], ["Down Payment", "Paid"]),
    "left": (["Sisa Tagihan", "Sisa yang harus dibayar"], ["Balance Due", "Amount Due"]),
}


@dataclass
class Style:
    """How one invoice is laid out, chosen once."""

    rng: Random
    canvas: Canvas
    deal: Deal
    lang: int
    point: bool
    cents: int
    money: str
    thousandths: bool = False
    ghosts: bool = False
    middle: bool = False
    glued: bool = False
    priced: bool = False
    counted: bool = False

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
    canvas = Canvas(font, rng.choice([6, 6.5, 7] if font == "Courier" else [7.5, 8, 9, 10]))
    made = Style(rng, canvas, sale, lang, point, cents, rng.choice(sign))
    made.thousandths, made.ghosts = rng.random() < 0.12, rng.random() < 0.08
    made.middle, made.glued = rng.random() < 0.12, rng.random() < 0.08
    return made
