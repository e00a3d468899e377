"""docmill webhooks: made, listed, replayed and deleted from a terminal, on a running docmill."""

from pathlib import Path

from docmill.webhooks.fields import NAMES
from terminal import Served, Terminal, letter
from waits import wait_for

NOWHERE = "http://127.0.0.1:9/hook"


def test_a_webhook_from_the_first_command_to_the_last(
    desk: Terminal, served: Served, tmp_path: Path
) -> None:
    assert "No webhook yet" in desk.run("webhooks", "list").out
    made = desk.run("webhooks", "create", NOWHERE, "-e", "job.complete", "--json")
    assert made.code == 0, made.err
    assert made.json["events"] == ["job.complete"]
    assert made.json["secret"].startswith("whsec_")
    webhook_id = made.json["id"]

    (tmp_path / "letter.pdf").write_bytes(letter())
    assert desk.run("submit", "letter.pdf").code == 0
    wait_for(lambda: desk.run("webhooks", "deliveries", webhook_id, "--json").json)

    def tries() -> list[str]:
        log = desk.run("webhooks", "deliveries", webhook_id, "--json").json
        return [each["error"] for each in log[0]["attempts"]]

    wait_for(tries, served.log.read_text)
    assert tries()[0] == "the connection failed (ConnectError)"
    shown = desk.run("webhooks", "deliveries", webhook_id).out
    assert "job.complete" in shown
    assert "failing" in desk.run("webhooks", "list").out

    since = desk.run("webhooks", "replay", webhook_id, "--since", "2026-01-01", "--missed")
    assert since.out == "0 to be delivered again.\n"  # it waits to be tried again
    (one,) = desk.run("webhooks", "deliveries", webhook_id, "--json").json
    alone = desk.run("webhooks", "replay", webhook_id, one["id"], "--json")
    assert alone.json == {"replayed": 0}

    rotated = desk.run("webhooks", "rotate", webhook_id, "--json").json
    assert rotated["secret"] != made.json["secret"]
    assert "is on" in desk.run("webhooks", "enable", webhook_id).out
    assert "is deleted" in desk.run("webhooks", "delete", webhook_id).out
    assert desk.run("webhooks", "list", "--json").json == []


def test_what_is_refused_says_why_and_what_to_do(desk: Terminal) -> None:
    refused = desk.run("webhooks", "create", "http://10.0.0.1/")
    assert refused.code == 1
    assert "DOCMILL_WEBHOOK_ALLOW" in refused.err
    nobody = desk.run("webhooks", "delete", "00000000-0000-4000-8000-000000000000")
    assert nobody.code == 1
    assert "There is no such webhook" in nobody.err
    assert desk.run("webhooks", "replay", "x").code == 2
    wrong = desk.run("webhooks", "create", NOWHERE, "-e", "job.begun")
    assert wrong.code == 1


def test_without_a_choice_all_events_are_told(desk: Terminal) -> None:
    made = desk.run("webhooks", "create", NOWHERE)
    assert made.code == 0, made.err
    assert "not shown again" in made.out
    (one,) = desk.run("webhooks", "list", "--json").json
    assert one["events"] == sorted(NAMES)
