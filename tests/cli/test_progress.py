"""How long work tells how far it is, to people who see no bars."""

import io

import pytest
from rich.console import Console

from docmill.cli.progress import ProgressBoard, describe_pace


def test_a_pace_says_how_long_the_rest_takes() -> None:
    assert describe_pace(30, 90, 10.0) == "3.0/s, 0:00:30 left"
    assert describe_pace(0, 90, 10.0) == ""


@pytest.mark.parametrize(("to_stderr", "lines"), [(True, 2), (False, 0)])
def test_where_nobody_sees_a_bar_a_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch, to_stderr: bool, lines: int
) -> None:
    """On stderr alone: a program that reads stdout is not told of progress."""
    monkeypatch.setattr("docmill.cli.progress.LINE_SECONDS", 0.0)
    printed = io.StringIO()
    console = Console(stderr=to_stderr, file=printed, soft_wrap=True)
    with ProgressBoard(console, quiet=False) as board:
        board.expect(2000)
        board.advance()
        board.advance()
    told = printed.getvalue().splitlines()
    assert len(told) == lines
    assert all(line.startswith(f"{n} of 2,000, ") for n, line in enumerate(told, 1))
    assert all(line.endswith(" left") for line in told)
