"""The pages of eval/suppliers.py: heads, facts, tables and feet as HTML.

A function here takes a made invoice and says what a part of its page looks like.
"""

import html
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from eval.supplier_sales import MadeFirm, MadeInvoice

BASE: Final = """
@page{size:A4;margin:14mm} body{margin:0;font:9pt/1.3 'DejaVu Sans'} table{border-collapse:collapse}
td,th{padding:2pt 4pt;text-align:left;vertical-align:top} .n{text-align:right;white-space:nowrap}
h1{font-size:18pt;margin:6pt 0}
.two{display:flex;justify-content:space-between;margin:12pt 0} .two>div{width:46%}
.big{font-size:14pt;font-weight:bold} .small{font-size:6.5pt} .lines{width:100%;margin:16pt 0 6pt}
.lines th{border-bottom:1px solid #000} .box{border:1px solid #444;padding:2pt 4pt}
.cap{font-size:6pt;display:block;color:#333} .foot{position:fixed;bottom:0;left:0;right:0;
font-size:6.5pt;display:flex;justify-content:space-between} .sums{margin-left:auto} .grid td{
border:1px solid #444} .facts td{white-space:nowrap} p{margin:8pt 0} .right{text-align:right}
"""

Pairs = list[tuple[str, str]]


def _write(text: str) -> str:
    return html.escape(text)


def _stack(lines: Sequence[str], first: str = "") -> str:
    head, *rest = (_write(line) for line in lines if line)
    return f'<div class="{first}">{head}</div>' + "".join(f"<div>{line}</div>" for line in rest)


def _own(made: MadeInvoice, firm: MadeFirm, *, full: bool) -> list[str]:
    """The lines of an address; in full with how to reach the firm."""
    lines = [firm.name, firm.street, firm.town]
    if firm.vat:
        lines.append(f"{made.say('tax_id')} {firm.vat}")
    if full and firm.phone:
        lines += [f"{made.say('phone')} {firm.phone}", firm.mail]
    return lines


def _label(made: MadeInvoice, concept: str) -> str:
    return made.say(concept)


def _two(left: str, right: str) -> str:
    return f'<div class="two"><div>{left}</div><div>{right}</div></div>'


def _labelled(made: MadeInvoice, facts: str) -> str:
    """Both under labels, side by side."""
    parts = [
        f"<b>{_write(_label(made, 'seller'))}</b>{_stack(_own(made, made.seller, full=True))}",
        f"<b>{_write(_label(made, 'buyer'))}</b>{_stack(_own(made, made.buyer, full=False))}",
    ]
    if made.random.random() < 0.25:
        parts.reverse()
    return f"<h1>{_write(made.say('title'))}</h1>{facts}{_two(*parts)}"


def _letterhead(made: MadeInvoice, facts: str) -> str:
    """A large name over its address, the buyer under a label."""
    own = _stack(_own(made, made.seller, full=True), "big")
    side = "right" if made.random.random() < 0.4 else ""
    buyer = f"{_write(_label(made, 'buyer'))}{_stack(_own(made, made.buyer, full=False))}"
    title = f"<h1>{_write(made.say('title'))}</h1>"
    return f'<div class="{side}">{own}</div>{_two(buyer, title + facts)}'


def _window(made: MadeInvoice, facts: str) -> str:
    """A letter: a sender's line over the buyer's address, the imprint at the foot."""
    seller = made.seller
    sender = " · ".join((seller.name, seller.street, seller.town))
    buyer = (
        f'<div class="small">{_write(sender)}</div>{_stack(_own(made, made.buyer, full=False)[:3])}'
    )
    return (
        f"<div style='height:60pt'></div>{_two(buyer, facts)}<h1>{_write(made.say('title'))}</h1>"
        f"{_imprint(made)}"
    )


def _imprint(made: MadeInvoice) -> str:
    seller = made.seller
    columns = [
        _stack([seller.name, seller.street, seller.town]),
        _stack([f"{made.say('phone')} {seller.phone}", seller.mail]),
        _stack([made.words["account"][0], f"{made.say('tax_id')} {seller.vat}"]),
    ]
    return f'<div class="foot">{"".join(f"<div>{column}</div>" for column in columns)}</div>'


