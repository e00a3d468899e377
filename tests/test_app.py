"""The composition root: what an installation offers, and the settings as configs."""

import ast
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from docmill import app
from docmill.app import StartError, find_catalog
from docmill.core.installed import find_rooms
from docmill.core.jobs import Claimed, DocumentId, JobId
from docmill.core.owners import OwnerKey
from docmill.queue.worker import WorkerConfig
from docmill.sandbox.limits import RunLimits
from docmill.settings import Settings, adapt_for_serve, is_for_one_person, read_settings
from docmill.web.config import QuotaConfig, SignInConfig, TokenConfig, WebConfig

CORETAX, UBL, CII = "pt_simon_invoice_v1", "ubl_invoice_v1", "cii_invoice_v1"
AUTO = "auto"


def test_without_a_list_all_mappings_are_offered_the_default_first() -> None:
    assert find_catalog((), CORETAX).mappings["invoice"] == (CORETAX, AUTO, CII, UBL)
    assert find_catalog((), UBL).mappings["invoice"] == (UBL, AUTO, CORETAX, CII)
    assert find_catalog((), UBL).default_mapping("invoice") == UBL


def test_a_list_leaves_the_others_out() -> None:
    allowed = find_catalog((CII, CORETAX), CORETAX).mappings
    assert allowed["invoice"] == allowed["auto"] == (CORETAX, CII)
    assert find_catalog((CII, UBL), AUTO).default_mapping("invoice") == CII


@pytest.mark.parametrize(("allowed", "default"), [(("ubl_v1",), CORETAX), ((), "ubl_v1")])
def test_a_name_that_is_no_mapping_stops_the_start_with_the_list(
    allowed: tuple[str, ...], default: str
) -> None:
    with pytest.raises(StartError) as told:
        find_catalog(allowed, default)
    assert str(told.value).startswith("There is no mapping ubl_v1.\n")
    assert str(told.value).endswith(f"{CII}, {CORETAX}, {UBL}.")


def test_a_default_that_is_not_allowed_stops_the_start() -> None:
    with pytest.raises(StartError, match=f"The default mapping {CORETAX} is not allowed"):
        find_catalog((UBL,), CORETAX)


def test_the_list_is_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_MAPPINGS", f"{UBL}, {CII},")
    assert read_settings().mappings == (UBL, CII)
    monkeypatch.delenv("DOCMILL_MAPPINGS")
    assert (read_settings().mappings, read_settings().default_mapping) == ((), AUTO)


def a_job(pipeline: str, source: str = "upload") -> Claimed:
    return Claimed(
        JobId(uuid4()), DocumentId(uuid4()), OwnerKey("desk:trading"), pipeline, None, {}, None,
        1, 1, "uploads/a", "a.pdf", "application/pdf", 1, "0" * 64, source=source,
    )  # fmt: skip


def test_what_comes_by_a_bucket_is_tried_again_after_5_15_and_60_minutes() -> None:
    rules = app.worker_config(read_settings(), ["trades", "extract"])
    retry = rules.retry_of(a_job("trades", source="bucket"))
    assert retry == rules.retry_of(a_job("extract", source="bucket"))
    assert retry.attempts == 4
    assert [retry.delay(attempt, 0.5) for attempt in (1, 2, 3)] == [
        timedelta(minutes=5),
        timedelta(minutes=15),
        timedelta(minutes=60),
    ]


def test_a_note_uploaded_by_hand_does_not_wait_for_minutes() -> None:
    retry = app.worker_config(read_settings(), ["trades"]).retry_of(a_job("trades"))
    assert retry.attempts == 3
    assert retry.delay(1, 1.0) == timedelta(seconds=15)


def test_an_operator_may_set_another_rule_by_source_or_by_pipeline() -> None:
    given = {"bucket": {"attempts": 6}, "trades": {"attempts": 2, "delays_seconds": [1]}}
    rules = app.worker_config(read_settings(retries=given), ["trades", "extract"])
    assert rules.retry_of(a_job("trades", source="bucket")).attempts == 2
    assert rules.retry_of(a_job("extract", source="bucket")).attempts == 6


def test_serve_is_for_one_person_only_where_nobody_else_comes() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        settings = adapt_for_serve(read_settings(host=host))
        assert settings.auth_mode == "local"
        assert app.web_config(settings).hosts == (host,)
    for given in (
        {"host": "0.0.0.0"},
        {"host": "::"},
        {"host": "192.168.1.5"},
        {"host": "my-laptop"},
        {"hosts": "docs.example.com"},
        {"production": True},
        {"auth_mode": "session"},
    ):
        assert app.web_config(adapt_for_serve(read_settings(**given))).auth_mode == "session", given
    assert app.web_config(read_settings()).auth_mode == "session"  # `docmill web`
    assert is_for_one_person(read_settings(hosts="localhost, 127.0.0.1"))


def test_each_setting_is_used() -> None:
    """By its name in the code, or by a config class that has a field of its name."""
    folder = Path(app.__file__).parent
    places = ("app.py", "settings/*.py", "processes/*.py")
    sources = [path for place in places for path in folder.glob(place)]
    trees = [ast.parse(source.read_text()) for source in sources]
    nodes = (node for tree in trees for node in ast.walk(tree))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for config, prefix in (
        (WebConfig, ""),
        (WorkerConfig, ""),
        (TokenConfig, "jwt_"),
        (SignInConfig, "oidc_"),
        (QuotaConfig, "quota_"),
        (RunLimits, "child_"),
    ):
        names = {prefix + each.name for each in fields(config)}
        used |= {f"{name}{unit}" for name in names for unit in ("", "_seconds", "_days")}
    for room in find_rooms().rooms.values():
        used |= {*room.settings, room.enabled_by}
    assert not Settings.model_fields.keys() - used


def test_a_config_takes_what_the_settings_say() -> None:
    settings = read_settings(max_upload_bytes=1_000_000, lease_seconds=7, heartbeat_seconds=2)
    assert app.web_config(settings).max_upload_bytes == 1_000_000
    assert app.worker_config(settings, ["trades"]).lease == timedelta(seconds=7)
    tokens = app.web_config(read_settings(jwt_secret="s" * 32, jwt_audience="us")).tokens
    assert (tokens.secret, tokens.audience) == ("s" * 32, "us")
    limits = app.sandbox_limits(read_settings(child_stall_seconds=3, child_memory_mb=512))
    assert (limits.stall, limits.memory_bytes) == (timedelta(seconds=3), 512 << 20)
