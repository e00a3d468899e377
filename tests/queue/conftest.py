"""A sandbox pool and a document for the tests of rows that cross from a run."""

from sandbox.conftest import document, sandbox

__all__ = ["document", "sandbox"]
