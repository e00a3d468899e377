"""What a fork server has imported: every run carries it."""

import json
import subprocess
import sys

from docmill.core import installed
from docmill.processes.web import list_preview_runs

LOAD = """
import json, sys
import docmill.sandbox.fork_server
from docmill.core import installed
loaded = installed.load_pipelines(sys.argv[1:], warm=True)
print(json.dumps({"modules": sorted(sys.modules), "broken": loaded.broken}))
"""
OF_SERVERS = {
    "fastapi", "starlette", "granian", "jinja2", "multipart", "prometheus_client", "jwt",
    "psycopg", "psycopg_pool", "httpx2", "aiohttp", "typer", "rich", "structlog", "pydantic",
}  # fmt: skip
SERVER_HALF = [["api"], ["pages"], ["commands"], ["queries"]]


def test_a_fork_server_imports_no_web_framework_no_database_and_no_command() -> None:
    validators = (
        room.validator for room in installed.find_rooms().rooms.values() if room.validator
    )
    names = [*sorted(installed.find_installed()), *list_preview_runs(), *validators]
    ran = subprocess.run(
        [sys.executable, "-c", LOAD, *names], capture_output=True, text=True, check=True
    )
    loaded = json.loads(ran.stdout)
    assert loaded["broken"] == {}
    modules: list[str] = loaded["modules"]
    assert {name.partition(".")[0] for name in modules} & OF_SERVERS == set()
    ours = [name.split(".")[1:] for name in modules if name.startswith("docmill.")]
    assert {room for room, *_ in ours} & {"web", "cli", "queue", "db", "services"} == set()
    halves = [name for name in ours if name[0] != "reading" and name[1:] in SERVER_HALF]
    assert halves == []
