"""An invoice written in a format, with what it lacks to be valid there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.invoices import fields, formats
from docmill.invoices.fields import title_of
from docmill.invoices.formats import Emitted, choosing
from docmill.invoices.formats.gaps import find_gaps
from docmill.invoices.profile import Profile

MOST_NAMED: Final = 4
# The European standard's own rules hold for both.
EUROPEAN: Final = frozenset({choosing.UBL, choosing.CII})


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file, and what it lacks to be valid: by name, and in a sentence for its owner.

    `mapping` is the one it was written in.
    """

    mapping: str
    emitted: Emitted
    lacks: tuple[str, ...]
    missing: str


def write_checked(mapping: str, data: Mapping[str, Any], profile: Profile) -> CheckedFile:
    """Raises GW_4XX where the format refuses the invoice."""
    written = choosing.write_invoice(mapping, data, profile)
    mapping, made = written.mapping, written.emitted
    lacks = [title_of(fields.bracket_path(path)) for path in made.missing]
    if mapping in EUROPEAN:
        ubl = made
        if mapping != choosing.UBL:
            ubl = formats.emit(formats.load(choosing.UBL), data, profile)
        lacks += find_gaps(ubl.xml)
    names = tuple(dict.fromkeys(lacks))
    return CheckedFile(mapping, made, names, _name_missing(mapping, names) if names else "")


def _name_missing(mapping: str, lacks: Sequence[str]) -> str:
    more = f" and {len(lacks) - MOST_NAMED} more" if len(lacks) > MOST_NAMED else ""
    names = ", ".join(lacks[:MOST_NAMED]) + more
    return (
        f"{choosing.label_of(mapping)} needs what is missing here: {names}."
        " Fill it in in review, or take it as a draft."
    )
