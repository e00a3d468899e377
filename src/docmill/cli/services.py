"""What a worker's runs may ask, and the gateway that may run them: as the settings say."""

import asyncio
import importlib
import os
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any, Final

from docmill.clients import ai_parser
from docmill.clients.ai_parser import AIParser
from docmill.clients.endpoint import Endpoint
from docmill.clients.gateway import GatewayClient
from docmill.clients.openai import OpenAI
from docmill.embeddings import local
from docmill.settings import Settings
from docmill.web.finding import Embed, embed_here
from docmill.wiring import CannotStart
from docmill.work.guard import Guard
from docmill.work.remote import ByGateway
from docmill.work.services import Answer, Question, Service

OPENAI_TIMEOUT: Final = timedelta(seconds=120)
SEARCH_TIMEOUT: Final = timedelta(seconds=5)  # somebody waits for an answer


async def elsewhere(settings: Settings, stack: AsyncExitStack) -> dict[str, ByGateway]:
    """The pipelines that a service runs for us."""
    if settings.gateway_url is None:
        return {}
    client = await stack.enter_async_context(GatewayClient(settings.gateway_url))
    # Jobs that wait for the gateway are failed by the upkeep, each after its own time.
    return {"invoice": ByGateway(client, Guard("gateway", patience=timedelta.max))}


async def services(settings: Settings, stack: AsyncExitStack) -> dict[str, Service]:
    """By name. To add one, add its answer: a client's method behind a function of a Question."""
    answers = {
        **await _openai(settings, stack),
        **await _parser(settings, stack),
        **await _reader(settings, stack),
    }
    patience = timedelta(seconds=settings.breaker_patience_seconds)
    return {
        name: Service(Guard(name, patience=patience), answer) for name, answer in answers.items()
    }


async def _openai(settings: Settings, stack: AsyncExitStack) -> dict[str, Answer]:
    """Only with a model's name: a key that lies around for other tools sends no document away."""
    endpoint = await stack.enter_async_context(_endpoint(settings, OPENAI_TIMEOUT))
    answers: dict[str, Answer] = {}
    if settings.openai_embedding_model:
        embedder = OpenAI(endpoint, settings.openai_embedding_model)
        answers["embed"] = lambda question: embedder.embed(question.request)
    if settings.openai_model:
        writer = OpenAI(endpoint, settings.openai_model)
        answers["complete"] = lambda question: writer.complete(question.request)
    return answers


def _endpoint(settings: Settings, timeout: timedelta) -> Endpoint:
    key = settings.openai_api_key
    headers = {"authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    return Endpoint(settings.openai_url, timeout=timeout, headers=headers)


async def embed(settings: Settings, stack: AsyncExitStack) -> Embed:
    """What makes the vectors of questions: the same model that makes those of passages.

    While it is left alone nobody waits for it: words are searched for without it.
    """
    if settings.openai_embedding_model is None:
        return embed_here
    endpoint = await stack.enter_async_context(_endpoint(settings, SEARCH_TIMEOUT))
    client, guard = OpenAI(endpoint, settings.openai_embedding_model), Guard("embed")

    async def ask(text: str) -> tuple[str, list[float]] | None:
        asked = {"texts": [text], "dimensions": local.WIDTH}
        answer = await guard.through(partial(client.embed, asked))
        (vector,) = answer["vectors"]
        return (answer["model"], vector) if len(vector) == local.WIDTH else None

    return ask


async def _parser(settings: Settings, stack: AsyncExitStack) -> dict[str, Answer]:
    if settings.ai_parser_url is None:
        return {}
    endpoint = Endpoint(settings.ai_parser_url, timeout=ai_parser.TIMEOUT, trust_env=False)
    parser = AIParser(await stack.enter_async_context(endpoint))

    async def parse(question: Question) -> Any:
        pdf = await asyncio.to_thread(document_of, question)
        return await parser.parse(str(question.job.document_id), pdf)

    return {"parse_trades": parse}


async def _reader(settings: Settings, stack: AsyncExitStack) -> dict[str, Answer]:
    if settings.reader != "azure":
        return {}
    key, azure = settings.reader_key, azure_client()
    assert settings.reader_endpoint
    assert key
    account = azure.Account(settings.reader_endpoint, key.get_secret_value(), settings.reader_model)
    reader = await azure.opened(account, stack)

    async def analyze(question: Question) -> Any:
        document = partial(asyncio.to_thread, document_of, question)
        return await reader.analyze(question.request, document, question.note)

    return {"analyze": analyze}


def azure_client() -> Any:
    """The module that knows Azure's SDK, which is an extra. Raises CannotStart without it."""
    try:
        return importlib.import_module("docmill.clients.azure")
    except ImportError as exc:
        raise CannotStart(
            f"DOCMILL_READER=azure needs a library that is not installed ({exc.name}).\n"
            "Run: pip install 'docmill[azure-reader]'."
        ) from exc


def document_of(question: Question) -> bytes:
    """The whole document; the run's own place in the file stays where it is."""
    pieces: list[bytes] = []
    place = 0
    while piece := os.pread(question.document, 1 << 20, place):
        pieces.append(piece)
        place += len(piece)
    return b"".join(pieces)
