"""What a worker's runs may ask, and the gateway that may run them: as the settings say."""

import asyncio
import os
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final

from docmill.clients import ai_parser
from docmill.clients.ai_parser import AIParser
from docmill.clients.endpoint import Endpoint
from docmill.clients.gateway import GatewayClient
from docmill.clients.openai import OpenAI
from docmill.settings import Settings
from docmill.work.guard import Guard
from docmill.work.remote import ByGateway
from docmill.work.services import Answer, Question, Service

OPENAI_TIMEOUT: Final = timedelta(seconds=120)


async def elsewhere(settings: Settings, stack: AsyncExitStack) -> dict[str, ByGateway]:
    """The pipelines that a service runs for us."""
    if settings.gateway_url is None:
        return {}
    client = await stack.enter_async_context(GatewayClient(settings.gateway_url))
    # Jobs that wait for the gateway are failed by the upkeep, each after its own time.
    return {"invoice": ByGateway(client, Guard("gateway", patience=timedelta.max))}


async def services(settings: Settings, stack: AsyncExitStack) -> dict[str, Service]:
    """By name. To add one, add its answer: a client's method behind a function of a Question."""
    answers = {**await _openai(settings, stack), **await _parser(settings, stack)}
    patience = timedelta(seconds=settings.breaker_patience_seconds)
    return {
        name: Service(Guard(name, patience=patience), answer) for name, answer in answers.items()
    }


async def _openai(settings: Settings, stack: AsyncExitStack) -> dict[str, Answer]:
    """Only with a model's name: a key that lies around for other tools sends no document away."""
    key = settings.openai_api_key
    headers = {"authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    endpoint = Endpoint(settings.openai_url, timeout=OPENAI_TIMEOUT, headers=headers)
    await stack.enter_async_context(endpoint)
    answers: dict[str, Answer] = {}
    if settings.openai_embedding_model:
        embedder = OpenAI(endpoint, settings.openai_embedding_model)
        answers["embed"] = lambda question: embedder.embed(question.request)
    if settings.openai_model:
        writer = OpenAI(endpoint, settings.openai_model)
        answers["complete"] = lambda question: writer.complete(question.request)
    return answers


async def _parser(settings: Settings, stack: AsyncExitStack) -> dict[str, Answer]:
    if settings.ai_parser_url is None:
        return {}
    endpoint = Endpoint(settings.ai_parser_url, timeout=ai_parser.TIMEOUT, trust_env=False)
    parser = AIParser(await stack.enter_async_context(endpoint))

    async def parse(question: Question) -> Any:
        pdf = await asyncio.to_thread(document_of, question)
        return await parser.parse(str(question.job.document_id), pdf)

    return {"parse_trades": parse}


def document_of(question: Question) -> bytes:
    """The whole document; the run's own place in the file stays where it is."""
    pieces: list[bytes] = []
    place = 0
    while piece := os.pread(question.document, 1 << 20, place):
        pieces.append(piece)
        place += len(piece)
    return b"".join(pieces)
