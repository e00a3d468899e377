"""Documents that a service has laid out: what comes of them is what the built-in reader gives."""

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from azure_double import Operation, analysis
from docmill.core import plugins
from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Memory, Source, Tools
from docmill.extract.pipeline import pipeline
from docmill.extract.reader import layout_service
from docmill.reading.page_json import unpack_page
from docmill.services import azure as told
from eval.pdf import assemble, stream, written
from pdfs import encrypted_pdf, make_pdf

Ask = Callable[[str, Any], Any]
SMALL = 0.02  # points: the service tells tenthousandths of an inch
PLACE = re.compile(r"(?<=[\[ ])\d+\.\d+(?=[,\]])")

REPORT = make_pdf(
    [
        [
            (72, 60, "Annual Report"),
            (72, 100, "Report No: AR-2024"),
            (300, 100, "Date: 2024-01-31"),
            (72, 140, "We sold more than ever before, and more of it was paid for than in any"),
            (72, 154, "other year since the founding of the house."),
            *((x, 200 + 16 * row, f"{name}{row}") for row in range(4) for x, name in
              ((72, "item"), (200, "4."), (300, "12.5"))),
        ],
        [(72, 72, "Second page, Total: EUR 12.50")],
    ]
)  # fmt: skip


def service(pdf: bytes, model: str = "prebuilt-layout") -> Ask:
    """Answers as the worker does, without a socket between."""
    features = {"features": "keyValuePairs"} if model == "prebuilt-document" else {}

    def ask(_: str, request: Any) -> Any:
        query = {"pages": request["pages"], "stringIndexType": "unicodeCodePoint", **features}
        layout = told.AzureLayout.model_validate(analysis(Operation("prebuilt-layout", pdf, query)))
        return {**layout.model_dump(exclude_defaults=True), "model": model}

    return ask


def run(pdf: bytes, ask: Ask | None = None, stages: list[str] | None = None) -> Any:
    heard = [] if stages is None else stages
    tools = Tools(lambda _, stage: heard.append(stage))
    if ask:
        tools = Tools(tools.progress, frozenset({layout_service.SERVICE}), ask)
    return json.loads(json.dumps(pipeline.run(Source(io.BytesIO(pdf), "a.pdf", PDF), tools).data))


def boxes(data: Any) -> tuple[str, list[float]]:
    """What was found without its places, and the places; the service knows no lines in a text."""
    text = json.dumps(data).replace("\\n", " ")
    return PLACE.sub("0", text), [float(place) for place in PLACE.findall(text)]


def turned(quarter: int) -> bytes:
    """A page that a viewer turns, with text across and text along its edge."""
    content = written([(72, 72, "Invoice No: INV-17"), (72, 90, "Total: 5.00")], 842)
    side = b"BT /F1 12 Tf 0 1 -1 0 500 300 Tm (along the edge) Tj ET"
    page = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate {quarter} /Contents 4 0 R"
    font = "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    return assemble([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< {page} {font} >>".encode(), stream(content + b"\n" + side),
    ])  # fmt: skip


@pytest.mark.parametrize("pdf", [REPORT, turned(0), turned(90), turned(270)])
def test_a_laid_out_document_gives_what_the_built_in_reader_gives(pdf: bytes) -> None:
    ours, theirs = run(pdf), run(pdf, service(pdf))
    assert (ours.pop("reader"), theirs.pop("reader")) == ("built-in", "azure prebuilt-layout")
    (found, places), (expected, expected_places) = boxes(theirs), boxes(ours)
    assert found == expected
    assert places == pytest.approx(expected_places, abs=SMALL)


def test_fields_of_the_service_come_first_with_its_own_confidence() -> None:
    found = run(REPORT, service(REPORT, "prebuilt-document"))
    assert found["reader"] == "azure prebuilt-document"
    fields = [(one["label"], one["value"], one["confidence"]) for one in found["fields"]]
    assert fields == [
        ("Report No", "AR-2024", 0.87), ("Date", "2024-01-31", 0.87),
        ("Second page, Total", "EUR 12.50", 0.87),
    ]  # fmt: skip
    assert found["fields"][1]["normal"] == {"date": "2024-01-31"}


def test_pages_are_asked_for_in_ranges_and_each_is_told_of() -> None:
    pdf = make_pdf([[(72, 72, f"page {at}")] for at in range(45)])
    stages: list[str] = []
    ranges: list[str] = []
    known = service(pdf)

    def ask(name: str, request: Any) -> Any:
        ranges.append(request["pages"])
        return known(name, request)

    found = run(pdf, ask, stages)
    assert ranges == ["1-20", "21-40", "41-45"]
    assert [page["text"] for page in found["pages"]] == [f"page {at}" for at in range(45)]
    assert stages[stages.index("asking for pages 21 to 40 of 45") - 1] == "page 20 of 45"


