"""Lets schemathesis loose on a running docmill, with every check, in every mode of coming in.

`python -m bench.contract --minutes 5 --seed 1`: whatever it finds is a failure.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import jwt

from bench.ground import DOCMILL
from eval.pdf import make_pdf

SECRET: Final = "s" * 32
START_SECONDS: Final = 300
# Nobody listens there.
NOWHERE: Final = "http://127.0.0.1:9/"
MODES: Final[Mapping[str, Mapping[str, str]]] = {
    "local": {},
    "session": {"AUTH_MODE": "session"},
    "jwt": {"AUTH_MODE": "jwt", "JWT_SECRET": SECRET},
}


@dataclass(frozen=True, slots=True)
class Site:
    """A docmill of our own, and what lets us in."""

    url: str
    headers: Mapping[str, str]


@contextmanager
def serving(mode: str, folder: Path) -> Generator[Site]:
    """`docmill serve` with its own PostgreSQL, until the end."""
    settings = {
        "DOCMILL_UPLOADS_PER_MINUTE": "0", "DOCMILL_DOCLING": "true",
        "DOCMILL_WEBHOOK_ALLOW": "127.0.0.0/8", **MODES[mode],
    }  # fmt: skip
    log = folder / "serve.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [DOCMILL, "serve", "--port", "0", "--data", str(folder / "data")],
            env=os.environ | settings, stdout=said, stderr=said,
        )  # fmt: skip
    try:
        url = _address(process, log)
        yield Site(url, _headers(mode, url))
    finally:
        process.terminate()
        process.wait(60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"docmill is at (\S+)\n", log.read_text("utf-8")):
            return found[1]
        time.sleep(0.1)
    raise SystemExit(f"docmill did not start:\n{log.read_text('utf-8')}")


def _headers(mode: str, url: str) -> dict[str, str]:
    if mode == "session":
        answer = httpx2.get(f"{url}/api/jobs")
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in answer.cookies.items())}
    if mode == "jwt":
        token = jwt.encode({"sub": "ann", "exp": 4e9, "desks": True}, SECRET, "HS256")
        return {"Authorization": f"Bearer {token}"}
    return {}


def known_ids(site: Site) -> dict[str, list[str | int]]:
    """What is there, so that not every id that is tried is nobody's."""
    ids: dict[str, list[str | int]] = {"jobs": [], "doomed": [_job(site, "extract", "doomed")]}
    for pipeline in ("extract", "invoice", "trades", "study"):
        ids["jobs"].append(_job(site, pipeline, pipeline))
    with httpx2.Client(base_url=site.url, headers=dict(site.headers), timeout=90) as client:
        for job_id in ids["jobs"]:
            client.get(f"/api/jobs/{job_id}", headers={"prefer": "wait=60"})
        papers = client.get("/api/documents").json()["documents"]
        deals = client.get("/api/trades").json()["trades"]
        made = [client.post("/api/webhooks", json={"url": NOWHERE}).json() for _ in range(3)]
    ids["webhooks"] = [each["id"] for each in made]
    ids["documents"] = [each["document_id"] for each in papers]
    ids["trades"] = [each["id"] for each in deals] or [ids["jobs"][0]]
    ids["revisions"] = [0, 1, 2]
    return ids


def _job(site: Site, pipeline: str, title: str) -> str:
    page = [(72, 72 + 14 * row, text) for row, text in enumerate((*LINES, title))]
    answer = httpx2.post(
        f"{site.url}/api/upload", data={"pipeline": pipeline}, headers=dict(site.headers),
        files={"file": ("a.pdf", make_pdf([page]), "application/pdf")}, timeout=60,
    )  # fmt: skip
    return answer.json()["jobId"]


