"""A language model as second reader of invoices, where the operator wants one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from docmill.core.faults import DocmillError
from docmill.core.plugins import Tools
from docmill.invoices.reader.agreement import Agreement, combine, is_same
from docmill.invoices.reader.audit import add_differences
from docmill.invoices.reader.model import Invoice, Values, cap_confidence, map_values
from docmill.invoices.reader.model_reader import VERSION, read_by_model
from docmill.reading.labels import TextSheet
from docmill.reading.pages import Page
from docmill.reading.second_opinion import ORDERS
from docmill.reading.turning import Frames

RULES, MODEL, BOTH = "rules", "model", "both"


@dataclass(frozen=True, slots=True)
class SecondReader:
    """`mode` is the operator's; what goes wrong on the way is added to `warnings`."""

    mode: str
    tools: Tools
    warnings: list[str] = field(default_factory=list[str])

    @property
    def is_asked(self) -> bool:
        return self.mode in {MODEL, BOTH}

    def read(
        self, sheet: TextSheet, pages: Sequence[Page], rules: Invoice
    ) -> tuple[Agreement, dict[str, Any]]:
        """What comes of both readings, and who took part in it.

        With `both` the rules' reading stands where the model can't be asked; with `model` the run
        fails, and is tried again as with any service.
        """
        if not self.is_asked:
            return Agreement(rules), {}
        try:
            model = read_by_model(sheet, pages, self.tools)
        except DocmillError as exc:
            if self.mode == MODEL:
                raise
            self.warnings.append(f"the language model did not read it ({exc.fault.code})")
            return Agreement(rules), {}
        if model.gives_orders:
            self.warnings.append(ORDERS)
        if model.cut:
            self.warnings.append("the language model was sent the first pages only")
        made = combine(rules, model, mode=self.mode)
        made = replace(made, invoice=_cap(made.invoice, rules, pages))
        about = {"mode": self.mode, "model": model.model, "prompt": VERSION}
        return made, {"second_reader": about}


def _cap(made: Invoice, rules: Invoice, pages: Sequence[Page]) -> Invoice:
    """A model that is sent what OCR has read makes no letter of it surer."""
    capped = cap_confidence(made, pages)
    if capped is made:
        return made
    values, *lines = (
        _restore(*parts)
        for parts in zip(
            (capped.values, *capped.lines),
            (made.values, *made.lines),
            _align_lines(rules, made),
            strict=True,
        )
    )
    return replace(made, values=values, lines=tuple(lines))


def _align_lines(rules: Invoice, made: Invoice) -> list[Values]:
    """The rules' values in as many parts as there are of what was made."""
    same = len(rules.lines) == len(made.lines)
    return [rules.values, *(rules.lines if same else [{} for _ in made.lines])]


def _restore(capped: Values, made: Values, rules: Values) -> Values:
    """Capped, but no value less sure than before on account of a model that agrees."""
    kept = {
        name: min(rules[name].confidence, made[name].confidence)
        for name in made
        if is_same(rules, name, made[name])
    }
    return {
        name: value.sure(max(value.confidence, kept.get(name, 0.0)))
        for name, value in capped.items()
    }


def place_on_pages(agreement: Agreement, frames: Frames) -> Agreement:
    """With the places of all values, also of those in dispute, on the pages as shown."""
    disputes = tuple(
        replace(one, model=frames.place(one.model)) if one.model else one
        for one in agreement.disputes
    )
    return Agreement(map_values(agreement.invoice, frames.place), disputes)


def add_disputes(data: dict[str, Any], agreement: Agreement) -> dict[str, Any]:
    """Each is among what is to be reviewed, with what both readers say."""
    return add_differences(data, [one.to_json() for one in agreement.disputes])
