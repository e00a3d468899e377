"""Models outside on the whole road: they embed, read fields, define words and read trades.

The double of OpenAI refuses what the real one does, such as a schema that is not strict.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from docmill.core.plugins import TEXT
from docmill.db.pool import Pool
from docmill.processes import services as outer
from doubles import HANG, Asked, doubling
from notes import GERMAN, note
from openai_double import OpenAIDouble, settings, slow_down
from outside import attempts, desk, done, outcomes
from pdfs import make_pdf
from sites import part, upload_to
from speakers import answer
from study.texts import RIVER
from waits import PATIENCE

pytestmark = pytest.mark.anyio

LETTER = make_pdf([[(72, 72, "Invoice No: INV-17"), (72, 100, "The lorry broke down in Lyon.")]])
DOUBTFUL, ALSO_DOUBTFUL = (
    note(*(line.replace("Stück 25", f"Stück {count}") for line in GERMAN)) for count in (26, 27)
)
_WORD = re.compile(r"(\d+)\. (\S+) \(([\w ]+)\)")


def writes(name: str, prompt: str) -> dict[str, Any]:
    """What a model may make of each prompt, from nothing but the prompt."""
    if name == "fields":
        return {"bill": _after("Invoice No:", prompt)}
    if name == "definitions":
        told = [
            {"number": int(number), "partOfSpeech": kind, "definition": f"{len(word)} letters"}
            for number, word, kind in _WORD.findall(prompt)
        ]
        return {"words": told}
    dates = {"trade_date": "2024-03-04"} if "04.03.2024" in prompt else {}
    known = {"direction": "buy", "isin": _after("ISIN:", prompt), "currency": "EUR", **dates}
    return {"trades": [{**known, "quantity": _after("Stück", prompt)}]}


def _after(label: str, text: str) -> str:
    return text.partition(label)[2].split()[0]


def to(path: str, asked: Asked) -> bool:
    return asked.path.endswith(path)


async def send(client: httpx2.AsyncClient, data: bytes, fields: str) -> str:
    form = {"pipeline": "extract", "fields": fields}
    answer_ = await client.post("/api/upload", data=form, files=[part(data)])
    return answer_.json()["jobId"]


async def test_extract_asks_models_for_fields_and_vectors_and_search_for_its_question(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outer, "OPENAI_TIMEOUT", timedelta(seconds=5))
    monkeypatch.setattr(outer, "SEARCH_TIMEOUT", timedelta(seconds=PATIENCE))
    async with doubling(OpenAIDouble(writes)) as double:
        double.when(lambda asked: to("/completions", asked), slow_down(1))
        double.when(lambda asked: to("/embeddings", asked), HANG)
        async with desk(pool, tmp_path, "extract", **settings(double, "gpt-test")) as client:
            job_id = await send(client, LETTER, "bill:id")
            data = await done(client, job_id)
            paid = len(double.heard("/chat/completions")), len(double.heard("/embeddings"))
            found = (await client.get("/api/search", params={"q": "automobile"})).json()["hits"]
            question = double.heard("/embeddings")[-1]
            double.next("POST", slow_down(60))
            words = (await client.get("/api/search", params={"q": "lorry"})).json()["hits"]
            asked = len(double.asked)
            assert (await client.get("/api/search", params={"q": "lorry"})).json()["hits"] == words
            assert len(double.asked) == asked, "it is left alone as long as it wants"
            double.when(lambda asked: to("/embeddings", asked), answer("200 OK", b'{"data": 7}'))
            other = await send(client, make_pdf([[(72, 72, "Invoice No: A-1")]]), "bill:id")
            assert (await done(client, other))["asked"]["bill"]["value"] == "A-1"
    busy, late = ("retry", "SERVICE_BUSY"), ("retry", "SERVICE_TIMEOUT")
    assert await outcomes(pool, job_id) == [busy, late, ("complete", None)]
    assert await outcomes(pool, other) == [("retry", "SERVICE_FAILED"), ("complete", None)]
    first, second, _ = await attempts(pool, job_id)
    assert first.ended_at
    assert second.started_at - first.ended_at >= timedelta(seconds=0.9)
    assert paid == (2, 2), "refused, then answered; unanswered, then answered"
    assert (data["asked"]["bill"]["value"], data["asked"]["bill"]["confidence"]) == ("INV-17", 0.97)
    assert (question["input"], question["dimensions"]) == (["automobile"], 384)
    assert [hit["job_id"] for hit in found] == [job_id], "no word of it is on the page"
    assert [hit["job_id"] for hit in words] == [job_id]


async def test_models_define_words_and_read_doubtful_trades(pool: Pool, tmp_path: Path) -> None:
    async with doubling(OpenAIDouble(writes)) as double:
        double.next("POST", slow_down(1))
        given = settings(double, "gpt-test")
        async with desk(pool, tmp_path, "study", "trades", **given) as client:
            files = [("file", ("river.txt", RIVER.encode(), TEXT))]
            sent = await client.post("/api/upload", data={"pipeline": "study"}, files=files)
            study_id = sent.json()["jobId"]
            words = (await done(client, study_id))["vocabulary"]
            trades = await done(client, await upload_to(client, "trades", DOUBTFUL))
            double.next("POST", slow_down(60))
            alone = await done(client, await upload_to(client, "trades", ALSO_DOUBTFUL))
    assert await outcomes(pool, study_id) == [("retry", "SERVICE_BUSY"), ("complete", None)]
    defined = [word for word in words if word["definedBy"] == "gpt-test"]
    assert [word["definition"] for word in defined] == [
        f"{len(word['lemma'])} letters" for word in defined
    ]
    assert len(defined) == len(words)
    assert (trades["source"], alone["source"]) == ("model", "page")
    assert alone["warnings"] == ["the language model was asked in vain (SERVICE_BUSY)"]
    (trade,) = trades["trades"]
    assert (trade["isin"], trade["quantity"]) == ("DE0007236101", "26")
