"""Pictures of pages for people to look at: `make shots` writes them to shots/ with an index."""

from collections import defaultdict
from html import escape
from pathlib import Path
from typing import Final

from playwright.sync_api import Page

from browser.eyes import SCHEMES, WIDTHS

FOLDER: Final = Path(__file__).parents[2] / "shots"
STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; background: #e9ebef; color: #181d27; }
section { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
figure { margin: 0; } figcaption { font-size: .8rem; }
img { display: block; max-height: 40rem; box-shadow: 0 2px 10px #0003; }
"""


def take(page: Page, name: str) -> None:
    """The page as it is, in light and dark, wide and narrow."""
    FOLDER.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 860})
            path = FOLDER / f"{name}--{scheme}-{width}.png"
            page.screenshot(path=path, full_page=True, animations="disabled")
    page.set_viewport_size({"width": 1280, "height": 860})


def write_index() -> None:
    """Of all pictures that are there, whoever took them."""
    shots: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(FOLDER.glob("*--*.png")):
        shots[path.stem.partition("--")[0]].append(path)
    parts = [
        f"<h2>{escape(name)}</h2><section>{_row(paths)}</section>" for name, paths in shots.items()
    ]
    page = f"<!doctype html><meta charset=utf-8><title>docmill</title><style>{STYLE}</style>"
    (FOLDER / "index.html").write_text(page + "".join(parts), "utf-8")


def _row(paths: list[Path]) -> str:
    return "".join(
        f'<figure><a href="{path.name}"><img src="{path.name}" alt="{escape(path.stem)}"></a>'
        f"<figcaption>{escape(path.stem.partition('--')[2])}</figcaption></figure>"
        for path in paths
    )
