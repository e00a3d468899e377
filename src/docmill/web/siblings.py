"""Several web processes behind one port: what one of them is asked, it answers for all."""

import asyncio
from collections.abc import Sequence
from typing import Final

import httpx2
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families

ANSWER_SECONDS: Final = 10.0


async def merge_metrics(addresses: Sequence[str]) -> bytes:
    """What several processes count, with the number of each as the label `process`.

    One that does not answer is left out, as Prometheus leaves out what it can't reach.
    """
    async with httpx2.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as http:
        texts = await asyncio.gather(*(_read_text(http, address) for address in addresses))
    merged: dict[str, Metric] = {}
    for number, text in enumerate(texts, 1):
        for family in text_string_to_metric_families(text):
            known = merged.setdefault(
                family.name, Metric(family.name, family.documentation, family.type)
            )
            for sample in family.samples:
                labels = {**sample.labels, "process": str(number)}
                known.add_sample(sample.name, labels, sample.value)
    registry = CollectorRegistry()
    registry.register(_Families(list(merged.values())))
    return generate_latest(registry)


class _Families:
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families: Sequence[Metric] = families

    def collect(self) -> Sequence[Metric]:
        return self._families


async def _read_text(http: httpx2.AsyncClient, address: str) -> str:
    try:
        answer = await http.get(f"{address}/metrics")
    except httpx2.TransportError:
        return ""
    return answer.text if answer.is_success else ""
