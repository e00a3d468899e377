"""Other people's services, opened as the settings name them."""

import asyncio
import importlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from docmill.app import GATEWAY
from docmill.cache import Cache, MemoryCache
from docmill.core.extras import advise_extra
from docmill.core.installed import StartError
from docmill.db.pool import Pool
from docmill.reading import embeddings
from docmill.reading.embeddings import Embed, VectorModel, embed_locally
from docmill.services import ai_parser
from docmill.services.breaker import Breaker, BreakerConfig, ServiceGuard, list_paused
from docmill.services.broker import Service, ServiceCall, ServiceRequest
from docmill.services.endpoint import Endpoint
from docmill.services.gateway import GatewayRunner, open_gateways_at
from docmill.services.model_calls import ModelTerms
from docmill.services.openai import OpenAI
from docmill.services.pace import make_paces
from docmill.settings import BreakerRule, Settings

OPENAI_TIMEOUT: Final = timedelta(seconds=120)
SEARCH_TIMEOUT: Final = timedelta(seconds=5)  # somebody waits for an answer


async def open_gateways(settings: Settings, stack: AsyncExitStack) -> dict[str, GatewayRunner]:
    """The pipelines that a service runs for us."""
    if settings.gateway_url is None:
        return {}
    client = await open_gateways_at(settings.gateway_url.split(","), stack)
    # Jobs that wait for the gateway are failed by the upkeep, each after its own time.
    breaker = Breaker(breaker_config(settings, GATEWAY))
    return {
        "invoice": GatewayRunner(client, ServiceGuard(GATEWAY, breaker, patience=timedelta.max))
    }


def breaker_config(settings: Settings, service: str) -> BreakerConfig:
    """What is said of the service, else of all of them."""
    own = settings.breakers.get(service) or BreakerRule.model_validate({})
    return BreakerConfig(
        timedelta(seconds=own.window_seconds or settings.breaker_window_seconds),
        own.share or settings.breaker_share,
        own.fewest or settings.breaker_fewest,
        timedelta(seconds=own.cool_down_seconds or settings.breaker_cool_down_seconds),
    )


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
        name: Service(
            ServiceGuard(name, Breaker(breaker_config(settings, name)), patience=patience),
            one,
            terms[name],
            paces[name],
        )
        for name, one in answers.items()
    }


async def _open_openai(settings: Settings, stack: AsyncExitStack) -> dict[str, ServiceCall]:
    """Only with a model's name: a key that lies around for other tools sends no document away."""
    endpoint = await stack.enter_async_context(_openai_endpoint(settings, OPENAI_TIMEOUT))
    answers: dict[str, ServiceCall] = {}
    if settings.openai_embedding_model:
        width = settings.openai_embedding_width or None
        embedder = OpenAI(endpoint, settings.openai_embedding_model, width)
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


async def open_embedder(
    settings: Settings, stack: AsyncExitStack, pool: Pool | None = None
) -> Embed:
    """What makes the vectors of questions: the model that made those of the passages.

    While it is left alone nobody waits for it: words are searched for without it. Without a model
    that is set, no question leaves this machine.
    """
    if settings.openai_embedding_model is None:
        return embed_locally
    endpoint = await stack.enter_async_context(_openai_endpoint(settings, SEARCH_TIMEOUT))
    guard = ServiceGuard("embed", Breaker(breaker_config(settings, "embed")))
    return QuestionEmbedder(settings, endpoint, guard, pool)


@dataclass(frozen=True, slots=True)
class QuestionEmbedder:
    """Any model of the service, and the built-in one."""

    settings: Settings
    endpoint: Endpoint
    guard: ServiceGuard
    pool: Pool | None = None  # says whether an operator has paused the service

    async def __call__(
        self, texts: Sequence[str], model: VectorModel, /
    ) -> list[list[float]] | None:
        if model == embeddings.LOCAL and self.settings.openai_embedding_model != model.name:
            return await embed_locally(texts, model)
        # Not all models take a width; those that give their own are not asked for it.
        shortened = model.width in {embeddings.WIDTH, self.settings.openai_embedding_width}
        client = OpenAI(self.endpoint, model.name, model.width if shortened else None)
        if self.pool:
            self.guard.hold(held=self.guard.name in await list_paused(self.pool))
        answer = await self.guard.through(partial(client.embed, {"texts": list(texts)}))
        vectors: list[list[float]] = answer["vectors"]
        return vectors if len(vectors[0]) == model.width else None


@dataclass(frozen=True, slots=True)
class PassageEmbedder:
    """What makes the vectors of passages, outside of a job."""

    model: VectorModel
    embed: Embed


async def open_passage_embedder(
    settings: Settings, stack: AsyncExitStack, name: str | None
) -> PassageEmbedder | None:
    """By the model that is set, or the built-in one by its name; None where that is missing.

    Raises DocmillError where the service does not answer: it is asked for a first vector, since
    nobody else knows its width.
    """
    remote = settings.openai_embedding_model
    if remote is None or name == embeddings.MODEL_NAME != remote:
        found = embeddings.find_folder()
        return PassageEmbedder(embeddings.LOCAL, embed_locally) if found else None
    endpoint = await stack.enter_async_context(_openai_endpoint(settings, OPENAI_TIMEOUT))
    client = OpenAI(endpoint, remote, settings.openai_embedding_width or None)
    first = await client.embed({"texts": ["docmill"]})
    model = embeddings.identify_model(remote, len(first["vectors"][0]))

    async def embed(texts: Sequence[str], _: VectorModel, /) -> list[list[float]]:
        return (await client.embed({"texts": list(texts)}))["vectors"]

    return PassageEmbedder(model, embed)


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
            + advise_extra("azure-reader")
        ) from exc
