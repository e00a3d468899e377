"""deploy/compose.yaml as processes: what is run, with which settings, ports and grace."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

DEPLOY: Final = Path(__file__).resolve().parents[1] / "deploy"
IMAGE: Final = "docmill"
VARIABLE: Final = re.compile(r"\$\{(\w+):\?\}")


@dataclass(frozen=True, slots=True)
class ComposeProcess:
    """One service of docmill's own image."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    replicas: int
    ports: tuple[str, ...]
    grace_seconds: float


def read_compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def list_processes(compose: dict[str, Any], secrets: Mapping[str, str]) -> list[ComposeProcess]:
    """`secrets` are the variables that the file wants to be set."""
    return [
        ComposeProcess(
            name,
            tuple(service["command"]),
            {
                key: VARIABLE.sub(lambda found: secrets[found[1]], str(value))
                for key, value in service.get("environment", {}).items()
            },
            service.get("deploy", {}).get("replicas", 1),
            tuple(service.get("ports", ())),
            float(service.get("stop_grace_period", "10s").removesuffix("s")),
        )
        for name, service in compose["services"].items()
        if service["image"] == IMAGE
    ]
