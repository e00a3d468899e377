"""Made-up invoices drawn: letterhead, parties, number and dates, table, totals, foot."""

from collections.abc import Sequence

from eval.canvas import A4, width
from eval.indonesian_sales import Firm
from eval.indonesian_style import Style
from eval.indonesian_table import sums, table


def draw(style: Style) -> bytes:
    """The whole invoice."""
    y = head(style)
    y = facts(style, y)
    y = table(style, y + 14)
    y = sums(style, y + 6)
    foot(style, y)
    return style.canvas.pdf()


def block(style: Style, x: float, y: float, firm: Firm, *, full: bool = True) -> float:
    step = style.canvas.size * 1.35
    lines = [firm.name, firm.street, firm.town]
    if full:
        lines += [f"Telp. {firm.phone}", f"NPWP: {firm.npwp}"][: style.rng.randrange(1, 3)]
    for line in lines:
        style.canvas.text(x, y, line)
        y += step
    return y


def head(style: Style) -> float:
    """Letterhead and title; in some the seller stands only at the foot."""
    kind = style.rng.choice(["left", "right", "centre", "foot", "logo"])
    place = {"left": (40.0, "left"), "right": (555.0, "right"), "centre": (297.0, "centre")}
    y = 50.0
    if kind in place:
        x, to = place[kind]
        style.canvas.text(
            x, y, style.deal.seller.name, to=to, size=style.canvas.size * style.rng.choice([1, 1.6])
        )
        firm = style.deal.seller
        for line in (
            firm.street + ", " + firm.town,
            f"Telp: {firm.phone}  Email: info@{firm.domain}",
        )[: style.rng.randrange(1, 3)]:
            y += style.canvas.size * 1.5
            style.canvas.text(x, y, line, to=to)
        y += 20
    elif kind == "logo":
        style.canvas.text(40, y, style.deal.seller.name, size=16)
        y += 24
    style.deal.others["foot"] = "1" if kind in {"foot", "logo"} or style.chance(0.3) else ""
    x, to = style.rng.choice([(297.0, "centre"), (40.0, "left"), (555.0, "right")])
    style.canvas.text(x, y + 8, style.say("title"), to=to, size=style.canvas.size * 1.7)
    return y + 34


def labelled(style: Style) -> list[tuple[str, str]]:
    sale, kind = style.deal, style.rng.randrange(5)
    pairs = [(style.say("number"), sale.number), (style.say("date"), style.day(sale.issued, kind))]
    if sale.due:
        pairs.append((style.say("due"), style.day(sale.due, kind)))
    others = [key for key in ("po", "do", "customer") if style.chance(0.4)]
    pairs += [(style.say(key), sale.others[key]) for key in others]
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
    step = style.canvas.size * 1.35
    label = style.chance(0.85) or ship
    if label:
        style.canvas.text(x, y, style.say("buyer"))
    if ship:
        style.canvas.text(x + 190, y, style.say("ship"))
        for at, line in enumerate(
            ["Gudang " + style.deal.buyer.town.split()[0], style.deal.buyer.street]
        ):
            style.canvas.text(x + 190, y + step * (at + 1), line)
    return block(
        style, x, y + (step if label else 0), style.deal.buyer, full=style.chance(0.6) and not ship
    )


def pairs_down(style: Style, x: float, y: float, pairs: Sequence[tuple[str, str]]) -> float:
    colon = style.rng.choice([" : ", ": ", "", "cell"])
    far = max(
        105.0, 12 + max(width(label, style.canvas.font, style.canvas.size) for label, _ in pairs)
    )
    for label, value in pairs:
        if colon == "cell":
            style.canvas.text(x, y, label)
            style.canvas.text(x + far, y, ": " + value)
        elif colon:
            style.canvas.text(x, y, label.rstrip(":") + colon + value)
        else:
            style.canvas.text(x, y, label)
            style.canvas.text(x + far, y, value)
        y += style.canvas.size * 1.4
    return y


def pairs_across(style: Style, y: float, pairs: Sequence[tuple[str, str]]) -> float:
    """Labels in one row, each with its value below."""
    step = 515 / max(len(pairs), 4)
    for at, (label, value) in enumerate(pairs):
        for row, line in enumerate(style.canvas.wrapped(label, step - 8)):
            style.canvas.text(40 + at * step, y + row * 10, line)
        for row, line in enumerate(style.canvas.wrapped(value, step + 20)):
            style.canvas.text(40 + at * step, y + 24 + row * 10, line)
    return y + 40


def foot(style: Style, y: float) -> None:
    """Words for the sum, the bank, the signature: numbers and names that are not what is sought."""
    sale, step = style.deal, style.canvas.size * 1.4
    if y > 700:
        style.canvas.turn()
        y = 60.0
    if style.chance(0.5):
        y += step
        style.canvas.text(
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
        style.canvas.text(40, y, line)
        y += step
    if style.chance(0.4):
        style.canvas.text(
            430, y + step, f"{sale.seller.town.split()[0]}, {style.day(sale.issued, 0)}"
        )
        style.canvas.text(
            430, y + 5 * step, style.rng.choice(["Budi Santoso", "Siti Rahayu", "Hormat kami,"])
        )
    if sale.others["foot"]:
        firm = sale.seller
        line = f"{firm.name} - {firm.street} - {firm.town} - NPWP {firm.npwp}"
        style.canvas.text(A4[0] / 2, 812, line, to="centre", size=7)
