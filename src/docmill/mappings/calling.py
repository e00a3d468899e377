"""What a mapping file can call: a named function of one invoice, giving a value or rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docmill.mappings.scope import Scope


@dataclass(frozen=True, slots=True)
class Function:
    """`row` is the dataclass of each row when it gives a list; its fields are the paths inside."""

    call: Callable[[Scope], Any]
    row: type[Any] | None = None