def _footed(made: MadeInvoice, facts: str) -> str:
    """The buyer under a label; the seller stands at the foot only, a brand at the top."""
    brand = made.seller.name.split(" ")[0]
    top = f'<div class="big">{_write(brand)}</div>' if made.random.random() < 0.5 else ""
    buyer = f"<b>{_write(_label(made, 'buyer'))}</b>{_stack(_own(made, made.buyer, full=False))}"
    return f"{top}<h1>{_write(made.say('title'))}</h1>{_two(buyer, facts)}{_imprint(made)}"


def _unlabelled(made: MadeInvoice, facts: str) -> str:
    """Two blocks side by side without labels; the seller can be reached."""
    mine = _stack(_own(made, made.seller, full=True))
    yours = _stack(_own(made, made.buyer, full=False)[:3])
    return f"<h1>{_write(made.say('title'))}</h1>{facts}{_two(mine, yours)}"


def _stacked(made: MadeInvoice, facts: str) -> str:
    """The seller at the top, the buyer further down, neither with a label."""
    mine = _stack(_own(made, made.seller, full=True), "big")
    yours = _stack(_own(made, made.buyer, full=False)[:3])
    return f"{_two(mine, facts)}<p></p>{yours}<h1>{_write(made.say('title'))}</h1>"


def _boxed(made: MadeInvoice, facts: str) -> str:
    """Boxes as tax forms have them: a small caption over each value."""

    def box(caption: str, value: str) -> str:
        return f'<td class="box"><span class="cap">{_write(caption)}</span>{_write(value)}</td>'

    rows: list[str] = []
    for concept, firm in (("seller", made.seller), ("buyer", made.buyer)):
        rows.append(f'<tr><td colspan=3 class="small"><b>{_write(made.say(concept))}</b></td></tr>')
        tax = box(made.say("tax_id").rstrip(":"), firm.vat or "-")
        rows.append(f"<tr>{box(_name_caption(made), firm.name)}{tax}</tr>")
        town = f'<td class="box">{_write(firm.town)}</td>'
        rows.append(f"<tr>{box(_place_caption(made), firm.street)}{town}</tr>")
    table = f'<table style="width:100%">{"".join(rows)}</table>'
    return f"<h1>{_write(made.say('title'))}</h1>{facts}{table}"


NAMES: Final = {
    "GBP": "Name", "PLN": "Nazwa", "CZK": "Název", "HUF": "Név", "SEK": "Namn", "DKK": "Navn",
    "NOK": "Navn", "IDR": "Nama",
}  # fmt: skip
PLACES: Final = {
    "GBP": "Address", "PLN": "Adres", "CZK": "Adresa", "HUF": "Cím", "SEK": "Adress",
    "DKK": "Adresse", "NOK": "Adresse", "IDR": "Alamat",
}  # fmt: skip
EURO: Final = {
    "Fatura": ("Nome / Razão social", "Endereço"), "Rechnung": ("Name", "Anschrift"),
    "Facture": ("Raison sociale", "Adresse"), "Factura": ("Razón social", "Domicilio"),
    "Fattura": ("Denominazione", "Indirizzo"), "Factuur": ("Naam", "Adres"),
}  # fmt: skip


def _name_caption(made: MadeInvoice) -> str:
    return NAMES.get(made.words["currency"]) or EURO[made.words["title"][0]][0]


def _place_caption(made: MadeInvoice) -> str:
    return PLACES.get(made.words["currency"]) or EURO[made.words["title"][0]][1]


def _rows_of_parties(made: MadeInvoice, facts: str) -> str:
    """Labels left, names right, one under the other."""
    rows: list[str] = []
    for concept, firm in (("seller", made.seller), ("buyer", made.buyer)):
        address = f"{_write(firm.name)}<br>{_write(firm.street)}, {_write(firm.town)}"
        rows.append(f"<tr><td><b>{_write(made.say(concept))}</b></td><td>{address}</td></tr>")
    return f"<h1>{_write(made.say('title'))}</h1><table>{''.join(rows)}</table>{facts}"


def _shipped(made: MadeInvoice, facts: str) -> str:
    """A letterhead over two addresses, where the goods go to another firm's door."""
    own = _stack(_own(made, made.seller, full=True), "big")
    buyer = f"<b>{_write(made.say('buyer'))}</b>{_stack(_own(made, made.buyer, full=False))}"
    ship = f"<b>{_write(made.say('ship'))}</b>{_stack([made.buyer.name, made.words['streets'][0]])}"
    title = f"<h1>{_write(made.say('title'))}</h1>{facts}"
    return f"{_two(own, title)}{_two(buyer, ship)}"


