"""JSON that others wrote may be anything: what a value is, or that and else an empty one."""

from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def as_object(value: object) -> dict[str, Any]:
    """The object itself; of anything else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """The list itself; of anything else an empty one."""
    return value if is_list(value) else []
