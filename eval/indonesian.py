"""Made-up Indonesian and English invoices as PDFs, with truth in the scorer's format.

python -m eval.indonesian FOLDER [--count 200] [--seed 1]

It knows how such invoices look, and nothing of how they are read.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from eval.indonesian_page import draw
from eval.indonesian_style import Style, style


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
