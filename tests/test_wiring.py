"""What an installation offers: all its mappings, or those that were allowed."""

import pytest

from docmill.settings import read
from docmill.wiring import CannotStart, find_offer

CORETAX, UBL, CII = "pt_simon_invoice_v1", "ubl_invoice_v1", "cii_invoice_v1"


def test_without_a_list_all_mappings_are_offered_the_default_first() -> None:
    assert find_offer((), CORETAX).mappings["invoice"] == (CORETAX, CII, UBL)
    assert find_offer((), UBL).mappings["invoice"] == (UBL, CORETAX, CII)
    assert find_offer((), UBL).default_mapping("invoice") == UBL


def test_a_list_leaves_the_others_out() -> None:
    assert find_offer((CII, CORETAX), CORETAX).mappings == {"invoice": (CORETAX, CII)}


@pytest.mark.parametrize(("allowed", "default"), [(("ubl_v1",), CORETAX), ((), "ubl_v1")])
def test_a_name_that_is_no_mapping_stops_the_start_with_the_list(
    allowed: tuple[str, ...], default: str
) -> None:
    with pytest.raises(CannotStart) as told:
        find_offer(allowed, default)
    assert str(told.value).startswith("There is no mapping ubl_v1.\n")
    assert str(told.value).endswith(f"{CII}, {CORETAX}, {UBL}.")


def test_a_default_that_is_not_allowed_stops_the_start() -> None:
    with pytest.raises(CannotStart, match=f"The default mapping {CORETAX} is not allowed"):
        find_offer((UBL,), CORETAX)


def test_the_list_is_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_MAPPINGS", f"{UBL}, {CII},")
    assert read().mappings == (UBL, CII)
    monkeypatch.delenv("DOCMILL_MAPPINGS")
    assert (read().mappings, read().default_mapping) == ((), CORETAX)