# Which parameters are given which ids, and how often; the rest of the time they are anything.
BOUND: Final = {
    "path.job_id": "jobs", "path.task_id": "jobs", "path.document_id": "documents",
    "path.trade_id": "trades", "query.document": "documents", "body.revision": "revisions",
    "body.jobs[*]": "jobs", "path.webhook_id": "webhooks",
}  # fmt: skip
OFTEN: Final = 0.8
# Where a request of the documented form may be refused all the same, with which status, and why
# no schema can say so.
REFUSED: Final[Mapping[tuple[str, str], tuple[int, ...]]] = {
    # What is inside a file decides; a mapping goes with some pipelines; a key with one request.
    ("POST", "/api/upload"): (400, 422),
    ("POST", "/documents"): (400, 422),
    ("POST", "/v1/convert/file/async"): (400, 422),
    # A tax number has its own notation, and a branch must belong to the number beside it.
    ("PUT", "/api/profile"): (400,),
    ("PATCH", "/api/settings"): (400,),
    # A mapping goes with some pipelines, a time must be to come, a file not too large.
    ("POST", "/api/uploads"): (400, 413),
    # Which forms a result can have depends on what was read.
    ("POST", "/api/jobs/{job_id}/links"): (400, 422),
    # Whether an address may be used depends on where it leads.
    ("POST", "/api/webhooks"): (400,),
    # Which pipelines there are depends on the installation.
    ("POST", "/api/jobs/{job_id}/read-as"): (400,),
    # Which forms there are depends on the pipeline of the job, and on what was read.
    ("GET", "/api/jobs/{job_id}/download"): (400, 422),
    # Whether a value fits depends on the path beside it and on the lines of the invoice.
    ("POST", "/api/reviews/{job_id}/edits"): (400,),
    ("POST", "/api/reviews/{job_id}/checked"): (400,),
    ("POST", "/api/documents/{document_id}/trades/edits"): (400,),
    ("POST", "/api/documents/{document_id}/trades/checked"): (400,),
    # Codes have check digits; numbers and dates may come as any document prints them.
    ("POST", "/api/documents/{document_id}/trades"): (400,),
    ("PATCH", "/api/trades/{trade_id}"): (400,),
}
ACCEPTED: Final = ("2xx", "3xx", "401", "403", "404", "409", "429", "5xx")  # the check's own
LINES: Final = (
    "INVOICE", "Invoice number: 4711", "Date: 2026-01-31", "Seller: Acme Ltd", "Buyer: Beta Inc",
    "Widget   2   10.00   20.00", "Net 20.00", "VAT 10 % 2.00", "Total 22.00 EUR",
)  # fmt: skip


def configure(ids: Mapping[str, list[str | int]]) -> str:
    """The configuration of schemathesis: every check, and these ids among those it tries."""
    lines = ["warnings = false"]
    lines += [f"[dictionaries.{name}]\nvalues = {json.dumps(ids[name])}" for name in ids]
    lines += ["[parameters]"]
    lines += [_bind(place, name) for place, name in BOUND.items() if name in ids]
    lines += ["[checks]", "enabled = true"]
    for (method, path), statuses in REFUSED.items():
        allowed = json.dumps([*ACCEPTED, *map(str, statuses)])
        lines += ["[[operations]]", f'include-name = "{method} {path}"']
        lines += [f"checks.positive_data_acceptance.expected-statuses = {allowed}"]
    if "doomed" in ids:
        lines += ["[[operations]]", 'include-name = "DELETE /api/jobs/{job_id}"']
        lines += ["[operations.parameters]", _bind("path.job_id", "doomed")]
    return "\n".join(lines)


def _bind(place: str, name: str) -> str:
    return f'"{place}" = {{ dictionary = "{name}", probability = {OFTEN} }}'


def command(site: Site, config: Path, options: Sequence[str]) -> list[str]:
    """How schemathesis is run over the whole API of a site."""
    headers = [word for name, value in site.headers.items() for word in ("-H", f"{name}: {value}")]
    return [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run",
        f"{site.url}/openapi.json", "--request-timeout", "90",
        "--exclude-path", "/api/events",  # a stream that never ends; it has tests of its own
        "--suppress-health-check", "all", "--continue-on-failure", *headers, *options,
    ]  # fmt: skip


def run(site: Site, folder: Path, *, known: bool, options: list[str]) -> int:
    """One run of schemathesis; `known`: with the ids of what is there."""
    config = folder / "schemathesis.toml"
    config.write_text(configure(known_ids(site) if known else {}))
    return subprocess.call(command(site, config, options), cwd=folder)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", nargs="+", choices=tuple(MODES), default=tuple(MODES))
    parser.add_argument("--examples", type=int, default=None, help="per operation")
    given: Any = parser.parse_args(arguments)
    seconds = max(1, round(given.minutes * 60 / (2 * len(given.modes))))
    options = ["--seed", str(given.seed), "--max-time", str(seconds)]
    if given.examples:
        options = ["--seed", str(given.seed), "--max-examples", str(given.examples)]
    failed: list[str] = []
    for mode in given.modes:
        with tempfile.TemporaryDirectory(prefix="docmill-contract-", dir="/tmp") as place:
            folder = Path(place)
            with serving(mode, folder) as site:
                for known in (False, True):
                    print(f"\n== {mode}, {'known' if known else 'any'} ids", flush=True)
                    if run(site, folder, known=known, options=options):
                        failed.append(mode)
            said = (folder / "serve.log").read_text("utf-8")
            failed += [f"{mode}: request.broke"] * said.count("request.broke")
    print(f"\n{len(failed)} failed: {', '.join(failed)}" if failed else "\nnothing found")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
