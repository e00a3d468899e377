"""Invoices as the billing programs of many countries print them, each page written by hand.

python -m eval.billers FOLDER [--copies 3] [--seed 1] [--round 2]

A page is `eval/billers/NAME.html`: what it is about (TOML between two lines of dashes), then HTML
with `{{value}}` and `[[lines]] .. [[/lines]]`, where `[[lines 2]]` has the second of its `groups`
only. Firms and goods of a country are in `pools.toml`.
`is_held` says which pages were never looked at while the reader was made. A `round` is the pages
that were written and scored together: 2 and 3 are those of decision 68, of which 3 is all
open, 4 those of decision 74, 5 and 6 those of decision 78, of which 6 is all
open, 7, 10, 13, 16 and 17 those of decision 84, 8, 11 and 14 those of decision 85, 9
and 12 those of decision 86, 18 and 19 those of decision 92, 20 and 21 those of
decision 93, 22 and 23 those of decision 94.
"""

import argparse
import hashlib
import html
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from playwright.sync_api import sync_playwright

PAGES: Final = Path(__file__).with_suffix("")
STYLE: Final = """
@page{size:A4;margin:12mm} body{margin:0;font:8.5pt/1.3 'DejaVu Sans Condensed'}
table{border-collapse:collapse;width:100%} td,th{padding:1.5pt 3pt;text-align:left}
td,th{vertical-align:top}
.n,.n td,.n th{text-align:right;white-space:nowrap} .auto{width:auto;margin-left:auto}
.g td,.g th{border:1px solid #333} .b{border:1px solid #333;padding:3pt} b.h{font-size:15pt}
.c{font-size:5.5pt;display:block} .s{font-size:6.5pt} .r{text-align:right} .f{display:flex;gap:14pt}
.f>*{flex:1} .m{text-align:center} hr{border:0;border-top:1px solid #000} p{margin:6pt 0}
.foot{position:fixed;bottom:0;left:0;right:0;font-size:6.5pt}
"""
LOOP: Final = re.compile(r"\[\[lines(?: (\d))?\]\](.*?)\[\[/lines\]\]", re.DOTALL)
SLOT: Final = re.compile(r"\{\{([a-z_0-9]+)\}\}")
FIELDS: Final = ("net", "tax", "gross")
ALL_OPEN: Final = frozenset({3, 6})  # the rounds whose pages were all looked at

Values = dict[str, str]


