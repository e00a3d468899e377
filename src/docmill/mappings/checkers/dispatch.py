"""The checker that a mapping names."""

from docmill.mappings.checkers import coretax, en16931
from docmill.mappings.checkers.problems import Problem
from docmill.mappings.schema import InvoiceMapping


def check(mapping: InvoiceMapping, document: bytes) -> list[Problem]:
    """What is wrong with a document that this mapping wrote; nothing when it names no checker."""
    match mapping.checker:
        case "coretax":
            return coretax.check(document)
        case "ubl":
            return en16931.check(document, "ubl")
        case "cii":
            return en16931.check(document, "cii")
        case _:
            return []
