"""The review page: the document beside its values, those to check first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import Response

from docmill.core.owners import Owner
from docmill.db import lessons, review_lists
from docmill.db.pool import reading
from docmill.db.reviews import PENDING, Revision
from docmill.mappings import value_at
from docmill.mappings.editing import kind_of, paths_of
from docmill.mappings.texts import at, clean, is_object
from docmill.web import reviews
from docmill.web.deps import Asker, Here, Site
from docmill.web.pages import render
from docmill.web.reasons import name_of
from docmill.web.reviews import Judged, Opened

router = APIRouter(include_in_schema=False)

PAGES_SHOWN: Final = 200
WAITING_SHOWN: Final = 50
COLUMNS: Final = (
    "description", "quantity", "unit", "unit_price", "amount", "discount", "code", "tax_rate",
)  # fmt: skip
GROUPS: Final = (("", "Document"), ("seller", "Seller"), ("buyer", "Buyer"), ("totals", "Totals"))
STATUSES: Final = {"pending": "To review", "approved": "Approved", "rejected": "Rejected"}


@dataclass(frozen=True, slots=True)
class Field:
    """A value as the page shows it."""

    path: str
    name: str
    value: str
    kind: str
    reason: str
    page: int | None
    box: str
    confidence: float | None
    edited: bool
    learned: str
    lesson: str

    @property
    def id(self) -> str:
        """For the page's own addresses, in which brackets and dots mean something else."""
        return "f-" + self.path.replace("[", "-").replace("].", "-").replace(".", "-")


@router.get("/review")
async def waiting_page(here: Here, owner: Asker) -> Response:
    async with reading(here.services.pool) as conn:
        found = await review_lists.listed(conn, owner.key, [PENDING], limit=WAITING_SHOWN + 1)
    return render.page(
        "reviews.html", waiting=found[:WAITING_SHOWN], more=len(found) > WAITING_SHOWN
    )


@router.get("/review/{job_id}")
async def review_page(job_id: str, here: Here, owner: Asker) -> Response:
    review = await reviews.opened(here, owner, job_id)
    context = await _context(here, owner, review)
    pages = min(int(review.read.get("page_count") or 1), PAGES_SHOWN)
    return render.page("review.html", **context, pages=range(1, pages + 1))


@router.get("/review/{job_id}/values")
async def review_values(job_id: str, here: Here, owner: Asker) -> Response:
    """The values alone, to be put in place of those that a page shows."""
    review = await reviews.opened(here, owner, job_id)
    return render.page("review_values.html", **await _context(here, owner, review))


async def _context(here: Site, owner: Owner, review: Opened) -> dict[str, Any]:
    found = await reviews.judged(review, review.data)
    async with reading(here.services.pool) as conn:
        waiting = await review_lists.listed(conn, owner.key, [PENDING], limit=2)
        learning = await lessons.is_learning(conn, owner.key)
        known = await lessons.of_owner(conn, owner.key, 100)
    others = [each for each in waiting if each.job_id != review.job.id]
    fields = {field.path: field for field in _fields(review, found)}
    return {
        "job": review.job,
        "head": review.head,
        "standing": STATUSES[review.head.status],
        "doubtful": [fields[path] for path in found.review if path in fields and "[" not in path],
        "groups": _groups(fields, found),
        "lines": _lines(review, fields),
        "lines_first": any(path.startswith("lines") for path in found.review),
        "no_lines": found.reasons.get("lines", ""),
        "count": len(found.review),
        "xml": found.xml.decode() if found.xml else "",
        "refusal": found.refusal or "",
        "steps": [_step(each) for each in reversed(review.history)],
        "next": others[0] if others else None,
        "learning": learning,
        "lessons": [(each, name_of(each.field)) for each in known],
    }


def _fields(review: Opened, found: Judged) -> Iterator[Field]:
    evidence: dict[str, Any] = review.data["evidence"]
    for path in paths_of(review.data):
        seen: dict[str, Any] = evidence.get(path) or {}
        value, learned = value_at(review.data, path), seen.get("learned")
        yield Field(
            path=path,
            name=name_of(path),
            value="" if value is None else str(value),
            kind=kind_of(path),
            reason=found.reasons.get(path, ""),
            page=seen.get("page"),
            box=" ".join(map(str, seen.get("box") or ())),
            confidence=seen.get("confidence"),
            edited=bool(seen.get("edited")),
            learned=clean(at(learned, "from")),
            lesson=clean(at(learned, "lesson")),
        )


def _groups(fields: dict[str, Field], found: Judged) -> list[tuple[str, list[Field]]]:
    """What is not in doubt, by what it belongs to."""
    sure = [field for field in fields.values() if field.path not in found.review]
    groups = [
        (title, [field for field in sure if field.path.rpartition(".")[0] == group])
        for group, title in GROUPS
    ]
    return [(title, inside) for title, inside in groups if inside]


def _lines(review: Opened, fields: dict[str, Field]) -> list[list[Field]]:
    count = len(review.data.get("lines") or ())
    return [
        [field for name in COLUMNS if (field := fields.get(f"lines[{index}].{name}"))]
        for index in range(count)
    ]


def _step(each: Revision) -> dict[str, Any]:
    return {
        "kind": each.kind,
        "name": name_of(each.path) if each.path else "",
        "before": _short(each.before),
        "after": _short(each.after),
        "reason": each.reason,
        "by": each.made_by,
        "at": each.made_at,
    }


def _short(value: Any) -> str:
    if is_object(value):
        return str(value.get("description") or value.get("amount") or "a line")
    return "nothing" if value is None else str(value)
