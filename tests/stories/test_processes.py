"""Every kind of process by itself: it tells how it is on its health port, and ends when asked."""

import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.surroundings import find_port
from stories.house import House
from terminal import SOON, Process, begin, wait_for
from waits import PATIENCE


@dataclass(frozen=True, slots=True)
class Watched:
    """A process, and what its health port says."""

    process: Process
    port: int
    log: Path

    def ask(self, path: str) -> tuple[int, str]:
        try:
            answer = httpx2.get(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE)
        except httpx2.TransportError:
            return 0, ""
        return answer.status_code, answer.text

    def wait_until_ready(self) -> dict[str, str]:
        wait_for(lambda: self.ask("/ready")[0] == 200, self.log.read_text)
        return self.parts()

    def parts(self) -> dict[str, str]:
        answer = httpx2.get(f"http://127.0.0.1:{self.port}/ready", timeout=PATIENCE)
        told: dict[str, Any] = answer.json()
        return told["parts"]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SOON)


@contextmanager
def running(house: House, *words: str, **variables: str) -> Generator[Watched]:
    port = find_port()
    terminal = house.terminal.with_(DOCMILL_HEALTH_PORT=str(port), **variables)
    log = house.terminal.home / f"{words[0]}.log"
    process = begin(terminal, words, log)
    try:
        yield Watched(process, port, log)
    finally:
        process.kill()
        process.wait(SOON)


def count_requests(text: str) -> dict[str, float]:
    """Of /api/pipelines, by process."""
    return {
        sample.labels["process"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "http_request_seconds_count"
        and sample.labels["route"] == "/api/pipelines"
    }


def find_children(process: Process) -> list[int]:
    """Those that serve, not the one that cleans up after them."""
    pids = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    served = [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return [int(pid) for pid in served]


def test_each_kind_of_process_says_what_it_lacks_and_stops_when_it_is_asked(house: House) -> None:
    kinds = {
        "worker": {"fork server", "worker", "rescue", "services", "database", "store"},
        "upkeep": {"rescue", "retention", "uploads", "webhooks", "database", "store"},
        "poll": {"poller", "database", "store"},
        "gateway": {"web", "fork server"},
    }
    house.data.mkdir()
    (house.data / "store").mkdir()
    with ExitStack() as stack:
        given = {"DOCMILL_WORKER_UPKEEP": "false", "DOCMILL_BUCKET": str(house.data / "bucket")}
        ports = {"gateway": ("--port", "0")}
        started = {
            kind: stack.enter_context(
                running(house, kind, *ports.get(kind, ()), DOCMILL_DATA=str(house.data), **given)
            )
            for kind in kinds
        }
        for kind, watched in started.items():
            assert set(watched.wait_until_ready()) == {*kinds[kind], "health"}
            assert watched.ask("/health")[0] == 200
            assert "process_cpu_seconds_total" in watched.ask("/metrics")[1]
            assert 'part_up{part="health"} 1.0' in watched.ask("/metrics")[1]
        for name in (
            "worker_jobs_running 0.0",
            "results_unsettled 0.0",
            "database_pool_waiting 0.0",
        ):
            assert name in started["worker"].ask("/metrics")[1]
        assert "database_pool_waiting 0.0" in started["poll"].ask("/metrics")[1]
        shutil.rmtree(house.data / "store")
        (house.data / "store").write_text("no folder")
        worker = started["worker"]
        wait_for(lambda: worker.parts()["store"] == "IO_ERROR", lambda: str(worker.parts()))
        assert worker.ask("/ready")[0] == 503
        assert [watched.stop() for watched in started.values()] == [0, 0, 0, 0]


def test_several_web_processes_share_a_port_and_count_together(house: House) -> None:
    port = find_port()
    url = f"http://127.0.0.1:{port}"
    words = ("web", "--processes", "2", "--port", str(port))
    with running(house, *words, DOCMILL_DATA=str(house.data)) as web:
        assert set(web.wait_until_ready()) == {"web 1", "web 2", "health"}
        for _ in range(30):
            assert httpx2.get(f"{url}/api/pipelines", timeout=PATIENCE).status_code == 200
        wait_for(lambda: f"docmill is at {url}" in web.log.read_text())
        for text in (web.ask("/metrics")[1], httpx2.get(f"{url}/metrics", timeout=PATIENCE).text):
            assert sum(count_requests(text).values()) == 30

        first, second = find_children(web.process)
        subprocess.run(["kill", "-9", str(first)], check=True)
        wait_for(lambda: len({*find_children(web.process)} - {first, second}) == 1)
        web.wait_until_ready()
        assert httpx2.get(f"{url}/api/pipelines", timeout=PATIENCE).status_code == 200

        children = find_children(web.process)
        web.process.kill()
        web.process.wait(SOON)
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{url}/health", timeout=PATIENCE)

    with running(house, *words, DOCMILL_DATA=str(house.data)) as web:
        web.wait_until_ready()
        assert web.stop() == 0
