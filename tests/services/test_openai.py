"""OpenAI's API as its own SDK speaks it and as docmill does: to one double, in the same words."""

from datetime import timedelta
from typing import Any

import pytest
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, RateLimitError

from docmill.services.endpoint import Endpoint
from docmill.services.openai import OpenAI
from doubles import doubling
from openai_double import KEY, OpenAIDouble, slow_down, vector
from waits import PATIENCE

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"total": {"type": ["string", "null"]}},
    "required": ["total"],
    "additionalProperties": False,
}
FORM: Any = {
    "type": "json_schema",
    "json_schema": {"name": "fields", "schema": SCHEMA, "strict": True},
}
TOLD = {"system": "You read.", "prompt": "Total: 5", "schema": SCHEMA, "name": "fields"}
MESSAGES: Any = [
    {"role": "system", "content": "You read."},
    {"role": "user", "content": "Total: 5"},
]


def sdk(double: OpenAIDouble, key: str = KEY) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{double.url}/v1", api_key=key, max_retries=0)


def reads(_: str, prompt: str) -> dict[str, Any]:
    return {"total": prompt.rpartition(" ")[2]}


async def test_the_double_speaks_as_the_sdk_understands_it() -> None:
    async with doubling(OpenAIDouble(reads)) as double, sdk(double) as client:
        plain = await client.embeddings.create(model="m", input=["a car", "the sea"])
        chat = await client.chat.completions.create(
            model="m", messages=MESSAGES, response_format=FORM
        )
        double.next("POST", slow_down(7))
        with pytest.raises(RateLimitError) as limited:
            await client.embeddings.create(model="m", input="a")
        loose: Any = {"type": "json_schema", "json_schema": {**FORM["json_schema"],
                      "schema": {**SCHEMA, "required": []}}}  # fmt: skip
        with pytest.raises(BadRequestError):
            await client.chat.completions.create(
                model="m", messages=MESSAGES, response_format=loose
            )
    found = sorted(plain.data, key=lambda one: one.index)
    assert found[0].embedding == pytest.approx(vector("a car", 1536))
    assert chat.choices[0].message.content == '{"total": "5"}'
    assert limited.value.response.headers["retry-after"] == "7"


async def test_the_double_knows_its_key() -> None:
    async with doubling(OpenAIDouble()) as double, sdk(double, "another") as client:
        with pytest.raises(AuthenticationError):
            await client.embeddings.create(model="m", input="a")


async def test_docmill_asks_in_the_words_of_the_sdk() -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    async with doubling(OpenAIDouble(reads)) as double, sdk(double) as client:
        await client.embeddings.create(
            model="m", input=["a car", "the sea"], dimensions=384, encoding_format="float"
        )
        await client.chat.completions.create(
            model="m", messages=MESSAGES, response_format=FORM, temperature=0
        )
        async with Endpoint(
            f"{double.url}/v1",
            timeout=timedelta(seconds=PATIENCE),
            headers=headers,
            trust_env=False,
        ) as opened:
            ours = OpenAI(opened, "m")
            embedded = await ours.embed({"texts": ["a car", "the sea"], "dimensions": 384})
            completed = await ours.complete(TOLD)
    theirs, mine = double.asked[:2], double.asked[2:]
    for one, other in zip(theirs, mine, strict=True):
        assert (one.method, one.path, one.json) == (other.method, other.path, other.json)
        assert one.headers["authorization"] == other.headers["authorization"]
        assert one.headers["content-type"] == other.headers["content-type"]
    assert embedded["vectors"] == [vector("a car", 384), vector("the sea", 384)]
    assert completed["value"] == {"total": "5"}
