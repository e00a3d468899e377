"""The feet of `eval.multilingual`'s pages: words, bank, thanks, signature and small print."""

from typing import Any

from eval.canvas import A4
from eval.multilingual_page import Look, stack
from eval.multilingual_sales import WORDS, Firm


def foot(look: Look, y: float) -> None:
    """Words, bank, thanks, signature, and the small print at the very bottom."""
    sale, rng, firm = look.sale, look.rng, look.sale.seller
    if y > 660:
        look.canvas.turn()
        y = 60.0
    said: list[str] = []
    if sale.due and not look.due_shown and look.chance(0.7):
        said.append(look.say("due_said").format(look.dates(sale.due)))
        look.due_shown = True
    said += [rng.choice(WORDS[sale.lang]["thanks"])] if look.chance(0.5) else []
    if look.seller_at == "bank" or look.chance(0.5):
        account = str(rng.randrange(10**9, 10**10))
        said += [
            look.say("bank"),
            rng.choice(["Bank Mandiri", "Commerzbank", "HSBC", "Crédit Agricole"]),
        ]
        said += [rng.choice(["IBAN DE02 1203 0000 {}", "A/C {}", "No. Rek. {}"]).format(account)]
        said += [look.say("holder").format(firm.name)]
    y = stack(look, look.left, y + 2 * look.step, said)
    if look.chance(0.3):
        stack(look, 400, y, [look.say("sign"), "", "", firm.person])
    if look.seller_at in {"foot", "bank"} or look.chance(0.25):
        small(look, firm)


def small(look: Look, firm: Firm) -> None:
    """The small print: one line, or three columns."""
    if look.chance(0.5):
        mark = look.rng.choice([" | ", " · ", ", ", " - "])
        line = mark.join(
            [firm.name, firm.street, firm.town, look.say("tax_id").format(firm.tax_id)]
        )
        look.canvas.text(A4[0] / 2, 815, line, to="centre", size=6.5)
        return
    columns: list[Any] = [
        [firm.name, firm.street, firm.town],
        [look.say("phone").format(firm.phone), "info@example.com", "www.example.com"],
        [look.say("tax_id").format(firm.tax_id), "Bank Central Asia", "BIC CENAIDJA"],
    ]
    for at, lines in enumerate(columns):
        for row, line in enumerate(lines):
            look.canvas.text(look.left + at * 180, 795 + 8 * row, line, size=6)
