"""Tesseract says something inside a confined child: it goes on reading."""

import io
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from docmill.core.plugins import PDF
from docmill.reading import ocr
from docmill.reading.documents import open_document
from docmill.reading.pdf import NO_TOOLS
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunOutcome, RunReturned, Task
from docmill.sandbox.pool import SandboxPool
from sandbox.pools import silent
from scans import Gray, picture_pdf

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not ocr.is_installed(), reason="OCR is not installed"),
]

PIPELINES: Final = ("extract", "invoice", "trades", "study")
CORPUS: Final = Path(__file__).parents[3] / "shared" / "corpus" / "invoices_more"
TURNED: Final = CORPUS / "eec7c92d8e3c.pdf"


def rows_of_marks() -> Gray:
    """Rows of bars of every size, of which Tesseract says `Detected 12 diacritics`, four times."""
    pixels = np.full((600, 600), 255, np.uint8)
    draw = np.random.default_rng(4)
    for _ in range(8):
        top, left, most = (int(draw.integers(*span)) for span in ((50, 500), (50, 150), (2, 50)))
        while left < 500:
            height, width = int(draw.integers(1, most + 1)), int(draw.integers(1, 30))
            pixels[top : top + height, left : left + width] = 0
            left += int(draw.integers(5, 60))
    return pixels


@pytest.fixture(scope="module")
async def real() -> AsyncIterator[SandboxPool]:
    async with SandboxPool(RunLimits(), pipelines=PIPELINES) as opened:
        if "seccomp" not in (await opened.warm()).in_force:
            pytest.skip("this machine confines no child")
        yield opened


async def run(sandbox: SandboxPool, pipeline: str, path: Path) -> RunOutcome:
    fd = os.open(path, os.O_RDONLY)
    try:
        return await sandbox.run(Task(pipeline, "scan.pdf", PDF), fd, silent)
    finally:
        os.close(fd)


def test_the_picture_makes_tesseract_speak(capfd: pytest.CaptureFixture[str]) -> None:
    ocr.read_picture(rows_of_marks(), (216, 216))
    assert "diacritics" in capfd.readouterr().err
    source = io.BytesIO(picture_pdf([rows_of_marks()]))  # as the children are given it
    with open_document(source, PDF, NO_TOOLS) as document:
        assert len(list(document.pages)) == 1
    assert "diacritics" in capfd.readouterr().err


async def test_a_diagnostic_inside_a_child_ends_no_run(real: SandboxPool, tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(picture_pdf([rows_of_marks()]))
    for pipeline in PIPELINES:
        ran = await run(real, pipeline, path)
        code = "" if isinstance(ran, RunReturned) else ran.code
        assert code in {"", "NO_INVOICE"}, (pipeline, ran)


@pytest.mark.skipif(not TURNED.exists(), reason="the corpus is not beside this checkout")
@pytest.mark.parametrize("pipeline", ["extract", "invoice"])
async def test_an_upside_down_scan_crashes_no_child(real: SandboxPool, pipeline: str) -> None:
    assert isinstance(await run(real, pipeline, TURNED), RunReturned)
