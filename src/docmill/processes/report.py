"""The report of `docmill eval` as one HTML file: figures, diagram, and wrong values on pages."""

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pypdfium2

from docmill.core.reliability import draw_reliability
from docmill.core.scoring import Step
from docmill.reading.pictures import encode_png

SCALE: Final = 1.5  # pixels a point
ABOVE: Final = 45.0  # points around a value that are shown with it
MOST: Final = 300  # wrong values with a picture

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c1f26;--paper:#fff;--line:#d5d9e0;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ee;--paper:#15171c;--line:#3a3f4b;--bad:#ff8a80}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid var(--line);padding:.3rem .6rem;
text-align:left}td.n{text-align:right}
figure{margin:1rem 0;border:1px solid var(--line);padding:.6rem}
figure img{max-width:100%;display:block}b.bad{color:var(--bad)}
"""


def write_report(folder: Path, found: Mapping[str, Any]) -> bytes:
    """Everything in it: no script, and nothing fetched from anywhere."""
    title = html.escape(f"{found['folder']}: {found['documents']} documents")
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        f"<meta name='viewport' content='width=device-width'><title>{title}</title>",
        f"<style>{_STYLE}</style><h1>{title}</h1>",
        _tell_figures(found),
        "<h2>How far confidence can be believed</h2>",
        draw_reliability([Step(**each) for each in found["reliability"]]),
        _list_fields(found["fields"]),
        _list_suppliers(found["suppliers"]),
        "<h2>Wrong values</h2>",
        *_show_wrong(folder, [each for each in found["values"] if not each["right"]]),
    ]
    return "\n".join(parts).encode()


def _tell_figures(found: Mapping[str, Any]) -> str:
    return (
        f"<p>Score {found['score']:.4f} (mean of suppliers). Touchless "
        f"{100 * found['touchless']:.1f} %, wrong among those "
        f"{100 * found['touchless_wrong']:.2f} %. Failed: {found['failed']}. "
        f"{found['seconds_each']:.3f} s each.</p>"
    )


def _list_fields(fields: Mapping[str, Mapping[str, float]]) -> str:
    head = "<tr><th>Field<th>Values<th>Right<th>Sure (0.9)<th>Of those right"
    rows = "".join(
        f"<tr><th>{html.escape(name)}<td class=n>{each['values']:g}"
        f"<td class=n>{100 * each['right']:.1f} %<td class=n>{each['sure']:g}"
        f"<td class=n>{100 * each['sure_right']:.1f} %"
        for name, each in fields.items()
    )
    return f"<h2>By field</h2><table>{head}{rows}</table>"


def _list_suppliers(suppliers: Mapping[str, float]) -> str:
    worst = sorted(suppliers.items(), key=lambda pair: pair[1])
    rows = "".join(
        f"<tr><th>{html.escape(name)}<td class=n>{100 * share:.1f} %" for name, share in worst
    )
    return f"<h2>By supplier</h2><table><tr><th>Supplier<th>Right{rows}</table>"


def _show_wrong(folder: Path, wrong: Sequence[Mapping[str, Any]]) -> list[str]:
    found: list[str] = []
    for each in wrong[:MOST]:
        wanted = "nothing" if each["wanted"] is None else str(each["wanted"])
        value = "nothing" if each["value"] is None else str(each["value"])
        found.append(
            f"<figure><figcaption>{html.escape(each['document'])}, {html.escape(each['path'])}: "
            f"read <b class=bad>{html.escape(value)}</b>, true is <b>{html.escape(wanted)}</b>, "
            f"confidence {each['confidence']:.2f}</figcaption>{_draw_place(folder, each)}</figure>"
        )
    left = len(wrong) - MOST
    return [*found, f"<p>{left} more are left out.</p>"] if left > 0 else found


def _draw_place(folder: Path, each: Mapping[str, Any]) -> str:
    """The strip of the page with the value, framed."""
    if not each["page"] or not each["box"]:
        return "<p>It was not found on a page.</p>"
    pdf: Any = pypdfium2.PdfDocument(str(folder / each["document"]))
    try:
        picture = pdf[each["page"] - 1].render(scale=SCALE, rev_byteorder=True)
        pixels = np.array(picture.to_numpy()[:, :, :3], dtype=np.uint8)
    except (pypdfium2.PdfiumError, IndexError):
        return "<p>The page can't be drawn.</p>"
    finally:
        pdf.close()
    encoded = base64.b64encode(encode_png(_cut_strip(pixels, each["box"]))).decode()
    return f"<img alt='' src='data:image/png;base64,{encoded}'>"


def _cut_strip(pixels: np.ndarray, box: Sequence[float]) -> np.ndarray:
    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = (round(side * SCALE) for side in box)
    x0, x1 = max(x0 - 3, 0), min(x1 + 3, width - 1)
    y0, y1 = max(y0 - 3, 0), min(y1 + 3, height - 1)
    for row in (y0, y1):
        pixels[max(row - 1, 0) : row + 1, x0:x1] = (200, 30, 30)
    for column in (x0, x1):
        pixels[y0:y1, max(column - 1, 0) : column + 1] = (200, 30, 30)
    around = round(ABOVE * SCALE)
    return pixels[max(y0 - around, 0) : y1 + around]
