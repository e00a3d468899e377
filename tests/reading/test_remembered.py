import io
import json
from pathlib import Path
from typing import Any

import pytest

from docmill.core import plugins
from docmill.core.plugins import NO_MEMORY, PDF, Memory, Tools
from docmill.reading import pdfium
from docmill.reading.documents import open_document
from docmill.reading.page_json import PageRecord, pack_page, unpack_page
from docmill.reading.pages import Box, Page, Word, make_line
from pdfs import make_pdf

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
BOOK = make_pdf([[(72, 72, f"page {number}"), (72, 90, "says no more")] for number in range(12)])


def again(turned: PageRecord) -> PageRecord:
    return unpack_page(json.loads(json.dumps(pack_page(turned))))


def pages_of(data: bytes, memory: Memory = NO_MEMORY) -> tuple[list[Page], list[str]]:
    tools = Tools(lambda percent, stage: None, memory=memory)
    with open_document(io.BytesIO(data), PDF, tools) as document:
        return [*document.pages], document.warnings


def test_nothing_is_lost_on_the_way_to_json_and_back() -> None:
    words = [
        Word("café", Box(0.1, 1 / 3, 2e-9, 70.000001)),
        Word("\u0000\ud800", Box(1, 2, 3, 4), 270, 0.25, True),
    ]
    page = Page(
        3, 595.28, 841.89, (make_line(words[:1]), make_line(words[1:])),
        scanned=True, confidence=0.7, rules=(Box(1, 2, 1, 9),), marks=(Box(4, 5, 7, 8),),
    )  # fmt: skip
    assert again(PageRecord(page, ["hard to read"], 5)) == PageRecord(page, ["hard to read"], 5)
    assert again(PageRecord(None, ["page 1 can't be read"], 0)).page is None


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real documents is not here")
def test_real_pages_come_back_as_they_were() -> None:
    for path in sorted(CORPUS.rglob("*.pdf"))[::60]:
        try:
            pages, warnings = pages_of(path.read_bytes())
        except Exception:  # noqa: BLE001  not every one can be read
            continue
        for page in pages:
            assert again(PageRecord(page, warnings, 1)) == PageRecord(page, warnings, 1), path


def test_pages_an_earlier_try_has_read_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[tuple[str, int], Any] = {}
    loaded: list[int] = []
    monkeypatch.setattr(plugins, "STEP_CHARS", 1000)

    def keep(kind: str, number: int, items: list[Any]) -> None:
        if len(kept) == 2:
            raise MemoryError("here the first try ends")
        kept[kind, number] = json.loads(json.dumps(items))

    def load(pdf: pdfium.Pdf, index: int) -> Any:
        loaded.append(index)
        return real(pdf, index)

    real = pdfium.load_page
    monkeypatch.setattr(pdfium, "load_page", load)
    with pytest.raises(MemoryError):
        pages_of(BOOK, Memory(keep, lambda kind, number: None))
    read = sum(map(len, kept.values()))
    assert 0 < read < 12
    loaded.clear()
    found = pages_of(BOOK, Memory(NO_MEMORY.keep, lambda kind, number: kept.get((kind, number))))
    assert loaded == [*range(read, 12)]
    assert found == pages_of(BOOK)


def test_pages_that_a_service_has_read_are_read_again_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plugins, "STEP_CHARS", 1)
    pages, _ = pages_of(BOOK)
    strange = [pack_page(PageRecord(page, [], 0, "azure prebuilt-layout")) for page in pages[:3]]
    kept: dict[tuple[str, int], Any] = {("pages", 0): strange}
    found: list[int] = []

    def keep(_kind: str, number: int, _items: list[Any]) -> None:
        found.append(number)

    memory = Memory(keep, lambda kind, number: kept.get((kind, number)))
    assert pages_of(BOOK, memory)[0] == pages
    assert found == [*range(12)]
