"""Check digits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.trades.reader.facts import cusip_in_isin, is_cusip, is_isin


@pytest.mark.parametrize("code", ["US0378331005", "DE0007236101", "IE00B4L5Y983", "XS2010028939"])
def test_real_isins_check(code: str) -> None:
    assert is_isin(code)


@given(st.sampled_from(["US0378331005", "DE0007236101"]), st.integers(2, 11), st.integers(0, 9))
def test_a_figure_misread_does_not_check(code: str, at: int, figure: int) -> None:
    wrong = code[:at] + str(figure) + code[at + 1 :]
    assert is_isin(wrong) == (wrong == code)


@pytest.mark.parametrize("code", ["DE00072361010", "ZZ0378331005", "us0378331005", ""])
def test_what_has_not_the_form_is_none(code: str) -> None:
    assert not is_isin(code)


def test_cusips_check_and_stand_in_american_isins() -> None:
    assert is_cusip("037833100")
    assert not is_cusip("037833101")
    assert cusip_in_isin("US0378331005") == "037833100"
    assert cusip_in_isin("DE0007236101") is None
