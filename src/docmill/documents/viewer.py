"""One page of a PDF for a person to look at: its picture, its size, and its words with places.

No pipeline for uploads, and so under no entry point; the web asks for it by its address.
"""

from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Artifact, Output, Source, Tools
from docmill.reading import pdf, pdfium, pictures
from docmill.reading.pages import Word
from docmill.reading.pictures import encode_png


@dataclass(frozen=True, slots=True)
class Viewer:
    """Give `options["page"]`, counted from 1; with `options["wide"]` a small picture alone."""

    name: str = "viewer"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, tools: Tools) -> Output:
        number = int(source.options["page"])
        with pdf.open_checked(source.file) as opened:
            if not 1 <= number <= opened.page_count:
                raise DocmillError("NOT_FOUND", f"page {number} of {opened.page_count}")
            with pdfium.load_page(opened, number - 1) as page:
                if not page:
                    raise DocmillError("BAD_PDF", f"page {number} does not load")
                if wide := int(source.options.get("wide") or 0):
                    return _draw_thumbnail(page, number, wide)
                return _describe_page(page, number, opened.page_count)


def _draw_thumbnail(page: int, number: int, wide: int) -> Output:
    shape, _, _ = pdf.read_text_layer(page, number)
    picture = encode_png(pictures.render_colour(page, shape.size, wide))
    return Output({"page": number}, Artifact(picture, "image/png"))


def _describe_page(page: int, number: int, count: int) -> Output:
    shape, words, _ = pdf.read_text_layer(page, number)
    width, height = (round(side, 2) for side in shape.size)
    data: dict[str, Any] = {
        "page": number,
        "page_count": count,
        "width": width,
        "height": height,
        "words": [_describe_word(word) for word in words],
    }
    return Output(data, Artifact(encode_png(pictures.render_colour(page, shape.size)), "image/png"))


def _describe_word(word: Word) -> list[Any]:
    return [word.text, *word.box.to_list()]


pipeline: Final = Viewer()
