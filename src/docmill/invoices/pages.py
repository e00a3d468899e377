"""The review page: the document beside its values, those to check first."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from docmill.core.amounts import show_amount
from docmill.core.installed import find_rooms
from docmill.core.json_values import is_object
from docmill.core.owners import Owner
from docmill.core.plugins import MenuEntry, resolve
from docmill.db.pool import Connection, read_connection
from docmill.invoices import queries, reviews
from docmill.invoices.edits import normalize_value
from docmill.invoices.fields import (
    GROUPS,
    LINE_FIELDS,
    InvoiceField,
    find_field,
    kind_of,
    lines_of,
    list_paths,
    title_of,
    value_at,
)
from docmill.invoices.queries import PENDING, SORTS, ReviewFilter, ReviewRow, Revision
from docmill.invoices.reviews import Judgement, OpenReview
from docmill.invoices.values import (
    NOTHING,
    clean,
    find_notation,
    look_up,
    parse_number,
)
from docmill.jobs.review_shapes import PAGES_SHOWN, STANDINGS, ReviewCell
from docmill.web import params, render
from docmill.web.params import Cursor
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(include_in_schema=False)

IN_SETTINGS: Final = "settings"  # so reasons say that a value may stand there
WAITING_SHOWN: Final = 50
ALWAYS_SHOWN: Final = frozenset({"description", "quantity", "unit_price", "amount"})
FEW_LINES: Final = 12  # so many stand below the values; more have the pane to themselves


@dataclass(frozen=True, slots=True)
class ReviewField(ReviewCell):
    """A value of an invoice, which a lesson may have read."""

    confidence: float | None
    checked: bool
    learned: str
    lesson: str


@dataclass(frozen=True, slots=True)
class LineColumn:
    """A column of the lines; one in which no line has anything is hidden until asked for."""

    name: str
    label: str
    kind: str
    empty: bool


@dataclass(frozen=True, slots=True)
class InboxView:
    """What of the inbox is shown, as the address says it. Amounts may come in either notation."""

    supplier: str = ""
    least: str = ""
    most: str = ""
    sort: str = "matter"

    @property
    def only(self) -> ReviewFilter:
        sort = self.sort if self.sort in SORTS else "matter"
        least, most = (parse_number(normalize_value("totals.net", one)) for one in self.bounds)
        return ReviewFilter((PENDING,), clean(self.supplier) or None, least, most, sort)

    @property
    def bounds(self) -> tuple[str, str]:
        return self.least, self.most

    @property
    def asks(self) -> bool:
        return any((self.supplier, self.least, self.most))

    def address(self, cursor: str) -> str:
        given = {name: value for name, value in asdict(self).items() if value}
        return f"/review?{urlencode({**given, 'cursor': cursor})}"


def read_inbox(
    supplier: Annotated[str, Query(max_length=200)] = "",
    least: Annotated[str, Query(max_length=40)] = "",
    most: Annotated[str, Query(max_length=40)] = "",
    sort: Annotated[str, Query(max_length=20)] = "matter",
) -> InboxView:
    return InboxView(supplier, least, most, sort)


@router.get("/review")
async def waiting_page(
    site: CurrentSite,
    owner: CurrentOwner,
    view: Annotated[InboxView, Depends(read_inbox)],
    cursor: str | None = None,
) -> Response:
    after = params.parse_cursor(cursor) if cursor else None
    async with read_connection(site.pool) as conn:
        found = await queries.list_reviews(
            conn, owner.key, view.only, after=after, limit=WAITING_SHOWN + 1
        )
        doubtful, waiting = await queries.count_waiting(conn, owner.key)
        elsewhere = await _find_elsewhere(conn, owner)
    rows, more = params.cut_page(found, WAITING_SHOWN, _place_review)
    return render.render_page(
        "reviews.html",
        view=view,
        sorts=SORTS,
        rows=[(each, _describe_total(each)) for each in rows],
        doubtful=doubtful,
        waiting=waiting,
        elsewhere=elsewhere,
        first=cursor is None,
        more=more and view.address(more),
    )


async def _find_elsewhere(conn: Connection, owner: Owner) -> list[MenuEntry]:
    """What waits for this person in other rooms, such as trades."""
    asked = [room.waiting for room in find_rooms().rooms.values() if room.waiting]
    found = [await resolve(reference)(conn, owner) for reference in asked]
    return [entry for entry in found if entry]


def _place_review(each: ReviewRow) -> Cursor:
    return Cursor(each.created_at, each.job_id)


def _describe_total(each: ReviewRow) -> str:
    return show_amount(each.summary or {})


@router.get("/review/{job_id}")
async def review_page(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    review = await reviews.open_review(site, owner, job_id)
    context = await _build_context(site, owner, review)
    pages = min(int(review.read.get("page_count") or 1), PAGES_SHOWN)
    return render.render_page("review.html", **context, pages=range(1, pages + 1))


@router.get("/review/{job_id}/values")
async def review_values(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    """The values alone, to be put in place of those that a page shows."""
    review = await reviews.open_review(site, owner, job_id)
    return render.render_page("review_values.html", **await _build_context(site, owner, review))


async def _build_context(site: Site, owner: Owner, review: OpenReview) -> dict[str, Any]:
    found = await reviews.judge(review, review.data)
    async with read_connection(site.pool) as conn:
        waiting = await queries.list_reviews(conn, owner.key, ReviewFilter(sort="matter"), limit=2)
        learning = await queries.is_learning(conn, owner.key)
        known = await queries.list_lessons(conn, owner.key, 100)
    others = [each for each in waiting if each.job_id != review.job.id]
    fields = {field.path: field for field in _review_fields(review, found)}
    doubtful = [fields[path] for path in found.review if path in fields and "[" not in path]
    return {
        "job": review.job,
        "head": review.head,
        "standing": STANDINGS[review.head.status],
        "doubtful": doubtful,
        "groups": _group_fields(fields, found),
        "no_lines": found.reasons.get("lines", ""),
        "count": len(found.review),
        "xml": found.xml.decode() if found.xml else "",
        "refusal": found.refusal or "",
        "in_settings": any(
            IN_SETTINGS in each.lower() for each in (*found.reasons.values(), found.refusal or "")
        ),
        "steps": [_describe_step(each) for each in reversed(review.history)],
        "next": others[0] if others else None,
        "learning": learning,
        "lessons": [(each, title_of(each.field)) for each in known],
        **_build_grid(review, found, fields),
    }


def _build_grid(
    review: OpenReview, found: Judgement, fields: dict[str, ReviewField]
) -> dict[str, Any]:
    """The lines as a grid: its columns, a row of fields for each line, and what they add up to."""
    lines, notation = lines_of(review.data), find_notation(review.data)
    amounts = [parse_number(look_up(line, "amount")) or NOTHING for line in lines]
    columns = [_make_column(field, lines) for field in LINE_FIELDS]
    return {
        "mark": notation.mark,
        "group": notation.group,
        "columns": columns,
        "lines": [
            [fields[f"lines[{index}].{column.name}"] for column in columns]
            for index in range(len(lines))
        ],
        "learned_columns": _list_learned(columns, fields),
        "few": len(lines) <= FEW_LINES,
        "line_doubts": sum(path.startswith("lines") for path in found.review),
        "sum": notation.write(f"{sum(amounts, NOTHING):f}"),
        "adds_up": found.checks.get("lines_net", ""),
    }


def _list_learned(
    columns: list[LineColumn], fields: dict[str, ReviewField]
) -> list[tuple[LineColumn, ReviewField]]:
    """The columns that were read as a lesson says, each with a cell that names it."""
    learned = [field for field in fields.values() if field.lesson and "[" in field.path]
    cells = {field.path.rpartition(".")[2]: field for field in reversed(learned)}
    return [(column, cells[column.name]) for column in columns if column.name in cells]


def _make_column(field: InvoiceField, lines: list[Any]) -> LineColumn:
    empty = not any(clean(look_up(line, field.name)) for line in lines)
    shown = field.name in ALWAYS_SHOWN or not empty
    return LineColumn(field.name, field.label, kind_of(f"lines[0].{field.name}"), not shown)


def _review_fields(review: OpenReview, found: Judgement) -> Iterator[ReviewField]:
    evidence: dict[str, Any] = review.data["evidence"]
    notation = find_notation(review.data)
    for path in _list_shown(review.data):
        seen: dict[str, Any] = evidence.get(path) or {}
        value, learned, kind = value_at(review.data, path), seen.get("learned"), kind_of(path)
        field = find_field(path)
        text = "" if value is None else str(value)
        yield ReviewField(
            path=path,
            name=title_of(path),
            value=text,
            shown=notation.write(text) if kind == "figure" else text,
            kind=kind,
            needed=bool(field and field.needed),
            reason=found.reasons.get(path, ""),
            page=seen.get("page"),
            box=" ".join(map(str, seen.get("box") or ())),
            confidence=seen.get("confidence"),
            edited=bool(seen.get("edited")),
            checked=bool(seen.get("checked")),
            learned=clean(look_up(learned, "from")),
            lesson=clean(look_up(learned, "lesson")),
        )


def _list_shown(data: dict[str, Any]) -> Iterator[str]:
    """Every value of the head that there is a place for, and every cell of the lines."""
    yield from (path for path in list_paths(data) if not path.startswith("lines["))
    for index in range(len(lines_of(data))):
        yield from (f"lines[{index}].{field.name}" for field in LINE_FIELDS)


def _group_fields(
    fields: dict[str, ReviewField], found: Judgement
) -> list[tuple[str, list[ReviewField]]]:
    """What is not in doubt, by what it belongs to."""
    sure = [field for field in fields.values() if field.path not in found.review]
    groups = [
        (title, [field for field in sure if field.path.rpartition(".")[0] == group])
        for group, title in GROUPS.items()
    ]
    return [(title, inside) for title, inside in groups if inside]


def _describe_step(each: Revision) -> dict[str, Any]:
    return {
        "kind": each.kind,
        "name": title_of(each.path) if each.path else "",
        "before": _shorten(each.before),
        "after": _shorten(each.after),
        "reason": each.reason,
        "by": each.made_by,
        "at": each.made_at,
    }


def _shorten(value: Any) -> str:
    if is_object(value):
        return str(value.get("description") or value.get("amount") or "a line")
    return "nothing" if value is None else str(value)
