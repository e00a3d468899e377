"""The limits of STYLE.md hold for the code as it is."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import quantiles
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2] / "src" / "docmill"
FILES: Final = sorted(ROOT.rglob("*.py"))
NAMES: Final = [path.relative_to(ROOT).as_posix() for path in FILES]

LINES: Final = 500
FUNCTION: Final = 40
NINE_OF_TEN: Final = 25
NESTING: Final = 3

BLOCKS: Final = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.Match,
)  # fmt: skip
# Around a run, in the worker and in the child itself; around a request; around a plug-in.
CATCHES_EVERYTHING: Final[frozenset[str]] = frozenset(
    {"queue/worker.py", "sandbox/child.py", "web/middleware.py", "core/installed.py"}
)


@cache
def parse_all() -> dict[str, ast.Module]:
    """By name; not when tests are collected, which every worker does."""
    files = zip(NAMES, FILES, strict=True)
    return {name: ast.parse(path.read_text("utf-8")) for name, path in files}


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def depth(node: ast.AST) -> int:
    """Blocks within blocks; an `elif` is no deeper than its `if`, a nested function starts anew."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef | ast.Lambda):
            continue
        deeper = isinstance(child, BLOCKS) and not _is_elif(node, child)
        deepest = max(deepest, depth(child) + deeper)
    return deepest


def _is_elif(parent: ast.AST, child: ast.AST) -> bool:
    return isinstance(parent, ast.If) and parent.orelse == [child] and isinstance(child, ast.If)


def broad(handler: ast.ExceptHandler) -> bool:
    """Bare, `Exception` or `BaseException`, unless all it does is tidy up and raise again."""
    named = (
        {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
        if (handler.type)
        else {"BaseException"}
    )
    last = handler.body[-1]
    raises_again = isinstance(last, ast.Raise) and last.exc is None
    return bool(named & {"Exception", "BaseException"}) and not raises_again


def test_there_is_code_to_look_at() -> None:
    assert len(FILES) > 50


def test_a_file_is_read_in_ten_minutes() -> None:
    counts = {name: len((ROOT / name).read_text("utf-8").splitlines()) for name in NAMES}
    assert {name: count for name, count in counts.items() if count > LINES} == {}


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{name}:{function.lineno} {function.name}: {length(function)} lines"
        for name, tree in parse_all().items()
        for function in functions(tree)
        if length(function) > FUNCTION
    ]
    assert long == []


def test_nine_of_ten_functions_are_short() -> None:
    lengths = [length(function) for tree in parse_all().values() for function in functions(tree)]
    assert quantiles(lengths, n=10)[-1] < NINE_OF_TEN


def test_nothing_is_nested_deeper_than_three() -> None:
    deep = [
        f"{name}:{function.lineno} {function.name}: {depth(function)} deep"
        for name, tree in parse_all().items()
        for function in functions(tree)
        if depth(function) > NESTING
    ]
    assert deep == []


def test_everything_is_caught_only_around_a_run_and_around_a_request() -> None:
    found = {
        name
        for name, tree in parse_all().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and broad(node)
    }
    assert found <= CATCHES_EVERYTHING, sorted(found - CATCHES_EVERYTHING)


def test_no_import_hides_a_cycle() -> None:
    hiding = [name for name in NAMES if "TYPE_CHECKING" in (ROOT / name).read_text("utf-8")]
    assert hiding == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f():\n    pass", 0),
        (
            "def f():\n    if a:\n        pass\n    elif b:\n        pass\n    else:\n        pass",
            1,
        ),
        ("def f():\n    for a in b:\n        with c:\n            if d:\n                pass", 3),
        ("def f():\n    try:\n        pass\n    except E:\n        if a:\n            pass", 2),
        ("def f():\n    if a:\n        def g():\n            if b:\n                pass", 1),
    ],
)
def test_nesting_is_counted_as_a_reader_does(code: str, expected: int) -> None:
    assert depth(next(functions(ast.parse(code)))) == expected


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("except:\n    pass", True),
        ("except Exception:\n    pass", True),
        ("except (OSError, Exception):\n    log()", True),
        ("except BaseException:\n    raise ValueError", True),
        ("except BaseException:\n    tidy()\n    raise", False),
        ("except OSError:\n    pass", False),
    ],
)
def test_what_counts_as_catching_everything(clause: str, expected: bool) -> None:
    (tried,) = ast.parse(f"try:\n    pass\n{clause}").body
    assert isinstance(tried, ast.Try)
    assert broad(tried.handlers[0]) is expected
