"""Lists of names in the environment: with commas, or as JSON."""

import pytest

from docmill.settings import ConfigError, read_settings


@pytest.mark.parametrize(
    "given", ["extract,invoice", " extract , invoice,", '["extract", "invoice"]']
)
def test_a_list_is_written_with_commas_or_as_json(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMILL_PIPELINES", given)
    assert read_settings().pipelines == ("extract", "invoice")


def test_json_that_is_cut_short_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_PIPELINES", '["extract"')
    with pytest.raises(ConfigError, match="DOCMILL_PIPELINES"):
        read_settings()
