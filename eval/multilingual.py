"""Invoices in five languages as strangers might print them, with truth for the scorer.

python -m eval.multilingual FOLDER [--count 200] [--seed 1]

A second generator beside `eval.indonesian`, made without a look at the reader: what it gets wrong
here it would get wrong on a stranger's canvas.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from eval.multilingual_footer import foot
from eval.multilingual_page import Look, head, look, top
from eval.multilingual_sales import sale
from eval.multilingual_table import sums, table


def draw(made: Look) -> bytes:
    y = top(made, head(made))
    foot(made, sums(made, table(made, y + 16) + 8))
    return made.canvas.pdf()


def truth(made: Look, data: bytes, name: str) -> dict[str, Any]:
    deal = made.sale
    signs = {"IDR": "Rp", "EUR": "\u20ac", "USD": "$", "GBP": "\u00a3", "SGD": "S$"}
    shows = any(sign.encode("cp1252") in data for sign in (deal.currency, signs[deal.currency]))
    lines = [
        {
            "description": line.text,
            "quantity": None if line.quantity is None else str(line.quantity),
            "unit_price": None if line.price is None else str(line.price),
            "amount": str(line.amount),
        }
        for line in deal.items
    ]
    shown = {
        "invoice_number": deal.number,
        "issue_date": deal.issued.isoformat(),
        "due_date": deal.due.isoformat() if deal.due and made.due_shown else None,
        "currency": deal.currency if shows else None,
        "seller_name": deal.seller.name if deal.seller.name.encode("cp1252") in data else None,
        "buyer_name": deal.buyer.name,
        "net": str(deal.net),
        "tax": str(deal.tax) if deal.taxes else None,
        "gross": str(deal.gross),
        "lines": lines,
    }
    digest = hashlib.sha256(data).hexdigest()
    return {
        "file": name,
        "sha256": digest,
        "group": f"{deal.lang}-{made.seller_at}",
        "truth": shown,
    }


def make(folder: Path, count: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for at in range(count):
        rng = Random(f"wild:{seed}:{at}")
        made = look(rng, sale(rng))
        data, name = draw(made), f"{at:04}.pdf"
        (folder / name).write_bytes(data)
        records.append(truth(made, data, name))
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
