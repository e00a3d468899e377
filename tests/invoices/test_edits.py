"""Changes of an invoice: replayed they give what people see, and every step tells what was."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.invoices import checks
from docmill.invoices.edits import Change, Edit, normalize_value, replay, try_edits
from docmill.invoices.fields import bracket_path, is_path, list_paths, value_at
from invoice_samples import indonesian

FIELDS = ("invoice_number", "issue_date", "currency", "buyer.name", "totals.net", "totals.tax")
NAMES = ("description", "amount", "quantity")
values = st.sampled_from(["1", "2.50", "2025-03-14", "Kertas", "", "1.250,00"]) | st.none()
lines = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["3", "4"]), max_size=3)
places = st.integers(0, 4)


def _edit(path: str, value: Any) -> Edit:
    return Edit.model_validate({"path": path, "value": value})


def _in_line(at: int, name: str, value: Any) -> Edit:
    return _edit(f"lines[{at}].{name}", value)


def _line(at: int, value: Any) -> Edit:
    return _edit(f"lines[{at}]", value)


edits = st.one_of(
    st.builds(_edit, st.sampled_from(FIELDS), values),
    st.builds(_in_line, places, st.sampled_from(NAMES), values),
    st.builds(_line, places, lines | st.none()),
)


def an_invoice() -> dict[str, Any]:
    evidence = {
        path: {"confidence": 0.5, "page": 1, "box": [0, 0, 1, 1], "text": ""}
        for path in list_paths(indonesian())
    }
    return {**indonesian(), "evidence": evidence}


@given(st.lists(edits, max_size=12))
def test_steps_replayed_at_once_or_one_by_one_give_the_same(wishes: list[Edit]) -> None:
    start = an_invoice()
    changes, _ = try_edits(start, wishes)
    current = start
    for change in changes:
        assert value_at(current, change.path) == change.before or change.path.endswith("]")
        current = replay(current, [change])
    assert replay(start, changes) == replay(current, [])
    assert start == an_invoice(), "what was read is not touched"


@given(st.lists(edits, max_size=12))
def test_evidence_speaks_only_of_what_is_there(wishes: list[Edit]) -> None:
    changes, _ = try_edits(an_invoice(), wishes)
    data = replay(an_invoice(), changes)
    count = len(data["lines"])
    for path in data["evidence"]:
        if path.startswith("lines["):
            assert int(path[6 : path.index("]")]) < count
    doubted = checks.find_doubts(data, checks.run_checks(data))
    edited = {path for path, seen in data["evidence"].items() if seen.get("edited")}
    unsure = {path for path in doubted if data["evidence"].get(path, {}).get("confidence") == 0.5}
    assert not edited & unsure


def test_a_line_put_in_moves_what_is_behind_it() -> None:
    data = replay(an_invoice(), [Change("lines[0]", None, {"amount": "5"})])
    assert data["lines"][0] == {"amount": "5"}
    assert data["evidence"]["lines[0].amount"]["edited"]
    assert data["evidence"]["lines[1].amount"]["confidence"] == 0.5
    back = replay(data, [Change("lines[0]", {"amount": "5"}, None)])
    assert back == an_invoice()


def test_the_row_of_the_tax_follows_the_totals() -> None:
    data = an_invoice()
    data["taxes"] = [{"base": "500000", "rate": "11", "amount": "55000"}]
    before = data["totals"]["net"] = "500000"
    changes = [Change("totals.net", before, "600000"), Change("totals.tax", "55000", "66000")]
    assert replay(data, changes)["taxes"] == [{"base": "600000", "rate": "11", "amount": "66000"}]


@pytest.mark.parametrize(
    ("path", "given_value", "kept"),
    [
        ("totals.net", "1.250,00", "1250.00"),
        ("totals.net", "1250.5", "1250.5"),
        ("totals.net", "Rp 1.250.000", "1250000"),
        ("totals.net", "much", None),
        ("issue_date", "14 Maret 2025", "2025-03-14"),
        ("issue_date", "2025-02-30", None),
        ("currency", "usd", "USD"),
        ("buyer.name", "  PT \n Baru ", "PT Baru"),
        ("buyer.name", " ", None),
    ],
)
def test_values_are_kept_as_invoices_have_them(path: str, given_value: str, kept: Any) -> None:
    assert normalize_value(path, given_value) == kept


@pytest.mark.parametrize(
    "path", ["evidence", "lines", "lines[0].colour", "totals", "profile.tin", "x"]
)
def test_only_what_an_invoice_says_can_be_changed(path: str) -> None:
    assert not is_path(path)


def test_paths_of_mappings_are_written_as_invoices_have_them() -> None:
    assert bracket_path("lines.2.amount") == "lines[2].amount"
    assert bracket_path("totals.net") == "totals.net"
