"""Two readings held together: rows keep their places, and what an upgrade costs is told apart."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from docmill.core.comparison import Difference, Outline, compare, replay

rows = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), min_size=1), max_size=5
)
values = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("123"))
outlines = st.builds(Outline, values, rows)


def lines(*found: str) -> Outline:
    return Outline(rows=[{"amount": one} for one in found], noun="lines")


def test_a_row_put_in_or_taken_out_moves_no_other() -> None:
    assert compare(lines("1", "2", "3"), lines("1", "9", "2", "3")) == [
        Difference("lines[+1].amount", "lines.amount", None, "9")
    ]
    assert compare(lines("1", "2", "3"), lines("2", "3")) == [
        Difference("lines[0].amount", "lines.amount", "1", None)
    ]
    assert compare(lines("1", "2"), lines("1", "4")) == [
        Difference("lines[1].amount", "lines.amount", "2", "4")
    ]


@given(one=outlines, other=outlines)
def test_readings_differ_exactly_where_they_are_not_the_same(one: Outline, other: Outline) -> None:
    assert compare(one, one) == []
    there, back = compare(one, other), compare(other, one)
    assert bool(there) == bool(back) == ((one.values, one.rows) != (other.values, other.rows))
    assert all(each.old != each.new for each in there)


@given(approved=outlines, then=outlines, now=outlines)
def test_a_version_that_reads_as_before_costs_nothing(
    approved: Outline, then: Outline, now: Outline
) -> None:
    same = replay(approved, then, then)
    assert (same.lost, same.gained, same.moved) == ([], [], [])
    assert replay(approved, approved, now).lost == compare(approved, now)
    assert replay(approved, then, approved).gained == compare(approved, then)


def test_what_is_lost_gained_and_moved_is_told_apart() -> None:
    def read(**given: Any) -> Outline:
        return Outline({"a": "1", "b": "2", "c": "3", **given})

    found = replay(read(), read(b="x", c="x"), read(a="y", c="y"))
    assert [one.path for one in found.lost] == ["a"]
    assert [one.path for one in found.gained] == ["b"]
    assert found.moved == [Difference("c", "c", "3", "y")]
