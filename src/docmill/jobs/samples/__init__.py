"""Two documents made by us, to try docmill with; `scripts/samples.py` draws them."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Final


@dataclass(frozen=True, slots=True)
class Sample:
    """`pipeline` is what it is meant for."""

    name: str
    title: str
    pipeline: str
    filename: str

    def read(self) -> bytes:
        return (files("docmill.jobs.samples") / self.filename).read_bytes()


SAMPLES: Final = {
    one.name: one
    for one in (
        Sample("invoice", "Sample invoice", "invoice", "sample-invoice.pdf"),
        Sample("trade-note", "Sample trade note", "trades", "sample-trade-note.pdf"),
    )
}
