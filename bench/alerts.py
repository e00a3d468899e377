"""Each alert rule in a live run that causes it: a real Prometheus over a real docmill.

The rules are those of deploy/prometheus/alerts.yml with their waiting times shortened, and with the
thresholds of LOWERED, which stand for hours or a full disk. Prints each rule and when it fired.
"""

import argparse
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx2
import psycopg
import yaml

from bench import filling
from bench.compose import DEPLOY
from bench.ground import DOCMILL, Ground, prepared, started
from bench.surroundings import find_port, run_valkey, wait_for

RULES: Final = DEPLOY / "prometheus" / "alerts.yml"
SAMPLES: Final = DEPLOY.parent / "src" / "docmill" / "jobs" / "samples"
WINDOWS: Final = {"1m": "30s", "5m": "60s", "10m": "60s", "15m": "120s", "1h": "120s"}
# For the process that is to find its disk full.
FULL: Final = {"DOCMILL_DISK_LIMIT_PERCENT": "1", "DOCMILL_PRESSURE_PERCENT": "1"}
LOWERED: Final = {
    "WorkerGone": ("> 300", "> 5"),
    "JobRunsLong": ("> 600", "> 3"),
    "ResultsUnsettled": ("> 3600", "> 3"),
    "WebhooksLate": ("> 300", "> 5"),
    "DiskFull": ("> 0.9", "> 0.001"),
}
WORKER: Final = {
    "DOCMILL_ATTEMPTS": "20",
    "DOCMILL_RETRY_SECONDS": "0",
    "DOCMILL_RETRY_JITTER_SECONDS": "0",
    "DOCMILL_PIPELINES": "invoice,trades",
    "DOCMILL_BREAKERS": '{"gateway": {"fewest": 70, "cool_down_seconds": 4}}',
    "DOCMILL_WORKER_UPKEEP": "false",
    "DOCMILL_HEARTBEAT_SECONDS": "1",
}
# A delivery that nobody makes: no worker runs yet.
DUE: Final = """
WITH hook AS (
    INSERT INTO webhooks (owner, source, url, events, secret)
    VALUES ('local:me', 'local:me', 'http://127.0.0.1:9/', ARRAY['job.complete'], 'whsec_x')
    RETURNING id),
event AS (
    INSERT INTO webhook_events (source, kind, data) VALUES ('local:me', 'job.complete', '{}')
    RETURNING id)
INSERT INTO webhook_deliveries (webhook_id, event_id, due_at)
SELECT hook.id, event.id, now() - interval '1 minute' FROM hook, event
"""


def shorten(folder: Path) -> list[str]:
    """Write the rules with short waits; their names."""
    rules: dict[str, Any] = yaml.safe_load(RULES.read_text())
    listed = rules["groups"][0]["rules"]
    for rule in listed:
        if "for" in rule:
            rule["for"] = "2s"
        rule["expr"] = re.sub(r"\[(\w+)\]", lambda found: f"[{WINDOWS[found[1]]}]", rule["expr"])
        was, now = LOWERED.get(rule["alert"], ("", ""))
        assert was in rule["expr"], rule["alert"]
        rule["expr"] = rule["expr"].replace(was, now) if was else rule["expr"]
    (folder / "rules.yml").write_text(yaml.safe_dump(rules))
    return [rule["alert"] for rule in listed]


class FakeGateway(ThreadingHTTPServer):
    """Answers as `mode` says: a status, or slowly."""

    mode: str = "400"


class GatewayAnswers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        assert isinstance(self.server, FakeGateway)
        mode = self.server.mode
        if mode == "slow":
            time.sleep(25)
            mode = "400"
        body = json.dumps({"error": "no"}).encode()
        with suppress(OSError):
            self.send_response(int(mode))
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


@dataclass(slots=True)
class Watch:
    """Which alerts have fired so far, by asking Prometheus again and again."""

    port: int
    began: float = field(default_factory=time.monotonic)
    fired: dict[str, float] = field(default_factory=dict[str, float])

    def look(self) -> None:
        with suppress(httpx2.HTTPError, ValueError):
            url = f"http://127.0.0.1:{self.port}/api/v1/alerts"
            found = httpx2.get(url, timeout=10, trust_env=False).json()
            for one in found["data"]["alerts"]:
                if one["state"] == "firing":
                    name = one["labels"]["alertname"]
                    self.fired.setdefault(name, time.monotonic() - self.began)

    def wait(self, *names: str, limit: float = 90) -> None:
        """Until they have fired; one that does not is told of at the end."""
        until = time.monotonic() + limit
        while time.monotonic() < until and not set(names) <= self.fired.keys():
            self.look()
            time.sleep(0.5)
        late = sorted(set(names) - self.fired.keys())
        print(f"{'fired' if not late else 'NOT fired':9} {', '.join(late or names)}", flush=True)