class MadeBill:
    """One invoice of a page: its firms, days, lines and sums."""

    def __init__(self, about: Mapping[str, Any], pool: Mapping[str, Any], random: Random) -> None:
        self.about, self.pool, self.random = about, pool, random
        self.issued = date(2025, 1, 7) + timedelta(random.randrange(460))
        self.days = random.choice(about.get("days", (8, 14, 15, 30)))
        self.number = random.choice(about["numbers"]).format(
            n=random.randint(17, 9870),
            y=self.issued.year,
            m=self.issued.month,
            s=self.issued.year % 100,
        )
        self.seller = random.choice(pool["sellers"])
        self.buyer = random.choice(pool["buyers"])
        self.unit = Decimal(1).scaleb(-about.get("places", 2))
        self.lines = [self._make_line(text, at) for at, text in enumerate(self._pick_goods())]
        self.sums = self._add_up()

    def _pick_goods(self) -> list[str]:
        least, most = self.about.get("count", (1, 4))
        things = self.about.get("things") or self.pool["things"]
        picked = self.random.sample(things, min(self.random.randint(least, most), len(things)))
        return sorted(picked, key=things.index) if self.about.get("ordered") else picked

    def _make_line(self, text: str, at: int) -> dict[str, Any]:
        choices = self.about.get("quantities", ("1", "2", "3", "6", "10"))
        if isinstance(choices[0], list):  # of each place among the lines its own
            choices = choices[at % len(choices)]
        quantity = Decimal(self.random.choice(choices))
        scale = self.pool.get("scale", 1)
        price = (Decimal(self.random.randint(450, 64_000)) / 100 * scale).quantize(self.unit)
        if tariff := self.about.get("tariff"):
            price = Decimal(tariff[at % len(tariff)])
        share = (100 - Decimal(str(self.about.get("line_off", 0)))) / 100
        whole = quantity * price * share / self.about.get("per", 1)
        rates = self.about.get("rates") or [self.about.get("rate", 0)]
        return {
            "text": text,
            "quantity": quantity,
            "price": price,
            "amount": self.round(whole),
            "rate": Decimal(str(rates[at % len(rates)])),
            "reading": Random(f"{text}{at}").randint(1_200, 68_000),
        }

    def round(self, value: Decimal) -> Decimal:
        return value.quantize(self.unit, ROUND_HALF_UP)

    def _add_up(self) -> dict[str, Decimal]:
        """The sums in the order of the page: a fixed one, a share of another, or others added."""
        whole = sum((line["amount"] for line in self.lines), Decimal(0))
        rate = Decimal(str(self.about.get("rate", 0)))
        if self.about.get("prices") == "gross":
            net = self.round(whole * 100 / (100 + rate))
            sums = {"net": net, "tax": whole - net, "gross": whole}
        else:
            tax = self.round(whole * rate / 100)
            sums = {"net": whole, "tax": tax, "gross": whole + tax}
        if rates := self.about.get("rates"):
            sums |= self._add_by_rate(rates)
        for at in range(1, len(self.about.get("groups", ())) + 1):
            sums[f"group_{at}"] = sum((line["amount"] for line in self._list_group(at)), Decimal(0))
        for name, *terms in self.about.get("sums", ()):
            if len(terms) == 1 and not isinstance(terms[0], str):
                sums[name] = self.round(Decimal(str(terms[0])))
            elif isinstance(terms[-1], str):
                signed = ((-1 if term[0] == "-" else 1, term.lstrip("-")) for term in terms)
                sums[name] = sum((sign * sums[term] for sign, term in signed), Decimal(0))
            else:
                sums[name] = self.round(sums[terms[0]] * Decimal(str(terms[1])) / 100)
        return sums

    def _list_group(self, at: int) -> list[dict[str, Any]]:
        """The lines of one of the tables that `groups` gives the lengths of."""
        return self.lines[slice_group(self.about["groups"], at)]

    def _add_by_rate(self, rates: Sequence[float]) -> dict[str, Decimal]:
        """Net, tax and gross of each rate, numbered from 1, and of all of them."""
        found: dict[str, Decimal] = dict.fromkeys(FIELDS, Decimal(0))
        for at, rate in enumerate(map(Decimal, map(str, rates)), 1):
            net = sum((line["amount"] for line in self.lines if line["rate"] == rate), Decimal(0))
            tax = self.round(net * rate / 100)
            for name, value in zip(FIELDS, (net, tax, net + tax), strict=True):
                found[f"{name}_{at}"] = value
                found[name] += value
        return found

    def print_number(self, value: Decimal, places: int | None = None) -> str:
        group, mark = self.about["marks"]
        text = f"{value:,.{self.about.get('places', 2) if places is None else places}f}"
        return text.replace(",", "~").replace(".", mark).replace("~", group)

    def print_day(self, day: date, name: str = "date") -> str:
        """A day as the page writes it, or as its sentences do (`date_long`)."""
        form = self.about.get(name, "{d:02}.{m:02}.{y}")
        month = self.pool.get("months", [""] * 12)[day.month - 1]
        return form.format(d=day.day, m=day.month, y=day.year, s=day.year % 100, w=month)

    @property
    def due(self) -> date:
        return self.issued + timedelta(self.days)

    def list_values(self) -> Values:
        """What a page may show, by the name of its slot."""
        pool, random = self.pool, self.random
        streets, towns = random.sample(pool["streets"], 2), random.sample(pool["towns"], 2)
        bare = re.sub(r"[^a-z]", "", self.seller.lower().split(",")[0])[:14]
        stem = self.seller.split()[0]
        third = next(buyer for buyer in pool["buyers"] if buyer != self.buyer)
        street, town = (
            next(place for place in pool[kind] if place not in taken)
            for kind, taken in (("streets", streets), ("towns", towns))
        )
        end = self.issued.replace(day=1) - timedelta(1)
        start = end.replace(day=1)
        values = {
            "number": self.number, "issued": self.print_day(self.issued),
            "due": self.print_day(self.due),
            "before": self.print_day(self.issued - timedelta(9)), "days": str(self.days),
            "from": self.print_day(start), "until": self.print_day(end),
            "due_long": self.print_day(self.due, "date_long"),
            "seller": self.seller, "buyer": self.buyer, "stem": stem, "host": bare,
            "s1": streets[0], "s2": towns[0], "b1": streets[1], "b2": towns[1],
            "other": third, "d1": street, "d2": town,
            "svat": pool["vat"][0], "bvat": pool["vat"][1], "phone": pool["phone"],
            "person": random.choice(pool["people"]), "bank": pool["bank"],
            "account": pool["account"],
            "ref": str(random.randint(10_000, 99_999)), "rate": str(self.about.get("rate", 0)),
        }  # fmt: skip
        return values | {name: self.print_number(value) for name, value in self.sums.items()}

    def list_lines(self) -> list[Values]:
        found: list[Values] = []
        for at, line in enumerate(self.lines, 1):
            tax = self.round(line["amount"] * line["rate"] / 100)
            places = 0 if line["quantity"] == int(line["quantity"]) else 2
            places = max(places, self.about.get("quantity_places", 0))
            full = self.round(line["quantity"] * line["price"] / self.about.get("per", 1))
            found.append(
                {
                    "pos": str(at),
                    "code": str(3010 + 17 * at),
                    "text": line["text"],
                    "qty": self.print_number(line["quantity"], places),
                    "price": self.print_number(line["price"], self.about.get("price_places")),
                    "full": self.print_number(full),
                    "old": str(line["reading"]),
                    "new": str(line["reading"] + int(line["quantity"])),
                    "amount": self.print_number(line["amount"]),
                    "lrate": str(line["rate"]),
                    "mark": "ABC"[(at - 1) % len(self.about.get("rates", "A"))],
                    "ltax": self.print_number(tax),
                    "lgross": self.print_number(line["amount"] + tax),
                    "day": self.print_day(self.issued - timedelta(5 - at)),
                }
            )
        return found

    def make_truth(self) -> dict[str, Any]:
        """What the page shows of the fields that are judged."""
        unseen, names = set(self.about.get("unseen", ())), self.about.get("truth", {})
        truth: dict[str, Any] = {
            "invoice_number": self.number,
            "issue_date": self.issued.isoformat(),
            "due_date": self.due.isoformat(),
            "currency": self.about["currency"],
            "seller_name": self.seller,
            "buyer_name": self.buyer,
            **{name: str(self.sums[names.get(name, name)]) for name in FIELDS},
        }
        lines = [
            {
                "description": line["text"],
                "quantity": None if "quantity" in unseen else str(line["quantity"]),
                "unit_price": None if "unit_price" in unseen else str(line["price"]),
                "amount": str(line["amount"]),
            }
            for line in self.lines
        ]
        return {name: None if name in unseen else value for name, value in truth.items()} | {
            "lines": None if "lines" in unseen else lines
        }

    def list_others(self) -> dict[str, list[str]]:
        """Further values that are right too, by field."""
        others = self.about.get("other", {}).items()
        return self.about.get("alts", {}) | {
            field: [str(self.sums[name])] for field, name in others
        }


