"""A process of its own against a database that runs elsewhere."""

from contextlib import AsyncExitStack

from docmill.app import StartError, open_app
from docmill.core.parts import Parts
from docmill.processes.supervise import OpenParts, StopSignal, supervise_all
from docmill.settings import Settings


async def run_alone(settings: Settings, opening: OpenParts, stop: StopSignal) -> None:
    """What is opened, against DATABASE_URL."""
    if settings.database_url is None:
        raise StartError("DATABASE_URL is not set.\nSet it, or use `docmill serve`.")
    url = settings.database_url.get_secret_value()
    await run_parts(settings, url, opening, stop)


async def run_parts(settings: Settings, url: str, opening: OpenParts, stop: StopSignal) -> None:
    async with AsyncExitStack() as stack:
        with stop.cancelling():
            services = await stack.enter_async_context(open_app(settings, url, Parts()))
            kept = await stack.enter_async_context(opening(settings, services, stop))
        await supervise_all(kept, stop, services.parts)