@dataclass(frozen=True, slots=True)
class Scene:
    at: Ground
    url: str
    web: int
    workers: tuple[int, int]
    watch: Watch
    gateway: FakeGateway
    common: Mapping[str, str]

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.web}"

    def upload(self, name: str, pipeline: str, count: int) -> list[str]:
        """The same sample again and again, each time with other bytes."""
        sample, ids = (SAMPLES / name).read_bytes(), list[str]()
        with httpx2.Client(base_url=self.site, timeout=60, trust_env=False) as client:
            for number in range(count):
                data = sample + f"\n%{pipeline} {number} {time.monotonic_ns()}".encode()
                files = {"file": (f"{number}.pdf", data, "application/pdf")}
                answer = client.post("/api/upload", files=files, data={"pipeline": pipeline})
                answer.raise_for_status()
                ids.append(answer.json()["jobId"])
        return ids

    def worker(self, place: int, **more: str) -> Any:
        environment = {**self.common, **WORKER, "DOCMILL_HEALTH_PORT": str(self.workers[place])}
        environment["GATEWAY_URL"] = f"http://127.0.0.1:{self.gateway.server_port}"
        data = str(self.at.folder / "data")
        return started(DOCMILL, "worker", "--data", data, **{**environment, **more})


def without_workers(scene: Scene) -> None:
    with psycopg.connect(scene.url) as conn:
        filling.owners(conn, 5)
        filling.enqueue(conn, 150)
        conn.execute("INSERT INTO owners (owner) VALUES ('local:me') ON CONFLICT DO NOTHING")
        conn.execute(DUE)
    scene.watch.wait(
        "Backlog", "BacklogLasts", "NoWorker", "Stalled", "ProcessUnreachable", "WebhooksLate"
    )
    with psycopg.connect(scene.url) as conn:
        conn.execute("DELETE FROM jobs WHERE owner LIKE 'session:%'")


