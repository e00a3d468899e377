"""What a webhook can be told of; API, page and command follow from this table.

The database writes the events itself, in the transaction of what they tell: see migration 0022.
"""

from dataclasses import dataclass
from typing import Final, Literal

EventName = Literal[
    "job.complete", "job.failed", "trade.created", "document.no_trades", "review.waiting"
]


@dataclass(frozen=True, slots=True)
class EventKind:
    name: EventName
    says: str


KINDS: Final = (
    EventKind("job.complete", "A document was read."),
    EventKind("job.failed", "A document can't be read, and won't be tried again."),
    EventKind("trade.created", "A trade was read from a document."),
    EventKind("document.no_trades", "A document was read as a trade note and holds no trade."),
    EventKind("review.waiting", "Values of a document wait for a person to check them."),
)
NAMES: Final[tuple[EventName, ...]] = tuple(kind.name for kind in KINDS)
