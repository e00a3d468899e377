"""What lies in deploy/: every field, setting, command and port in it exists."""

import configparser
import copy
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from bench.compose import DEPLOY, list_processes, read_compose
from deploy.keda import KEDA_KINDS
from docmill.cli.program import load_command
from docmill.core.faults import CommandError
from docmill.settings import OTHER_NAMES, fields, read_settings

KUBERNETES = "1.37"
BASE = DEPLOY / "kubernetes" / "base"
SECRETS = {"POSTGRES_PASSWORD": "secret", "MINIO_ROOT_PASSWORD": "secret"}
SOURCES = Path(__file__).parents[2] / "src" / "docmill"
PROBES = {"/health", "/ready", "/metrics"}
HEALTH = "9100"


def read_manifests(text: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(text) if one]


def read_base() -> list[dict[str, Any]]:
    names = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    return [one for name in names for one in read_manifests((BASE / name).read_text())]


def validate(manifest: dict[str, Any]) -> None:
    if manifest["kind"] in KEDA_KINDS:
        jsonschema.validate(manifest, KEDA_KINDS[manifest["kind"]])
    else:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def check_settings(environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name is one that docmill reads, and every value is one that it takes."""
    with monkeypatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("DOCMILL_")]:
            patch.delenv(name)
        for name, value in environment.items():
            assert _is_read(name), f"nobody reads {name}"
            patch.setenv(name, value)
        read_settings()


def _is_read(name: str) -> bool:
    known = {f"DOCMILL_{each.upper()}" for each in fields()} | OTHER_NAMES
    if name.startswith("DOCMILL_"):
        return name in known
    return any(f'"{name}"' in path.read_text() for path in SOURCES.rglob("*.py"))


def check_command(words: tuple[str, ...]) -> None:
    """It can be called so; it is not called."""
    load_command(words[0]).make_context(words[0], list(words[1:]))


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return read_compose()


def compose_schema() -> Any:
    vendored = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    return json.loads(vendored.read_text())


def test_the_compose_file_is_one_and_what_it_runs_and_sets_exists(
    compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    jsonschema.validate(compose, compose_schema())
    processes = {one.name: one for one in list_processes(compose, SECRETS)}
    assert {*processes} == {"web", "worker", "poller", "upkeep", "gateway", "migrate"}
    assert (processes["web"].replicas, processes["worker"].replicas) == (2, 2)
    for one in processes.values():
        check_command(one.command)
        check_settings(one.environment, monkeypatch)
        if one.name != "migrate":
            assert one.environment["DOCMILL_HEALTH_PORT"] == HEALTH
    for name, outside in (("web", "8000-8001:8000"), ("gateway", "8002:8000")):
        assert processes[name].ports == (outside,)
        assert processes[name].command[-2:] == ("--port", outside.rpartition(":")[2])
    assert processes["worker"].environment["GATEWAY_URL"] == "http://gateway:8000"
    names = {host for one in processes.values() for host in _find_hosts(one.environment.values())}
    assert names <= {*compose["services"]}
    assert processes["worker"].grace_seconds > fields()["grace_seconds"].default


def _find_hosts(values: Iterator[str] | Any) -> set[str]:
    return {found for value in values for found in re.findall(r"(?://|@)([a-z]+):\d+", value)}


def test_a_misspelt_field_setting_or_option_does_not_pass(
    compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = copy.deepcopy(compose)
    wrong["services"]["web"]["read_onyl"] = True
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, compose_schema())
    for manifest in read_base():
        wrong = copy.deepcopy(manifest)
        if "spec" not in wrong:
            continue
        wrong["spec"]["maxReplicaCuont"] = 3
        with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
            validate(wrong)
    with pytest.raises(AssertionError):
        check_settings({"DOCMILL_STOER": "file:///x"}, monkeypatch)
    with pytest.raises(CommandError):
        check_settings({"DOCMILL_HEALTH_PORT": "no port"}, monkeypatch)
    with pytest.raises(Exception, match="No such option"):
        check_command(("web", "--procesess", "2"))


def test_the_manifests_of_the_base_are_what_kubernetes_takes() -> None:
    manifests = read_base()
    for manifest in manifests:
        validate(manifest)
    kinds = [one["kind"] for one in manifests]
    assert {kind: kinds.count(kind) for kind in ("Deployment", "ServiceAccount")} == {
        "Deployment": 5, "ServiceAccount": 5,
    }  # fmt: skip
    assert kinds.count("PodDisruptionBudget") == 5
    policies = {one["metadata"]["name"] for one in manifests if one["kind"] == "NetworkPolicy"}
    pods = {one["metadata"]["name"] for one in manifests if one["kind"] in {"Deployment", "Job"}}
    assert policies == pods


@pytest.mark.parametrize("overlay", ["staging", "production"])
def test_an_overlay_gives_manifests_whose_settings_commands_and_ports_exist(
    overlay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    folder = DEPLOY / "kubernetes" / "overlays" / overlay
    ran = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=True
    )
    manifests = read_manifests(ran.stdout)
    shared = next(one["data"] for one in manifests if one["kind"] == "ConfigMap")
    for manifest in manifests:
        validate(manifest)
        if manifest["kind"] in {"Deployment", "Job"}:
            _check_pod(manifest["spec"]["template"]["spec"], shared, monkeypatch)
    (scaled,) = [one for one in manifests if one["kind"] == "ScaledObject"]
    assert scaled["spec"]["scaleTargetRef"]["name"] in {
        one["metadata"]["name"] for one in manifests if one["kind"] == "Deployment"
    }


def _check_pod(
    pod: dict[str, Any], shared: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (container,) = pod["containers"]
    check_command(tuple(container["args"]))
    given = {one["name"]: one.get("value", "postgresql://x") for one in container.get("env", [])}
    check_settings({**(shared if "envFrom" in container else {}), **given}, monkeypatch)
    security = container["securityContext"]
    assert (security["readOnlyRootFilesystem"], pod["securityContext"]["runAsNonRoot"]) == (
        True, True,
    )  # fmt: skip
    if container["args"] == ["migrate"]:
        return
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert str(ports["health"]) == HEALTH
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in PROBES
        assert asked["port"] in ports
    if "http" in ports:
        assert container["args"][-2:] == ["--port", str(ports["http"])]
    grace = float(given.get("DOCMILL_GRACE_SECONDS", fields()["grace_seconds"].default))
    pause = float(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert "worker" not in container["args"] or pod["terminationGracePeriodSeconds"] > grace + pause


def test_the_image_is_built_and_runs_as_the_manifests_say(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (DEPLOY / "Dockerfile").read_text()
    given = dict(re.findall(r"\b(DOCMILL_\w+)=(\S+)", lines))
    check_settings(given, monkeypatch)
    assert given["DOCMILL_HEALTH_PORT"] == HEALTH
    assert f"EXPOSE 8000 {HEALTH}" in lines
    assert "USER 10001:10001" in lines
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", lines, re.MULTILINE):
        for name in source.split():
            assert (DEPLOY.parent / name).exists(), name
    if shutil.which("hadolint"):
        subprocess.run(["hadolint", DEPLOY / "Dockerfile"], check=True)


def test_the_units_of_systemd_are_units_and_run_what_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = (DEPLOY / "systemd" / "docmill.env").read_text().splitlines()
    shared = dict(line.split("=", 1) for line in pairs if line and not line.startswith("#"))
    ports: list[str] = []
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str  # type: ignore[method-assign]
        unit.read(path)
        program, *words = unit["Service"]["ExecStart"].split()
        check_command(tuple(words))
        name, _, value = unit["Service"]["Environment"].partition("=")
        ports.append(value.replace("%i", "1"))
        check_settings({**shared, name: ports[-1]}, monkeypatch)
        here = path.read_text().replace(program, str(Path(sys.executable).with_name("docmill")))
        (tmp_path / path.name).write_text(here)
    assert len(ports) == len(set(ports)) == 5
    if not shutil.which("systemd-analyze"):
        return
    shutil.copy(DEPLOY / "systemd" / "docmill.target", tmp_path)
    shutil.copy(tmp_path / "docmill-worker@.service", tmp_path / "docmill-worker@1.service")
    units = [str(path) for path in sorted(tmp_path.iterdir()) if "@." not in path.name]
    command = ["systemd-analyze", "verify", "--man=no", *units]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


# By hand, from Railway's reference of its configuration: no package carries its schema.
RAILWAY = {
    "build": {"builder", "dockerfilePath"},
    "deploy": {
        "preDeployCommand", "startCommand", "numReplicas", "healthcheckPath", "healthcheckTimeout",
        "restartPolicyType", "restartPolicyMaxRetries",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ["web", "worker"])
def test_the_files_for_railway_name_what_exists(name: str) -> None:
    told = json.loads((DEPLOY / "railway" / f"{name}.json").read_text())
    assert {*told} == {"$schema", *RAILWAY}
    for part, known in RAILWAY.items():
        assert {*told[part]} <= known
    assert (DEPLOY.parent / told["build"]["dockerfilePath"]).exists()
    for line in (told["deploy"]["startCommand"], *told["deploy"].get("preDeployCommand", [])):
        program, *words = line.split()
        assert program == "docmill"
        check_command(tuple(words))
    assert told["deploy"]["restartPolicyType"] == "ON_FAILURE"
    assert told["deploy"].get("healthcheckPath", "/ready") in PROBES