def with_many_requests(scene: Scene) -> None:
    """Many at a time, so that a minute is enough on a busy machine."""

    def ask() -> None:
        with httpx2.Client(base_url=scene.site, timeout=60, trust_env=False) as client:
            for _ in range(300):
                client.get("/api/jobs?limit=1")

    asking = [threading.Thread(target=ask) for _ in range(8)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    scene.watch.wait("OwnerFloods", "ManyRateLimited")


def with_a_locked_table(scene: Scene) -> None:
    """More requests than connections, and none comes to its end."""

    def ask() -> None:
        with suppress(httpx2.HTTPError):
            httpx2.get(f"{scene.site}/api/jobs?limit=1", timeout=60, trust_env=False)

    with psycopg.connect(scene.url) as conn:
        conn.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        asking = [threading.Thread(target=ask) for _ in range(40)]
        for one in asking:
            one.start()
        for one in asking:
            one.join()
    scene.watch.wait("DatabaseBusy")


def with_slow_senders(scene: Scene) -> None:
    """Prometheus sees no rise in what begins to exist: a quick one comes first."""
    _send_slowly(scene, 99, pause=0.0)
    time.sleep(15)
    sending = [threading.Thread(target=_send_slowly, args=(scene, n)) for n in range(4)]
    for one in sending:
        one.start()
    for one in sending:
        one.join()
    scene.watch.wait("SlowUploads")


def _send_slowly(scene: Scene, number: int, pause: float = 0.6) -> None:
    sample = (SAMPLES / "sample-trade-note.pdf").read_bytes() + f"\n%slow {number}".encode()
    head = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
    body = head + sample + b"\r\n--x--\r\n"
    request = (
        f"POST /api/upload HTTP/1.1\r\nhost: 127.0.0.1:{scene.web}\r\nconnection: close\r\n"
        f"content-type: multipart/form-data; boundary=x\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", scene.web), 60) as sender:
        sender.sendall(request)
        for place in range(8):
            sender.sendall(body[place * len(body) // 8 : (place + 1) * len(body) // 8])
            time.sleep(pause)
        sender.recv(4096)


def with_a_damaged_object(scene: Scene, job_id: str) -> None:
    with psycopg.connect(scene.url) as conn:
        asked = (
            "SELECT upload_key FROM documents d JOIN jobs j ON j.document_id = d.id WHERE j.id = %s"
        )
        row = conn.execute(asked, (job_id,)).fetchone()
    assert row
    stored = scene.at.folder / "data" / "store" / row[0]
    stored.write_bytes(b"%PDF-1.4 something else" + stored.read_bytes()[23:])
    for _ in range(3):
        with suppress(httpx2.HTTPError):
            httpx2.get(f"{scene.site}/api/jobs/{job_id}/original", timeout=60, trust_env=False)
        time.sleep(1)
    scene.watch.wait("DamagedObjects")


def with_a_sick_worker(scene: Scene) -> None:
    """One whose part fails again and again, and which is frozen then."""
    known = "SELECT 1 FROM workers WHERE pid = %s"
    with (
        psycopg.connect(scene.url, autocommit=True) as conn,
        scene.worker(1, DOCMILL_FAILPOINTS="part.services=fail") as process,
    ):
        scene.watch.wait("PartDown")
        # On a busy machine the other worker's start has fired it: this one may not be there yet.
        wait_for(lambda: conn.execute(known, (process.pid,)).fetchone(), "the worker is known")
        process.send_signal(signal.SIGSTOP)
        scene.watch.wait("WorkerGone")
        process.kill()


def with_a_sick_gateway(scene: Scene) -> None:
    scene.upload("sample-invoice.pdf", "invoice", 15)
    scene.upload("sample-invoice.pdf", "trades", 2)
    scene.watch.wait(
        "GatewayRefuses", "Failures", "ManyFailures", "DocumentsWithoutTrades", limit=180
    )
    scene.gateway.mode = "500"
    scene.upload("sample-invoice.pdf", "invoice", 20)
    scene.watch.wait("RetryStorm", "BreakerOpen", "BreakerFlaps", limit=180)


def with_no_database(scene: Scene, stop: Any, valkey: Any) -> None:
    scene.gateway.mode = "slow"
    scene.watch.wait("JobRunsLong", limit=120)
    stop()
    valkey()
    scene.watch.wait("DatabaseDown", "ResultsUnsettled", "CacheDown", limit=120)


@contextmanager
def run_prometheus(folder: Path, ports: Mapping[str, int]) -> Generator[Watch]:
    port = find_port()
    targets = [f"127.0.0.1:{one}" for one in ports.values()]
    config = {
        "global": {"scrape_interval": "6s", "scrape_timeout": "6s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [{"job_name": "docmill", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    words = [
        shutil.which("prometheus") or "prometheus", f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with (folder / "prometheus.log").open("wb") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, cwd=folder)
    try:
        wait_for(lambda: _answers(f"http://127.0.0.1:{port}/-/ready"), "Prometheus")
        yield Watch(port)
    finally:
        process.terminate()
        process.wait(60)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=5, trust_env=False).status_code == 200
    except httpx2.HTTPError:
        return False


@contextmanager
def open_scene(at: Ground, url: str, valkey: int) -> Generator[Scene]:
    ports = {name: find_port() for name in ("web", "full", "worker", "sick")}
    common = {
        "DATABASE_URL": url,
        "REDIS_URL": f"redis://127.0.0.1:{valkey}/0",
        "AUTH_MODE": "local",
        "DOCMILL_UPLOADS_PER_MINUTE": "0",
        # Fewer than a busy machine answers in a minute, and so some are refused everywhere.
        "DOCMILL_READS_PER_MINUTE": "300",
        "DOCMILL_DATABASE_CONNECTIONS": "4",
        "DOCMILL_BUCKET": "none",
    }
    gateway = FakeGateway(("127.0.0.1", 0), GatewayAnswers)
    threading.Thread(target=gateway.serve_forever, daemon=True).start()
    words = ("web", "--data", str(at.folder / "data"), "--port")
    with (
        started(DOCMILL, *words, str(ports["web"]), **common),
        started(DOCMILL, *words, str(ports["full"]), **common, **FULL),
        run_prometheus(at.folder, ports) as watch,
    ):
        wait_for(lambda: _answers(f"http://127.0.0.1:{ports['web']}/health"), "the web")
        workers = (ports["worker"], ports["sick"])
        yield Scene(at, url, ports["web"], workers, watch, gateway, common)
    gateway.shutdown()


def cause_all(scene: Scene, stop: Any, valkey: Any) -> None:
    without_workers(scene)
    scene.watch.wait("DiskFull", "UploadsPaused", "RetentionPressed")
    with_slow_senders(scene)
    (job_id,) = scene.upload("sample-trade-note.pdf", "trades", 1)
    with_a_damaged_object(scene, job_id)
    with_a_locked_table(scene)
    with_many_requests(scene)
    time.sleep(60)  # the limit of requests counts by the minute, and uploads follow
    with scene.worker(0):
        with_a_sick_gateway(scene)
        with_a_sick_worker(scene)
        with_no_database(scene, stop, valkey)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.parse_args()
    with prepared(quick=True) as at:
        names = shorten(at.folder)
        url = at.migrated("alerts")
        folder = Path(tempfile.mkdtemp(dir=at.folder))
        with run_valkey(folder) as valkey, open_scene(at, url, valkey) as scene:
            cause_all(scene, at.stop, lambda: _stop_valkey(valkey))
            fired = scene.watch.fired
    for name in names:
        lowered = f" (with {LOWERED[name][1]})" if name in LOWERED else ""
        when = f"fired after {fired[name]:.0f} s" if name in fired else "NOT FIRED"
        print(f"{name:24} {when}{lowered}")
    missing = [name for name in names if name not in fired]
    print(f"{len(names) - len(missing)} of {len(names)} rules fired")
    sys.exit(1 if missing else 0)


def _stop_valkey(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(b"SHUTDOWN NOSAVE\r\n")


if __name__ == "__main__":
    main()