def list_facts(made: MadeInvoice) -> Pairs:
    """Number, days and numbers of other things, as label and value."""
    pairs = [
        (made.say("number"), made.number),
        (made.say("date"), made.print_day(made.issued)),
    ]
    if made.random.random() < 0.5:
        pairs.append((made.say("delivery"), made.print_day(made.issued)))
    if made.due_kind == "label":
        pairs.append((made.say("due"), made.print_day(made.due)))
    if made.random.random() < 0.5:
        pairs.append((made.say("customer"), str(made.random.randint(1000, 99_999))))
    if made.random.random() < 0.4:
        pairs.append(
            (made.say("order"), f"{made.random.randint(100, 999)}-{made.random.randint(10, 99)}")
        )
    return pairs


def _rows(pairs: Pairs) -> str:
    rows = (f"<tr><td>{_write(label)}</td><td>{_write(value)}</td></tr>" for label, value in pairs)
    return f"<table>{''.join(rows)}</table>"


def _colons(pairs: Pairs) -> str:
    return "".join(
        f"<div>{_write(label.rstrip(':'))}: {_write(value)}</div>" for label, value in pairs
    )


def _captions(pairs: Pairs) -> str:
    cells = (
        f'<td class="box"><span class="cap">{_write(label)}</span>{_write(value)}</td>'
        for label, value in pairs
    )
    return f"<table><tr>{''.join(cells)}</tr></table>"


def _heads(pairs: Pairs) -> str:
    heads = "".join(f"<th>{_write(label.rstrip(':'))}</th>" for label, _ in pairs)
    values = "".join(f"<td>{_write(value)}</td>" for _, value in pairs)
    return f'<table class="grid"><tr>{heads}</tr><tr>{values}</tr></table>'


def _right_rows(pairs: Pairs) -> str:
    rows = (
        f'<tr><td class="n">{_write(label)}</td><td class="n">{_write(value)}</td></tr>'
        for label, value in pairs
    )
    return f'<table style="margin-left:auto">{"".join(rows)}</table>'


def draw_lines(made: MadeInvoice) -> str:
    """The table of lines, its columns in one of the usual orders."""
    kinds = made.random.choice(ORDERS)
    heads = "".join(
        f'<th class="{"" if kind in WORDY else "n"}">{_write(_head(made, kind))}</th>'
        for kind in kinds
    )
    rows: list[str] = []
    for at, item in enumerate(made.items, 1):
        places = 0 if item.quantity == int(item.quantity) else 1
        cells = {
            "position": str(at),
            "code": f"{at * 37 + 1000}",
            "description": item.text,
            "quantity": made.print_number(item.quantity, places),
            "unit": item.unit,
            "price": made.print_number(item.price),
            "rate": f"{item.rate}%" if made.taxes else "",
            "amount": made.print_money(item.amount),
            "gross_column": made.print_number(
                item.amount * (100 + _rate_of(item.rate if made.taxes else "0")) / 100
            ),
        }
        tds = (
            f'<td class="{"" if kind in WORDY else "n"}">{_write(cells[kind])}</td>'
            for kind in kinds
        )
        rows.append(f"<tr>{''.join(tds)}</tr>")
    return f'<table class="lines"><tr>{heads}</tr>{"".join(rows)}</table>'


def _rate_of(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))


WORDY: Final = frozenset({"description", "unit", "code"})
ORDERS: Final = (
    ("description", "quantity", "price", "amount"),
    ("position", "description", "quantity", "unit", "price", "amount"),
    ("quantity", "unit", "description", "price", "amount"),
    ("code", "description", "quantity", "price", "rate", "amount"),
    ("description", "unit", "quantity", "price", "rate", "amount", "gross_column"),
    ("position", "description", "price", "quantity", "amount"),
)


def _head(made: MadeInvoice, kind: str) -> str:
    return {"position": "#", "code": "Ref."}.get(kind) or made.say(kind)


def list_sums(made: MadeInvoice) -> Pairs:
    """The rows of the foot, from the goods to what is left to pay."""
    pairs: Pairs = []
    if made.taxes:
        pairs.append((made.say("net"), made.print_money(made.goods)))
    if made.extra:
        name = "freight" if made.extra > 0 else "discount"
        pairs.append((made.say(name), made.print_money(made.extra)))
    if made.sums == "after":
        pairs.append((made.say("after"), made.print_money(made.goods + made.extra)))
    named = [word for word in made.words["tax"] if "{}" in word]
    for rate, _, tax in made.taxes:
        word = made.say("tax") if len(made.taxes) == 1 else named[0]
        pairs.append((word.replace("{}", rate), made.print_money(tax)))
    pairs.append((made.say("gross"), made.print_money(made.gross)))
    if made.paid:
        pairs.append((made.say("paid"), made.print_money(-made.paid)))
        pairs.append((made.say("left"), made.print_money(made.gross - made.paid)))
    return pairs


