"""Invoices as suppliers of fourteen languages print them, from HTML by Chromium, with truth.

python -m eval.suppliers FOLDER [--count 336] [--seed 1]

What varies is where a head, its facts, the table and the sums stand, and which words name them. A
family is a head and a foot: `is_held` says which are held out from tuning.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from playwright.sync_api import sync_playwright

from eval.supplier_pages import FACTS, FOOTS, HEADS, draw
from eval.supplier_sales import MadeInvoice, make_invoice

WORDS: Final = Path(__file__).with_suffix(".toml")


def make_truth(made: MadeInvoice, shown: str) -> dict[str, Any]:
    """What the page shows; `shown` is its HTML."""
    signs = {"GBP": "£", "EUR": "€", "PLN": "zł", "CZK": "Kč", "HUF": "Ft", "IDR": "Rp"}
    currency = made.words["currency"]
    told = currency in shown or signs.get(currency, "kr") in shown
    extra = made.sums in {"discount", "freight"}
    return {
        "invoice_number": made.number,
        "issue_date": made.issued.isoformat(),
        "due_date": None if made.due_kind == "none" else made.due.isoformat(),
        "currency": currency if told else None,
        "seller_name": made.seller.name,
        "buyer_name": made.buyer.name,
        "net": None if extra or not made.taxes else str(made.goods + made.extra),
        "tax": str(made.tax) if made.taxes else None,
        "gross": str(made.gross),
        "lines": [
            {
                "description": item.text,
                "quantity": str(item.quantity),
                "unit_price": str(item.price),
                "amount": str(item.amount),
            }
            for item in made.items
        ],
    }


def list_families() -> Iterator[tuple[str, str, str]]:
    """Every head with every foot; the ways to print the facts take turns."""
    for one, head in enumerate(HEADS):
        for two, foot in enumerate(FOOTS):
            yield head, list(FACTS)[(one + two) % len(FACTS)], foot


def is_held(group: str) -> bool:
    """Whether a family is only for scoring."""
    return hashlib.sha256(group.split(":")[-1].encode()).digest()[-1] % 2 == 1


def load_words() -> dict[str, dict[str, Any]]:
    """By language: its words, names, and how it prints days and numbers."""
    return tomllib.loads(WORDS.read_text("utf-8"))


def make(folder: Path, count: int, seed: int, *, held: bool = False) -> None:
    """Invoices and `truth.json` in a folder, languages and families one after the other.

    Those that are held out only, where asked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    languages = load_words()
    families = [each for each in list_families() if not held or is_held("-".join(each))]
    records: list[dict[str, Any]] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        for at in range(count):
            language = list(languages)[at % len(languages)]
            family = families[(at * 11 + at // len(families)) % len(families)]
            made = make_invoice(Random(f"{seed}-{at}"), languages[language])
            shown = draw(made, *family)
            page.set_content(shown)
            data, name = page.pdf(prefer_css_page_size=True), f"{at:04}-{language}.pdf"
            (folder / name).write_bytes(data)
            records.append(
                {
                    "file": name,
                    "sha256": hashlib.sha256(data).hexdigest(),
                    "lang": language,
                    "group": f"{language}:{'-'.join(family)}",
                    "truth": make_truth(made, shown),
                }
            )
        browser.close()
    (folder / "truth.json").write_text(json.dumps(records, ensure_ascii=False, indent=1))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=336)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    make(asked.folder, asked.count, asked.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
