"""The published rules of e-invoices, held against the XML of a finished job in a sandbox.

Schematron's engine reserves more addresses than a run may have, so it is started and its rules are
compiled before the sandbox forks its runs.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from docmill import __version__
from docmill.core.plugins import Output, Source, Tools
from docmill.invoices import formats
from docmill.invoices.formats import validators, xml
from docmill.invoices.formats.choosing import CII, UBL
from docmill.invoices.formats.language import MappingError
from docmill.invoices.formats.validators import ValidatorUnavailableError

XML: Final = "application/xml"
MAX_PROBLEMS: Final = 200


class RulesValidator:
    """Keeps the contract of `core.plugins.Validator`."""

    name = "invoice-rules"
    version = __version__
    accepts = (XML,)

    def __init__(self) -> None:
        self._missing: str = ""

    def covers(self, mapping: str | None) -> bool:
        try:
            if mapping is None or mapping not in formats.list_names():
                return False
            return formats.load(mapping).checker in {"ubl", "cii"}
        except MappingError:
            return False

    def warm(self) -> None:
        """Everything that is read from files is read now."""
        try:
            validators.check_en16931(b"<Invoice/>", "ubl")
            validators.check_en16931(b"<Invoice/>", "cii")
        except ValidatorUnavailableError as exc:
            self._missing = str(exc)

    def run(self, source: Source, _tools: Tools) -> Output:
        if self._missing:
            return Output({"reason": self._missing})
        assert source.mapping
        document = source.file.read()
        name = source.mapping if source.mapping in formats.list_names() else _find_alike(document)
        problems = validators.validate(formats.load(name), document)
        return Output({"violations": [asdict(problem) for problem in problems[:MAX_PROBLEMS]]})

    def merge(self, data: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        """The result with the rules its XML breaks, and the values a person should fill in."""
        if "violations" not in found:
            note = f"not checked against the rules: {found['reason']}"
            return {**data, "notes": [*data.get("notes", ()), note]}
        fatal: list[str] = [
            one["field"] for one in found["violations"] if one["severity"] == "fatal"
        ]
        review: dict[str, None] = dict.fromkeys([*data.get("review", ()), *filter(None, fatal)])
        return {**data, "review": list(review), "violations": found["violations"]}


def _find_alike(document: bytes) -> str:
    """A mapping of ours with the rules of an operator's, whose text a checker is not told."""
    return CII if xml.parse(document).tag.endswith("CrossIndustryInvoice") else UBL


validator: Final = RulesValidator()