def _sums_right(made: MadeInvoice, lines: str) -> str:
    return f"{lines}<div>{_sum_table(list_sums(made), 'sums')}</div>"


def _sums_left(made: MadeInvoice, lines: str) -> str:
    return f"{lines}{_sum_table(list_sums(made), '')}"


def _sum_table(pairs: Pairs, look: str) -> str:
    rows = (
        f'<tr><td>{_write(label)}</td><td class="n">{_write(value)}</td></tr>'
        for label, value in pairs
    )
    return f'<table class="{look}">{"".join(rows)}</table>'


def _sums_inside(made: MadeInvoice, lines: str) -> str:
    """The sums as rows of the table itself."""
    wide = lines.count("<th")
    rows = "".join(
        f'<tr><td colspan={wide - 1} class="n">{_write(label)}</td>'
        f'<td class="n">{_write(value)}</td></tr>'
        for label, value in list_sums(made)
    )
    return lines.replace("</table>", f"{rows}</table>")


def _sums_across(made: MadeInvoice, lines: str) -> str:
    """The sums side by side in boxes, their labels over them."""
    return f"{lines}{_heads(list_sums(made))}"


def _sums_by_rate(made: MadeInvoice, lines: str) -> str:
    """A table of what each rate comes to on the left, the sums on the right."""
    if not made.taxes:
        return _sums_right(made, lines)
    heads = (made.say("rate"), made.say("base"), made.say("taxed"), made.say("gross_column"))
    rows = [
        (f"{rate}%", made.print_number(base), made.print_number(tax), made.print_number(base + tax))
        for rate, base, tax in made.taxes
    ]
    body = "".join(
        f"<tr>{''.join(f'<td class=n>{_write(c)}</td>' for c in row)}</tr>" for row in rows
    )
    top = "".join(f"<th class=n>{_write(head)}</th>" for head in heads)
    by_rate = f'{_write(made.say("summary"))}<table class="grid"><tr>{top}</tr>{body}</table>'
    return f"{lines}{_two(by_rate, _sum_table(list_sums(made), 'sums'))}"


def _ending(made: MadeInvoice) -> str:
    """What stands under the sums: terms in prose, the account, thanks."""
    parts = [made.words["words"]] if made.words["words"] else []
    if made.due_kind == "prose":
        parts.append(made.say("due_prose").format(made.print_day(made.due)))
    if made.due_kind == "terms":
        parts.append(made.say("terms").format((made.due - made.issued).days))
    parts.append(made.say("account"))
    if made.random.random() < 0.4:
        parts.append(f"{made.say('holder')} {made.seller.name}")
    parts.append(made.say("thanks"))
    return "".join(f"<p>{_write(part)}</p>" for part in parts)


Part = Callable[[MadeInvoice, str], str]
HEADS: Final[dict[str, Part]] = {
    "labelled": _labelled,
    "letterhead": _letterhead,
    "window": _window,
    "footed": _footed,
    "unlabelled": _unlabelled,
    "stacked": _stacked,
    "boxed": _boxed,
    "rows": _rows_of_parties,
    "shipped": _shipped,
}
FACTS: Final[dict[str, Callable[[Pairs], str]]] = {
    "rows": _rows,
    "colons": _colons,
    "captions": _captions,
    "heads": _heads,
    "right": _right_rows,
}
FOOTS: Final[dict[str, Part]] = {
    "right": _sums_right,
    "left": _sums_left,
    "inside": _sums_inside,
    "across": _sums_across,
    "by_rate": _sums_by_rate,
}


def draw(made: MadeInvoice, head: str, facts: str, foot: str) -> str:
    """The whole page."""
    about = f'<div class="facts">{FACTS[facts](list_facts(made))}</div>'
    top = HEADS[head](made, about)
    body = FOOTS[foot](made, draw_lines(made))
    return f"<!doctype html><meta charset=utf-8><style>{BASE}</style>{top}{body}{_ending(made)}"
