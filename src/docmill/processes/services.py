"""Other people's services, opened as the settings name them."""

import asyncio
import importlib
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any, Final

from docmill.app import GATEWAY
from docmill.cache import Cache, MemoryCache
from docmill.core.installed import StartError
from docmill.reading import embeddings
from docmill.reading.embeddings import Embed, embed_locally
from docmill.services import ai_parser
from docmill.services.breaker import ServiceGuard
from docmill.services.broker import Service, ServiceCall, ServiceRequest
from docmill.services.endpoint import Endpoint
from docmill.services.gateway import GatewayRunner, open_gateways_at
from docmill.services.model_calls import ModelTerms
from docmill.services.openai import OpenAI
from docmill.services.pace import make_paces
from docmill.settings import Settings

OPENAI_TIMEOUT: Final = timedelta(seconds=120)
SEARCH_TIMEOUT: Final = timedelta(seconds=5)  # somebody waits for an answer


async def open_gateways(settings: Settings, stack: AsyncExitStack) -> dict[str, GatewayRunner]:
    """The pipelines that a service runs for us."""
    if settings.gateway_url is None:
        return {}
    client = await open_gateways_at(settings.gateway_url.split(","), stack)
    # Jobs that wait for the gateway are failed by the upkeep, each after its own time.
    return {"invoice": GatewayRunner(client, ServiceGuard(GATEWAY, patience=timedelta.max))}


async def open_services(
    settings: Settings, stack: AsyncExitStack, cache: Cache | None = None
) -> dict[str, Service]:
    """By name. To add one, add its answer: a function of a ServiceRequest."""
    answers = {
        **await _open_openai(settings, stack),
        **await _open_ai_parser(settings, stack),
        **await _open_reader(settings, stack),
    }
    patience = timedelta(seconds=settings.breaker_patience_seconds)
    terms = {name: _find_terms(settings, name) for name in answers}
    paces = make_paces(answers, settings.service_limits, cache or MemoryCache())
    return {
        name: Service(ServiceGuard(name, patience=patience), one, terms[name], paces[name])
        for name, one in answers.items()
    }


async def _open_openai(settings: Settings, stack: AsyncExitStack) -> dict[str, ServiceCall]:
    """Only with a model's name: a key that lies around for other tools sends no document away."""
    endpoint = await stack.enter_async_context(_openai_endpoint(settings, OPENAI_TIMEOUT))
    answers: dict[str, ServiceCall] = {}
    if settings.openai_embedding_model:
        embedder = OpenAI(endpoint, settings.openai_embedding_model)
        answers["embed"] = lambda question: embedder.embed(question.request)
    if settings.openai_model:
        writer = OpenAI(endpoint, settings.openai_model)
        answers["complete"] = lambda question: writer.complete(question.request)
    return answers


def _find_terms(settings: Settings, service: str) -> ModelTerms | None:
    prices = settings.openai_prompt_price, settings.openai_completion_price
    model = settings.openai_model if service == "complete" else None
    return ModelTerms(model, *prices) if model else None


def _openai_endpoint(settings: Settings, timeout: timedelta) -> Endpoint:
    key = settings.openai_api_key
    headers = {"authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    return Endpoint(settings.openai_url, timeout=timeout, headers=headers)


async def open_embedder(settings: Settings, stack: AsyncExitStack) -> Embed:
    """What makes the vectors of questions: the same model that makes those of passages.

    While it is left alone nobody waits for it: words are searched for without it.
    """
    if settings.openai_embedding_model is None:
        return embed_locally
    endpoint = await stack.enter_async_context(_openai_endpoint(settings, SEARCH_TIMEOUT))
    client, guard = OpenAI(endpoint, settings.openai_embedding_model), ServiceGuard("embed")

    async def ask(text: str) -> tuple[str, list[float]] | None:
        asked = {"texts": [text], "dimensions": embeddings.WIDTH}
        answer = await guard.through(partial(client.embed, asked))
        (vector,) = answer["vectors"]
        return (answer["model"], vector) if len(vector) == embeddings.WIDTH else None

    return ask


async def _open_ai_parser(settings: Settings, stack: AsyncExitStack) -> dict[str, ServiceCall]:
    if settings.ai_parser_url is None:
        return {}
    endpoint = Endpoint(settings.ai_parser_url, timeout=ai_parser.TIMEOUT, trust_env=False)
    parser = ai_parser.AIParser(await stack.enter_async_context(endpoint))

    async def parse(question: ServiceRequest) -> Any:
        pdf = await asyncio.to_thread(question.read_document)
        return await parser.parse(str(question.job.document_id), pdf)

    return {"parse_trades": parse}


async def _open_reader(settings: Settings, stack: AsyncExitStack) -> dict[str, ServiceCall]:
    if settings.reader != "azure":
        return {}
    key, azure = settings.reader_key, load_azure()
    assert settings.reader_endpoint
    assert key
    account = azure.AzureAccount(
        settings.reader_endpoint, key.get_secret_value(), settings.reader_model
    )
    reader = await azure.open_reader(account, stack)

    async def analyze(question: ServiceRequest) -> Any:
        document = partial(asyncio.to_thread, question.read_document)
        return await reader.analyze(question.request, document, question.note)

    return {"analyze": analyze}


def load_azure() -> Any:
    """The module that knows Azure's SDK, which is an extra. Raises StartError without it."""
    try:
        return importlib.import_module("docmill.services.azure")
    except ImportError as exc:
        raise StartError(
            f"DOCMILL_READER=azure needs a library that is not installed ({exc.name}).\n"
            "Run: pip install 'docmill[azure-reader]'."
        ) from exc