def test_pages_can_be_read_before_all_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "STEP_SECONDS", 0)
    kept: dict[int, list[Any]] = {}

    def keep(_: str, number: int, items: list[Any]) -> None:
        assert number not in kept, "it was there"
        kept[number] = items

    memory = Memory(keep, lambda _, number: kept.get(number))
    known = service(REPORT)
    tools = Tools(lambda _, __: None, frozenset({layout_service.SERVICE}), known, memory=memory)
    for _ in range(2):
        pipeline.run(Source(io.BytesIO(REPORT), "a.pdf", PDF), tools)
    pages = [unpack_page(*items).page for items in kept.values()]
    assert [page.text for page in pages if page] == [
        page["text"] for page in run(REPORT, known)["pages"]
    ]


def test_a_broken_pdf_is_not_paid_for() -> None:
    def ask(_: str, __: Any) -> Any:
        raise AssertionError("it was sent away")

    with pytest.raises(DocmillError) as raised:
        run(encrypted_pdf(), ask)
    assert raised.value.fault.code == "BAD_PDF"


def test_pages_that_the_service_leaves_out_are_named() -> None:
    """As an account for trying it out does after the second page."""
    pdf = make_pdf([[(72, 72, f"page {at}")] for at in range(3)])
    known = service(pdf)

    def ask(name: str, request: Any) -> Any:
        answer = known(name, request)
        return {**answer, "pages": answer["pages"][:2]}

    assert "page 3 was not read by the service" in run(pdf, ask)["warnings"]
    with pytest.raises(DocmillError) as raised:
        run(pdf, lambda _, __: {"model": "m", "pages": []})
    assert raised.value.fault.code == "SERVICE_REFUSED"


def _at(page: int, x: float, y: float) -> dict[str, Any]:
    corners = [x, y, x + 1, y, x + 1, y + 0.2, x, y + 0.2]
    return {"page_number": page, "polygon": corners}


def _words(page: int, text: str, offset: int) -> dict[str, Any]:
    words = [
        {"content": word, "polygon": _at(page, 1 + 1.1 * at, 1)["polygon"],
         "span": {"offset": offset + sum(map(len, text.split()[:at])) + at, "length": len(word)}}
        for at, word in enumerate(text.split())
    ]  # fmt: skip
    return {"page_number": page, "width": 8.27, "height": 11.69, "words": words}


def test_what_runs_over_two_pages_is_told_on_each_and_roles_are_kinds() -> None:
    span = {"spans": [{"offset": 0, "length": 14}]}
    both = {"content": "it goes on here", "bounding_regions": [_at(1, 1, 1), _at(2, 1, 1)], **span}
    cells = [
        {"content": text, "row_index": row, "column_index": 0, "bounding_regions": [region]}
        for row, (text, region) in enumerate(
            [("head", _at(1, 1, 5)), (":selected: yes", _at(2, 1, 5)), ("", _at(2, 1, 6))]
        )
    ]
    later = {"spans": [{"offset": 100, "length": 30}]}
    answer = {
        "model": "prebuilt-layout",
        "pages": [_words(1, "it goes", 0), _words(2, "on here", 8)],
        "paragraphs": [
            both,
            {"content": "in a cell", "bounding_regions": [_at(1, 1, 5)],
             "spans": [{"offset": 110, "length": 9}]},
            {"content": "7", "role": "pageNumber", "bounding_regions": [_at(1, 1, 11)],
             "spans": [{"offset": 200, "length": 1}]},
            {"content": "a note", "role": "footnote", "bounding_regions": [_at(1, 1, 10)],
             "spans": [{"offset": 190, "length": 6}]},
        ],
        "tables": [{"cells": cells, "bounding_regions": [_at(1, 1, 5), _at(2, 1, 5)], **later}],
    }  # fmt: skip
    found = run(make_pdf([[(72, 72, "x")]] * 2), lambda _, __: answer)
    first, second = (
        [(block["kind"], block["text"]) for block in page["blocks"]] for page in found["pages"]
    )
    assert first == [
        ("paragraph", "it goes"), ("table", "head"), ("paragraph", "a note"), ("footer", "7"),
    ]  # fmt: skip
    assert second == [("paragraph", "on here"), ("table", "☒ yes")]
