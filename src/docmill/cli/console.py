"""What commands print: rows for people or JSON for programs, and troubles in two lines."""

import json
import sys
from typing import Any

from rich.console import Console

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    out.print(text, markup=False)


def say_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")


def complain(what: str, advice: str = "") -> None:
    err.print(what, markup=False, style="bold red")
    if advice:
        err.print(advice, markup=False)
