"""What a mapping file may say: its keys and their types, the paths of an invoice, its troubles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docmill.mappings.profile import NAMES

SUFFIX: Final = ".mapping"
PARTY: Final = ("name", "tax_id", "address", "country", "email", "document")
TOTALS: Final = ("net", "tax", "gross", "withholding", "paid", "due")
LINE: Final = (
    "description", "quantity", "unit", "unit_price", "discount", "amount", "code", "tax_rate",
    "opt",
)  # fmt: skip
PATHS: Final = (
    "invoice_number", "issue_date", "due_date", "currency", "exchange_rate", "trx_code", "lines",
    *(f"seller.{name}" for name in PARTY),
    *(f"buyer.{name}" for name in PARTY),
    *(f"totals.{name}" for name in TOTALS),
    *(f"profile.{name}" for name in NAMES),
)  # fmt: skip
INVOICES: Final = "invoices"  # the repeat over all documents of a bulk file


@dataclass(frozen=True, slots=True)
class Node:
    """One line of a mapping file: an element, or an attribute when the name begins with @."""

    line: int
    name: str
    tag: str
    path: tuple[str, ...] = ()
    constant: str | None = None
    compute: str = ""
    format: str = "text"
    when: str = ""
    repeat: str = ""
    reads: str = ""
    required: bool = False
    children: tuple["Node", ...] = ()

    @property
    def is_attribute(self) -> bool:
        return self.name.startswith("@")

    @property
    def carries(self) -> str:
        """The path of the invoice that this node's text can be read back into, if any."""
        return self.reads or next(filter(_is_printed, self.path), "")


def _is_printed(path: str) -> bool:
    """Of the invoice itself: neither the owner's word nor a column that a function made up."""
    return path[1:] in LINE if path.startswith(".") else not path.startswith("profile.")


@dataclass(frozen=True, slots=True)
class InvoiceMapping:
    """A mapping that was read from its file and found right."""

    name: str
    title: str
    keep_empty: bool
    checker: str
    namespaces: Mapping[str | None, str]
    root: Node

    @property
    def version(self) -> int:
        return int(self.name.rpartition("_v")[2])

    @property
    def is_bulk(self) -> bool:
        return _repeats_invoices(self.root)


def _repeats_invoices(node: Node) -> bool:
    return node.repeat == INVOICES or any(map(_repeats_invoices, node.children))


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing wrong in a mapping file, and what is allowed there."""

    file: str
    line: int
    says: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.says}"


class BadMapping(ValueError):  # noqa: N818  it carries troubles
    """A mapping file that can't be used; all that is wrong with it, a line each."""

    def __init__(self, troubles: tuple[Trouble, ...]) -> None:
        self.troubles: tuple[Trouble, ...] = troubles
        super().__init__("\n".join(map(str, troubles)))


# Keys of a line by what they take. A node says where its text comes from at most once.
TEXTS: Final = ("constant", "compute", "format", "when", "repeat", "reads")
SOURCES: Final = ("path", "constant", "compute")
KEYS: Final = ("path", "required", *TEXTS)
HEADER: Final = ("title", "empty", "checker")
