"""The reference pages say what the code says."""

import pytest

from scripts import reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_page_equals_the_code(name: str) -> None:
    kept = (reference.FOLDER / name).read_text("utf-8")
    assert kept == reference.PAGES[name](), "stale: run `make reference`"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in reference.FOLDER.iterdir()} == {*reference.PAGES}
