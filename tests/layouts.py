"""Invoices of one layout that the reader gets wrong: `from layouts import odd_invoice`."""

from collections.abc import Sequence

from invoice_pdfs import HEADINGS, row
from pdfs import Text, make_pdf

Item = tuple[str, int, int]
PAPER: tuple[Item, ...] = (("Kertas A4", 10, 50_000),)


def money(amount: int) -> str:
    return f"{amount:,}".replace(",", ".")


def odd_invoice(
    number: str,
    buyer: str = "CV Maju Makmur",
    items: Sequence[Item] = PAPER,
    *,
    seller: str = "PT Sinar Jaya Abadi",
    at: tuple[float, float] = (340, 40),
) -> bytes:
    """Its number stands in a corner and nothing says that it is one; a purchase order's does."""
    texts: list[Text] = [
        (40, 40, seller),
        (40, 54, "Jl. Sudirman No. 1, Jakarta 12190"),
        (40, 68, "Telp. (021) 555 1234"),
        (40, 100, "Kepada Yth."),
        (40, 114, buyer),
        (40, 128, "Jl. Thamrin No. 2"),
        (*at, number),
        (340, 100, "No. PO : 4500012345"),
        (340, 114, "Tanggal : 14 Maret 2025"),
        *row(180, *HEADINGS),
    ]
    y, net = 196.0, 0
    for index, (name, quantity, price) in enumerate(items, 1):
        amount = quantity * price
        texts += row(y, str(index), name, str(quantity), money(price), money(amount))
        y, net = y + 14, net + amount
    tax = net * 11 // 100
    for label, amount in (("Subtotal", net), ("PPN 11%", tax), ("Total", net + tax)):
        y += 14
        texts += [(380, y, label), (480, y, money(amount))]
    return make_pdf([texts])
