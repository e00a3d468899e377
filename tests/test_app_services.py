"""Services outside as an operator sets them up, and what is said when one can't be."""

import sys
from contextlib import AsyncExitStack

import pytest

from docmill.app import StartError
from docmill.core.extras import advise_extra
from docmill.processes import checks
from docmill.processes import services as app
from docmill.processes.checks import CheckState
from docmill.settings import ConfigError, Settings, read_settings

pytestmark = pytest.mark.anyio


def with_azure() -> Settings:
    return read_settings(reader="azure", reader_endpoint="http://127.0.0.1:1", reader_key="k")


@pytest.fixture
def without_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.ai.documentintelligence.aio", None)
    monkeypatch.delitem(sys.modules, "docmill.services.azure", raising=False)


async def test_nothing_is_sent_anywhere_unless_somebody_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "DOCUMENTINTELLIGENCE_ENDPOINT", "DOCUMENTINTELLIGENCE_API_KEY"):
        monkeypatch.setenv(name, "https://lies.around")
    async with AsyncExitStack() as stack:
        assert await app.open_services(read_settings(), stack) == {}


async def test_the_reader_is_a_service_with_a_guard() -> None:
    async with AsyncExitStack() as stack:
        (known,) = (await app.open_services(with_azure(), stack)).items()
    assert (known[0], known[1].guard.name) == ("analyze", "analyze")
    assert checks.check_reader(with_azure()).state is CheckState.OK


def test_azure_without_an_address_or_key_is_a_mistake_of_the_settings() -> None:
    with pytest.raises(ConfigError, match="needs DOCMILL_READER_ENDPOINT and DOCMILL_READER_KEY"):
        read_settings(reader="azure", reader_endpoint="http://127.0.0.1:1")


@pytest.mark.usefixtures("without_sdk")
async def test_azure_without_its_library_says_what_to_install() -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(StartError, match=r"make extras.*azure-reader"):
            await app.open_services(with_azure(), stack)
    finding = checks.check_reader(with_azure())
    assert (finding.state, finding.advice) == (
        CheckState.FAIL, advise_extra("azure-reader"),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["invoice_reader", "trades_reader", "fields_reader"])
def test_a_model_that_reads_must_be_named(name: str) -> None:
    for mode in ("model", "both"):
        with pytest.raises(ConfigError, match="needs DOCMILL_OPENAI_MODEL"):
            read_settings(**{name: mode})
    assert getattr(read_settings(**{name: "rules"}), name) == "rules"
    assert getattr(read_settings(**{name: "both"}, openai_model="m"), name) == "both"
