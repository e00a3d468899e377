"""GET /api/search and the search page, over passages written as a worker writes them."""

import json
from typing import Any

import httpx2
import pytest

from docmill.extract import queries
from docmill.extract.pages import cut_at_marks
from docmill.extract.search import find_spans
from road import claim
from sites import Site, a_pdf, upload

pytestmark = pytest.mark.anyio


async def read(site: Site, client: httpx2.AsyncClient, *texts: str) -> str:
    """A job whose document has these passages, without vectors."""
    job_id = await upload(client, a_pdf(texts[0]))
    rows = [
        {"page": at, "page_size": [595, 842], "box": [72, 90, 300, 102], "heading": "Terms",
         "text": text, "model": "", "embeddings": []}
        for at, text in enumerate(texts, 1)
    ]  # fmt: skip
    async with site.services.pool.connection() as conn:
        (job,) = await claim(conn)
        await queries.write_chunks(conn, job, json.dumps(rows))
    return job_id


async def found(client: httpx2.AsyncClient, **params: Any) -> dict[str, Any]:
    answer = await client.get("/api/search", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_hit_tells_where_it_is_and_which_words_fit(
    site: Site, client: httpx2.AsyncClient
) -> None:
    job_id = await read(site, client, "Goods stay ours until they are paid.", "Another matter.")

    (hit,) = (await found(client, q="paid goods"))["hits"]

    assert (hit["job_id"], hit["filename"], hit["page"]) == (job_id, "a.pdf", 1)
    assert (hit["box"], hit["page_size"]) == ([72, 90, 300, 102], [595, 842])
    assert [hit["text"][start:end] for start, end in hit["highlights"]] == ["Goods", "paid"]
    assert 0 < hit["score"] <= 1


async def test_pages_of_hits_follow_each_other_without_gap_or_repetition(
    site: Site, client: httpx2.AsyncClient
) -> None:
    await read(site, client, *(f"clause {at} of the contract" for at in range(7)))

    texts: list[str] = []
    cursor = None
    while True:
        given = {"q": "clause", "limit": 3, **({"cursor": cursor} if cursor else {})}
        page = await found(client, **given)
        texts += [hit["text"] for hit in page["hits"]]
        if (cursor := page["next_cursor"]) is None:
            break

    assert len(texts) == len(set(texts)) == 7


async def test_another_browser_finds_nothing_and_opens_nothing(
    site: Site, client: httpx2.AsyncClient
) -> None:
    await read(site, client, "the secret clause")
    link = (await client.get("/search", params={"q": "secret"})).text.partition(
        '"/search/passages/'
    )
    path = "/search/passages/" + link[2].partition("?")[0]
    assert (await client.get(path)).status_code == 200

    async with site.client() as stranger:
        assert (await found(stranger, q="secret")) == {"hits": [], "next_cursor": None}
        assert (await stranger.get(path)).status_code == 404
        assert "Nothing found" in (await stranger.get("/search?q=secret")).text


@pytest.mark.parametrize(
    ("params", "at"),
    [
        ({"q": "x", "cursor": "§"}, "cursor"),
        ({"q": "x", "cursor": "bmFuIDE"}, "cursor"),
        ({"q": "x", "document": "1"}, "document"),
        ({"q": "x", "since": "soon"}, "since"),
        ({"q": "x" * 1001}, "query.q"),
        ({}, "query.q"),
    ],
)
async def test_what_can_not_be_meant_is_refused(
    client: httpx2.AsyncClient, params: dict[str, Any], at: str
) -> None:
    answer = await client.get("/api/search", params=params)

    assert answer.status_code == 400
    assert answer.json()["mistakes"][0]["at"] == at


async def test_filters_are_kept_to(site: Site, client: httpx2.AsyncClient) -> None:
    await read(site, client, "a clause")

    assert len((await found(client, q="clause", filename="A.PD"))["hits"]) == 1
    assert (await found(client, q="clause", filename="b.pdf"))["hits"] == []
    assert (await found(client, q="clause", since="2999-01-01"))["hits"] == []
    assert (await found(client, q=" "))["hits"] == []


async def test_document_text_is_shown_as_text(site: Site, client: httpx2.AsyncClient) -> None:
    await read(site, client, "a clause <script>alert(1)</script> & more")

    shown = (await client.get("/search", params={"q": "clause"})).text

    assert "<mark>clause</mark> &lt;script&gt;" in shown
    assert "<script>alert" not in shown


def test_spans_are_counted_in_the_text_without_marks() -> None:
    assert find_spans("a \x02bc\x03 d \x02e\x03") == [(2, 4), (7, 8)]
    assert find_spans("plain") == []


def test_of_a_long_hit_the_list_shows_the_stretch_with_the_most_marks() -> None:
    text = "one tea " + "word " * 200 + "tea and tea " + "word " * 200
    marked = text.replace("tea", "\x02tea\x03")
    shown = cut_at_marks(text, marked, 100)
    assert [piece for piece, mark in shown if mark] == ["tea", "tea"]
    assert shown[0] == ("… ", False)
    assert shown[-1] == (" …", False)
    assert len("".join(piece for piece, _ in shown)) <= 104
    assert "".join(piece for piece, _ in cut_at_marks(text, marked)) == text
    assert "".join(piece for piece, _ in cut_at_marks("short tea", "short tea", 100)) == "short tea"
