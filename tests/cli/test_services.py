"""Services outside as an operator sets them up, and what is said when one can't be."""

import sys
from contextlib import AsyncExitStack

import pytest

from docmill.cli import services, surroundings
from docmill.cli.findings import State
from docmill.settings import BadSettings, Settings, read
from docmill.wiring import CannotStart

pytestmark = pytest.mark.anyio


def with_azure() -> Settings:
    return read(reader="azure", reader_endpoint="http://127.0.0.1:1", reader_key="k")


@pytest.fixture
def without_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.ai.documentintelligence.aio", None)
    monkeypatch.delitem(sys.modules, "docmill.clients.azure", raising=False)


async def test_nothing_is_sent_anywhere_unless_somebody_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "DOCUMENTINTELLIGENCE_ENDPOINT", "DOCUMENTINTELLIGENCE_API_KEY"):
        monkeypatch.setenv(name, "https://lies.around")
    async with AsyncExitStack() as stack:
        assert await services.services(read(), stack) == {}


async def test_the_reader_is_a_service_with_a_guard() -> None:
    async with AsyncExitStack() as stack:
        (known,) = (await services.services(with_azure(), stack)).items()
    assert (known[0], known[1].guard.name) == ("analyze", "analyze")
    assert surroundings.reader(with_azure()).state is State.OK


def test_azure_without_an_address_or_key_is_a_mistake_of_the_settings() -> None:
    with pytest.raises(BadSettings, match="needs DOCMILL_READER_ENDPOINT and DOCMILL_READER_KEY"):
        read(reader="azure", reader_endpoint="http://127.0.0.1:1")


@pytest.mark.usefixtures("without_sdk")
async def test_azure_without_its_library_says_what_to_install() -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(CannotStart, match=r"pip install 'docmill\[azure-reader\]'"):
            await services.services(with_azure(), stack)
    finding = surroundings.reader(with_azure())
    assert (finding.state, finding.advice) == (
        State.FAIL, "Run: pip install 'docmill[azure-reader]'.",
    )  # fmt: skip
