"""What a sent file is, and which forms of answer it can become and the sender accepts."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import BinaryIO, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import PDF
from docmill.ingest import checks


class Form(StrEnum):
    JSON = "application/json"
    XML = "application/xml"


BECOMES: Final[Mapping[str, tuple[Form, ...]]] = {
    PDF: (Form.JSON, Form.XML),
    Form.JSON: (Form.XML,),
}
RANGES: Final[Mapping[str, tuple[Form, ...]]] = {
    Form.JSON: (Form.JSON,),
    Form.XML: (Form.XML,),
    "application/*": (Form.JSON, Form.XML),
    "*/*": (Form.JSON, Form.XML),
}


def accepted(header: str | None) -> tuple[Form, ...]:
    """The forms an Accept header allows, best first; none of ours is a fault."""
    forms: dict[Form, None] = {}
    for name in _ranges(header or "*/*"):
        forms.update(dict.fromkeys(RANGES.get(name, ())))
    if not forms:
        raise Faulted("NOT_ACCEPTABLE")
    return tuple(forms)


def _ranges(header: str) -> Iterator[str]:
    weighed: list[tuple[float, str]] = []
    for part in header.split(","):
        name, *parameters = (word.strip().lower() for word in part.split(";"))
        weight = next((word[2:] for word in parameters if word.startswith("q=")), "1")
        try:
            weighed.append((float(weight), name))
        except ValueError as exc:
            raise Faulted("NOT_ACCEPTABLE", "a weight is not a number") from exc
    for weight, name in sorted(weighed, key=lambda pair: -pair[0]):
        if weight > 0:
            yield name


def kind_of(file: BinaryIO) -> str:
    """By its first bytes, never by its name."""
    head = file.read(checks.HEAD)
    file.seek(0)
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return Form.JSON
    if checks.kind_of(head) == PDF:
        return PDF
    raise Faulted("NOT_CONVERTIBLE")


def choose(kind: str, allowed: tuple[Form, ...]) -> Form:
    for form in allowed:
        if form in BECOMES[kind]:
            return form
    raise Faulted("NOT_ACCEPTABLE", f"{kind} does not become that")