def pick_pool(pools: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """A country's firms and goods; what a pool does not have, its `base` lends."""
    pool = pools[name]
    return {**pick_pool(pools, pool["base"]), **pool} if "base" in pool else dict(pool)


def slice_group(sizes: Sequence[int], at: int) -> slice:
    """Which lines stand in a table, the first being number 1."""
    return slice(sum(sizes[: at - 1]), sum(sizes[:at]))


def fill_page(page: str, made: MadeBill) -> str:
    """The page with the values of one invoice."""
    values = made.list_values()
    rows = made.list_lines()

    def fill(text: str, known: Values) -> str:
        return SLOT.sub(lambda slot: html.escape(known[slot[1]]), text)

    def repeat(loop: re.Match[str]) -> str:
        part = slice_group(made.about["groups"], int(loop[1])) if loop[1] else slice(None)
        return "".join(fill(loop[2], values | row) for row in rows[part])

    body = LOOP.sub(repeat, page)
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{fill(body, values)}"


@cache
def load_pages() -> dict[str, tuple[dict[str, Any], str]]:
    """By name: what each page is about, and its HTML."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for path in sorted(PAGES.glob("*.html")):
        _, about, page = path.read_text("utf-8").split("---\n", 2)
        found[path.stem] = tomllib.loads(about), page
    return found


def is_held(name: str) -> bool:
    """Whether a page is only for scoring."""
    if load_pages()[name][0].get("round") in ALL_OPEN:
        return False
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def make(folder: Path, copies: int, seed: int, only: int = 0) -> None:
    """Invoices and `truth.json` in a folder, so many of each page; `only` those of one round."""
    folder.mkdir(parents=True, exist_ok=True)
    pools = tomllib.loads((PAGES / "pools.toml").read_text("utf-8"))
    records: list[dict[str, Any]] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"))
        view = browser.new_page()
        for name, (about, page) in load_pages().items():
            if only not in {0, about.get("round", 1)}:
                continue
            for copy in range(copies):
                made = MadeBill(
                    about, pick_pool(pools, about["pool"]), Random(f"{seed}-{name}-{copy}")
                )
                view.set_content(fill_page(page, made))
                data, file = view.pdf(prefer_css_page_size=True), f"{name}-{copy}.pdf"
                (folder / file).write_bytes(data)
                digest = hashlib.sha256(data).hexdigest()
                record = {"file": file, "sha256": digest, "group": name, "truth": made.make_truth()}
                records.append({**record, "lang": name[:2], "alts": made.list_others()})
        browser.close()
    (folder / "truth.json").write_text(json.dumps(records, ensure_ascii=False, indent=1))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, default=0)
    asked = parser.parse_args(arguments)
    make(asked.folder, asked.copies, asked.seed, asked.round)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
