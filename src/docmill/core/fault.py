"""What a fault is: a row of the table in `docmill.core.faults`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """A code is a contract: add rows, never rename one."""

    code: str
    status: int
    says: str
    advice: str
    retried: bool = False
    api: str = ""

    @property
    def error(self) -> str:
        """The sentence API clients get; the page's sentence unless the contract fixes another."""
        return self.api or self.says
