"""What reviews share in every room: edits as sent, why one is refused, a value on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from docmill.core.faults import DocmillError
from docmill.core.texts import strip_invisible
from docmill.web.json_body import WholeNumber, whole_number
from docmill.web.params import bad_param

MOST_EDITS: Final = 5000
MOST_REVISIONS: Final = (1 << 53) - 1
PAGES_SHOWN: Final = 200
STANDINGS: Final = {"pending": "To review", "approved": "Approved", "rejected": "Rejected"}

PageNumber = Annotated[int, Field(ge=1, le=100_000), BeforeValidator(whole_number)]
Points = Annotated[float, Field(allow_inf_nan=False)]


class PlacedEdit(BaseModel):
    """A new value, and where on a page it stands; each room says what it may be."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    path: str = Field(max_length=100)
    value: Any
    page: PageNumber | None = Field(default=None, description="Where the value stands")
    box: list[Points] | None = Field(
        default=None, min_length=4, max_length=4, description="In points"
    )

    @property
    def place(self) -> dict[str, Any] | None:
        return {"page": self.page, "box": self.box} if self.page and self.box else None


class SeenRevision(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    revision: WholeNumber = Field(ge=0, le=MOST_REVISIONS, description="The revision that you saw")


class CheckedPaths(SeenRevision):
    paths: list[Annotated[str, Field(max_length=100)]] = Field(
        min_length=1, max_length=MOST_EDITS, examples=[["totals.net", "lines[2].amount"]]
    )


class Rejection(SeenRevision):
    reason: str = Field(min_length=1, max_length=1000)

    def read_reason(self) -> str:
        """As one line; raises BAD_REQUEST where it says nothing."""
        reason = " ".join(strip_invisible(" ".join(self.reason.split())).split())
        if not reason:
            raise bad_param("body.reason", "says nothing")
        return reason


class EditError(ValueError):
    """Why an edit can't be made: what a part of it is not, and which part."""

    def __init__(self, says: str, at: str = "value") -> None:
        self.at: str = at
        self.says: str = says
        super().__init__(says)


def make_refusal(mistakes: Mapping[int, EditError]) -> DocmillError:
    """For all edits of one request: each that is wrong, by its number."""
    details = [
        {"at": f"body.edits.{index}.{mistake.at}", "message": mistake.says}
        for index, mistake in mistakes.items()
    ]
    return DocmillError("BAD_REQUEST", mistakes=details)


def list_mistakes(edits: Sequence[PlacedEdit], mistakes: Mapping[int, EditError]) -> dict[str, str]:
    """What each is that can't be kept, by path."""
    return {edits[index].path: mistake.says for index, mistake in mistakes.items()}


@dataclass(frozen=True, slots=True)
class ReviewCell:
    """A value as a review page shows it."""

    path: str
    name: str
    value: str
    shown: str
    kind: str
    needed: bool
    reason: str
    page: int | None
    box: str
    edited: bool

    @property
    def id(self) -> str:
        """For the page's own addresses, in which brackets and dots mean something else."""
        return "f-" + self.path.replace("[", "-").replace("].", "-").replace(".", "-")
