"""What lies in deploy/ for Prometheus and Grafana: rules that fire, and metrics that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from bench.compose import DEPLOY
from terminal import SOON, Served, wait_for

PROMETHEUS = DEPLOY / "prometheus"
DOCS = DEPLOY.parent / "docs" / "operate"
RULES: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"][0][
    "rules"
]
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "docmill.json").read_text())
# Words of the language that stand where a metric may stand.
OPERATORS = frozenset({"and", "or"})
BY_PROMETHEUS = frozenset({"up"})
NAME = re.compile(r"\b[a-z][a-z0-9_]*\b(?!\s*\()")


def run_promtool(*words: str | Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    command = [promtool, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def find_metrics(expression: str) -> set[str]:
    """The names of metrics in a query: without labels, windows, strings and functions."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\"[^\"]*\"", "", expression)
    bare = re.sub(r"\b(?:by|without)\s*\([^)]*\)", "", bare)
    return set(NAME.findall(bare)) - OPERATORS


def list_queries() -> dict[str, str]:
    """Every query of the rules and of the dashboard, by where it stands."""
    panels = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
    }
    return {f"alert {rule['alert']}": rule["expr"] for rule in RULES} | panels


def scrape(served: Served) -> set[str]:
    """The names under which samples of a family may come."""
    text = httpx2.get(f"{served.url}/metrics", timeout=SOON).text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    ends = {"histogram": ("_bucket", "_sum", "_count")}
    return {name + end for name, kind in kinds.items() for end in ends.get(kind, ("",))}


def test_the_rules_are_sound_and_each_fires_and_stays_silent_when_it_should() -> None:
    cases = {
        case["name"]
        for case in yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
    }
    assert cases == {
        f"{rule['alert']} {does}" for rule in RULES for does in ("fires", "stays silent")
    }
    run_promtool("check", "rules", PROMETHEUS / "alerts.yml")
    run_promtool("test", "rules", PROMETHEUS / "alerts_test.yml")


def test_prometheus_reads_its_configuration() -> None:
    run_promtool("check", "config", PROMETHEUS / "prometheus.yml")


def test_every_query_names_metrics_that_docmill_exports(served: Served) -> None:
    asked = {where: find_metrics(query) for where, query in list_queries().items()}
    assert all(asked.values()), asked
    wanted = set[str]().union(*asked.values()) - BY_PROMETHEUS
    # The worker's own are there as soon as it works.
    wait_for(lambda: wanted <= scrape(served), lambda: str(wanted - scrape(served)))


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    headings = re.findall(r"^## (\w+)$", (DOCS / "alerts.md").read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in RULES]
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/operate/alerts.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in {"warning", "critical"}


def test_the_dashboard_asks_the_source_that_is_provisioned() -> None:
    (source,) = yaml.safe_load((DEPLOY / "grafana" / "datasource.yaml").read_text())["datasources"]
    asked = {panel["datasource"]["uid"] for panel in DASHBOARD["panels"] if "targets" in panel}
    assert asked == {source["uid"]}
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_every_metric_is_described_with_how_to_add_it_up(served: Served) -> None:
    """docs/operate/watch.md names each family that docmill exports."""
    text = httpx2.get(f"{served.url}/metrics", timeout=SOON).text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    page = (DOCS / "watch.md").read_text()
    missing = [name for name in kinds if not name.endswith("_created") and f"`{name}" not in page]
    assert missing == []
