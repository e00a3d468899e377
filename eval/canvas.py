"""A tiny PDF writer for made-up documents: words set left, right or centred, in three fonts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from eval.pdf import A4, pdf_of

HELVETICA = """
    278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556
    556 556 556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667
    556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556
    556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722
    500 500 500 334 260 334 584
"""
TIMES = """
    250 333 408 500 500 833 778 180 333 333 500 564 250 333 250 278 500 500 500 500 500 500
    500 500 500 500 278 278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722
    611 889 722 722 556 722 667 556 611 722 722 944 722 722 611 333 278 333 469 500 333 444
    500 444 500 444 333 500 500 278 278 500 278 778 500 500 500 500 333 389 278 500 500 722
    500 500 444 480 200 480 541
"""
FONTS = {
    "Helvetica": [int(width) for width in HELVETICA.split()],
    "Times-Roman": [int(width) for width in TIMES.split()],
    "Courier": [600] * 95,
}


def width(text: str, font: str, size: float) -> float:
    """How wide a text is set."""
    widths = FONTS[font]
    return sum(widths[ord(c) - 32] if 32 <= ord(c) < 127 else 556 for c in text) * size / 1000


@dataclass
class Canvas:
    """Pages under construction; y runs down from the top."""

    font: str = "Helvetica"
    size: float = 9.0
    pages: list[list[bytes]] = field(default_factory=lambda: [[]])

    def text(self, x: float, y: float, text: str, *, to: str = "left", size: float = 0) -> None:
        points = size or self.size
        wide = width(text, self.font, points)
        left = x - wide if to == "right" else x - wide / 2 if to == "centre" else x
        string = text.encode("cp1252", "replace")
        for special in (b"\\", b"(", b")"):
            string = string.replace(special, b"\\" + special)
        font = 1 + list(FONTS).index(self.font)
        place = b"1 0 0 1 %.2f %.2f Tm" % (left, A4[1] - y)
        self.pages[-1].append(b"/F%d %g Tf %s (%s) Tj" % (font, points, place, string))

    def turn(self) -> None:
        self.pages.append([])

    def wrapped(self, text: str, wide: float, *, inside: bool = False) -> list[str]:
        """A text in lines of this width; `inside` breaks words wherever the line ends."""
        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            if width(longer, self.font, self.size) <= wide:
                lines[-1] = longer
            elif inside and lines[-1]:
                lines += self._broken(lines.pop(), word, wide)
            else:
                lines.append(word)
        return [line for line in lines if line]

    def _broken(self, line: str, word: str, wide: float) -> Sequence[str]:
        kept = len(word)
        while kept and width(f"{line} {word[:kept]}", self.font, self.size) > wide:
            kept -= 1
        return [f"{line} {word[:kept]}".strip(), word[kept:]] if kept > 1 else [line, word]

    def pdf(self) -> bytes:
        return pdf_of([b"BT\n" + b"\n".join(parts) + b"\nET" for parts in self.pages])
