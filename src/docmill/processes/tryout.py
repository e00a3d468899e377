"""docmill try: our samples through a docmill that runs, or through one started for it."""

import asyncio
import os
import subprocess
import sys
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from docmill.cli.console import err, say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.remote import RemoteClient, Token, Url
from docmill.client.answers import RemoteJob
from docmill.client.asynchronous import HERE, LOOPBACK, AsyncClient
from docmill.core.faults import CommandError
from docmill.jobs.samples import SAMPLES, Sample

# A first start makes a database; that takes seconds, on a busy machine many.
START_SECONDS: Final = 180
LOOK_SECONDS: Final = 0.5
LEVEL: Final = "DOCMILL_LOG_LEVEL"
SERVE: Final = "import docmill.cli; docmill.cli.main()"


def try_samples(
    data: Data = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    stay: Annotated[
        bool, typer.Option("--stay/--no-stay", help="Keep running if this command started docmill.")
    ] = True,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Read a sample invoice and a sample trade note, and open the page.

    Uses the docmill at --url. If none answers, it starts one like `docmill serve`, and runs until
    Ctrl-C.

    docmill try

    docmill try --no-browser --no-stay --json
    """
    with _running_docmill(url, data) as served:
        found = asyncio.run(_read_samples(RemoteClient(url, token)))
        if as_json:
            say_json([_describe(sample, job) for sample, job in found])
        else:
            for sample, job in found:
                say(_summarise(sample, job, url))
        if browser:
            webbrowser.open(f"{url.rstrip('/')}/queue")
        if served and stay:
            say(f"docmill runs at {url}. Ctrl-C stops it.")
            served.wait()
    if not all(job.good for _, job in found):
        raise typer.Exit(1)


@contextmanager
def _running_docmill(url: str, data: Any) -> Generator["subprocess.Popen[bytes] | None"]:
    """One that answers at the address: None if it was there, else the one that was started."""
    if asyncio.run(_answers(url)):
        yield None
        return
    place = urlsplit(url)
    if place.scheme != "http" or place.hostname not in LOOPBACK:
        says = f"docmill does not answer at {url}."
        raise CommandError(f"{says}\nStart it there, or leave out --url.")
    words = ["serve", "--host", str(place.hostname), "--port", str(place.port or 80)]
    words += ["--data", str(data)] if data else []
    err.print("Starting docmill; the first time it makes a database.", markup=False)
    served = subprocess.Popen(
        [sys.executable, "-c", SERVE, *words],
        stdout=subprocess.DEVNULL,
        env={LEVEL: "warning", **os.environ},
    )
    try:
        asyncio.run(_wait_until_up(url, served))
        yield served
    except KeyboardInterrupt:
        pass
    finally:
        served.terminate()
        served.wait()


async def _answers(url: str) -> bool:
    try:
        async with AsyncClient(url) as client:
            await client.ask("GET", "/api/pipelines")
    except CommandError as exc:
        if "does not answer" not in str(exc):
            raise
        return False
    return True


async def _wait_until_up(url: str, served: "subprocess.Popen[bytes]") -> None:
    async with asyncio.timeout(START_SECONDS):
        while not await _answers(url):
            if served.poll() is not None:
                raise CommandError("docmill did not start.\nSee above; `docmill doctor` may help.")
            await asyncio.sleep(LOOK_SECONDS)


async def _read_samples(client: RemoteClient) -> list[tuple[Sample, RemoteJob]]:
    async with client:
        sent = [
            await client.submit(one.read(), pipeline=one.pipeline, filename=one.filename)
            for one in SAMPLES.values()
        ]
        ended = [await client.wait(job.id) for job in sent]
    return list(zip(SAMPLES.values(), ended, strict=True))


def _describe(sample: Sample, job: RemoteJob) -> dict[str, Any]:
    return {"sample": sample.name, "job_id": job.id, "status": str(job.status)}


def _summarise(sample: Sample, job: RemoteJob, url: str) -> str:
    says = job.status.label if job.good else job.error_message or job.status.label
    return f"{sample.title}: {says}  {url.rstrip('/')}/jobs/{job.id}"
