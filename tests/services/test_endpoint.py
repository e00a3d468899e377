"""Other people's services, as they answer, refuse, ask for a pause, hang and talk nonsense."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.parser import BytesParser
from typing import Any

import pytest

from docmill.core.faults import DocmillError
from docmill.services import endpoint
from docmill.services.ai_parser import AIParser
from docmill.services.endpoint import Endpoint, parse_retry_after
from docmill.services.openai import OpenAI
from speakers import Speaker, answer, speaking
from waits import PATIENCE

pytestmark = pytest.mark.anyio

SOON = timedelta(seconds=0.3)
LATER = timedelta(seconds=PATIENCE)
CHAT = {"system": "s", "prompt": "p", "schema": {"type": "object"}, "name": "cards"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def asked(
    speaker: Speaker, call: Callable[[OpenAI], Awaitable[Any]], limit: timedelta = LATER
) -> Any:
    headers = {"authorization": "Bearer key"}
    async with Endpoint(speaker.url, timeout=limit, headers=headers, trust_env=False) as opened:
        return await call(OpenAI(opened, "m1"))


async def fault_of(says: bytes, call: Callable[[OpenAI], Awaitable[Any]]) -> DocmillError:
    async with speaking(says) as speaker:
        with pytest.raises(DocmillError) as raised:
            await asked(speaker, call)
    return raised.value


def embed(*texts: str) -> Callable[[OpenAI], Awaitable[Any]]:
    return lambda client: client.embed({"texts": list(texts)})


def chat(content: object, finish: str = "stop", **message: object) -> bytes:
    said = {"role": "assistant", "content": content, **message}
    body = {"choices": [{"index": 0, "message": said, "finish_reason": finish}]}
    return answer("200 OK", json.dumps(body).encode())


def vectors(*pairs: tuple[int, object]) -> bytes:
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in pairs]
    return answer("200 OK", json.dumps({"data": data}).encode())


async def test_texts_become_vectors_in_their_own_order() -> None:
    async with speaking(vectors((1, [0.5, 1]), (0, [0.25, -1]))) as speaker:
        found = await asked(speaker, embed("a", "b"))
    assert found == {"vectors": [[0.25, -1.0], [0.5, 1.0]], "model": "m1"}
    head, body = speaker.heard[0]
    assert head.startswith(b"POST /embeddings HTTP/1.1\r\n")
    assert b"authorization: Bearer key" in head
    assert json.loads(body) == {"model": "m1", "input": ["a", "b"], "encoding_format": "float"}


async def test_a_prompt_becomes_an_object_of_the_schema() -> None:
    async with speaking(chat('{"cards": []}')) as speaker:
        found = await asked(speaker, lambda client: client.complete(CHAT))
    assert found == {"value": {"cards": []}, "model": "m1", "usage": {}}
    head, body = speaker.heard[0]
    assert head.startswith(b"POST /chat/completions HTTP/1.1\r\n")
    form = json.loads(body)["response_format"]
    assert form["json_schema"] == {"name": "cards", "schema": CHAT["schema"], "strict": True}


async def test_a_pdf_becomes_trades() -> None:
    said = answer("200 OK", b'{"trades": [{"isin": "DE0007164600"}], "model": "x"}')
    async with (
        speaking(said) as speaker,
        Endpoint(f"{speaker.url}/parse", timeout=LATER, trust_env=False) as opened,
    ):
        found = await AIParser(opened).parse("d-1", b"%PDF-1.7 \0\xff")
    assert found == {"trades": [{"isin": "DE0007164600"}]}
    head, body = speaker.heard[0]
    assert head.startswith(b"POST /parse HTTP/1.1\r\n")
    headers = BytesParser().parsebytes(head.partition(b"\r\n")[2], headersonly=True)
    assert headers["x-document-id"] == "d-1"
    part = _only_part(headers["content-type"], body)
    assert part.get_param("name", header="content-disposition") == "pdf"
    assert part.get_payload(decode=True) == b"%PDF-1.7 \0\xff"


def _only_part(kind: str, body: bytes) -> "Message[str, str]":
    whole = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    (part,) = whole.walk() if not whole.is_multipart() else list(whole.walk())[1:]
    return part


@pytest.mark.parametrize(
    ("says", "code", "pause"),
    [
        (answer("429 Slow", b'{"error": {"code": "rate"}}', retry_after="7"), "SERVICE_BUSY", 7.0),
        (answer("429 No", b'{"error": {"code": "insufficient_quota"}}'), "SERVICE_REFUSED", None),
        (answer("503 Busy", retry_after="Thu, 01 Jan 1970 00:00:00 GMT"), "SERVICE_BUSY", 0.0),
        (answer("503 Busy", retry_after="soon"), "SERVICE_BUSY", None),
        (answer("500 Oops", b"<html>ACME</html>"), "SERVICE_FAILED", None),
        (answer("302 Found", location="http://127.0.0.1:1"), "SERVICE_FAILED", None),
        (answer("408 Slow"), "SERVICE_TIMEOUT", None),
        (answer("401 No", b'{"error": {"code": "invalid_api_key"}}'), "SERVICE_REFUSED", None),
        (answer("400 No", b'{"error": {"code": "of ACME Corp"}}'), "SERVICE_REFUSED", None),
        (answer("200 OK", b"<html>"), "SERVICE_FAILED", None),
        (answer("200 OK", b"[" * 100_000), "SERVICE_FAILED", None),
        (answer("200 OK", b"{}")[:-1], "SERVICE_FAILED", None),
        (b"", "SERVICE_FAILED", None),
    ],
)
async def test_a_failing_service_is_a_fault_with_the_pause_it_asks_for(
    says: bytes, code: str, pause: float | None
) -> None:
    fault = await fault_of(says, embed("a"))
    assert (fault.fault.code, fault.facts.get("retryAfter")) == (code, pause)
    assert "ACME" not in fault.detail


@pytest.mark.parametrize(
    "says",
    [
        vectors((0, [1.0])),
        vectors((0, [1.0]), (1, [1.0, 2.0])),
        vectors((0, [1.0]), (2, [1.0])),
        vectors((0, []), (1, [])),
        vectors((0, ["x"]), (1, [1.0])),
        vectors((0, [float("nan")]), (1, [1.0])),
        answer("200 OK", b'{"data": null}'),
        answer("200 OK", b"[]"),
    ],
)
async def test_vectors_that_do_not_fit_the_texts_are_not_taken(says: bytes) -> None:
    assert (await fault_of(says, embed("a", "b"))).fault.code == "SERVICE_FAILED"


@pytest.mark.parametrize(
    ("says", "code"),
    [
        (chat("{"), "SERVICE_FAILED"),
        (chat("[1]"), "SERVICE_FAILED"),
        (chat(None), "SERVICE_FAILED"),
        (answer("200 OK", b'{"choices": []}'), "SERVICE_FAILED"),
        (chat('{"a": ', finish="length"), "SERVICE_REFUSED"),
        (chat(None, refusal="I won't"), "SERVICE_REFUSED"),
    ],
)
async def test_half_an_object_is_not_taken(says: bytes, code: str) -> None:
    fault = await fault_of(says, lambda client: client.complete(CHAT))
    assert fault.fault.code == code


@pytest.mark.parametrize(
    "request_", [None, [], {}, {"texts": []}, {"texts": [""]}, {"texts": ["a"], "model": "other"}]
)
async def test_a_wrong_question_is_not_even_asked(request_: object) -> None:
    async with speaking(vectors((0, [1.0]))) as speaker:
        with pytest.raises(DocmillError) as raised:
            await asked(speaker, lambda client: client.embed(request_))
    assert raised.value.fault.code == "SERVICE_REFUSED"
    assert speaker.heard == []


@pytest.mark.parametrize("kept", [0, -3])
async def test_a_service_that_hangs_is_given_up_in_time(kept: int) -> None:
    async with speaking(vectors((0, [1.0]))[:kept], hangs=True) as speaker:
        with pytest.raises(DocmillError) as raised:
            await asked(speaker, embed("a"), SOON)
    assert raised.value.fault.code == "SERVICE_TIMEOUT"


async def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST_BYTES", 1000)
    fault = await fault_of(answer("200 OK", b" " * 2000), embed("a"))
    assert fault.fault.code == "SERVICE_REFUSED"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120.0),
        (" 5 ", 5.0),
        ("-5", None),
        ("Thu, 01 Jan 2026 00:02:00 GMT", 120.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
        ("never", None),
    ],
)
def test_both_forms_of_retry_after_are_read(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, NOW) == seconds
