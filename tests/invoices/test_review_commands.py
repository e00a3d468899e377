"""review and lessons against a docmill that serves."""

import json

from layouts import odd_invoice
from terminal import Terminal


def sent(desk: Terminal, number: str) -> str:
    """The id of a complete job over an invoice whose number is not found."""
    file = desk.home / f"{number}.pdf"
    file.write_bytes(odd_invoice(number))
    (row,) = desk.run("submit", file, "--pipeline", "invoice", "--watch", "--json").json
    assert row["status"] == "complete", row
    return row["job_id"]


def test_a_review_is_listed_corrected_approved_and_exported(desk: Terminal) -> None:
    assert desk.run("review", "list").out.startswith("Nothing.")
    job_id = sent(desk, "SJA-25-0417")
    (listed,) = desk.run("review", "list", "--json").json
    assert (listed["job_id"], listed["status"]) == (job_id, "pending")
    assert "SJA-25-0417.pdf" in desk.run("review", "list").out
    assert "check invoice_number" in desk.run("review", "show", job_id[:8]).out
    ran = desk.run("review", "set", job_id[:8], "invoice_number=SJA-25-0417", "--json")
    assert ran.json["revision"] == 1
    refused = desk.run("review", "set", job_id, "totals.net=plenty")
    assert refused.code == 1
    assert "body.edits.0.value: is no figure." in refused.err
    checked = desk.run("review", "check", job_id, "totals.net", "--json").json
    assert checked["data"]["evidence"]["totals.net"]["checked"] is True
    approved = desk.run("review", "approve", job_id)
    assert "approved, revision 3" in approved.out
    assert "Learned for the next of this layout: invoice_number" in approved.out
    assert "SJA-25-0417" in desk.run("result", job_id).out
    file = desk.home / "samples.jsonl"
    assert desk.run("review", "export", "-o", file).code == 0
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["approved"]["invoice_number"] == "SJA-25-0417"


def test_a_review_is_rejected_with_a_reason(desk: Terminal) -> None:
    job_id = sent(desk, "SJA-25-0500")
    assert desk.run("review", "reject", job_id).code == 2
    assert desk.run("review", "reject", job_id, "-r", "not ours").code == 0
    (listed,) = desk.run("review", "list", "--status", "rejected", "--json").json
    assert listed["reason"] == "not ours"
    assert "rejected  not ours" in desk.run("review", "show", job_id).out


def test_lessons_are_listed_switched_off_and_forgotten(desk: Terminal) -> None:
    job_id = sent(desk, "SJA-25-0600")
    desk.run("review", "set", job_id, "invoice_number=SJA-25-0600")
    desk.run("review", "approve", job_id)
    (lesson,) = desk.run("lessons", "list", "--json").json["lessons"]
    assert (lesson["field"], lesson["taught_by"]) == ("invoice_number", "SJA-25-0600.pdf")
    assert desk.run("lessons", "off").out.startswith("Learning is off.")
    assert desk.run("lessons", "on").out.startswith("Learning is on.")
    assert desk.run("lessons", "forget").code == 2
    assert desk.run("lessons", "forget", "77b1").code == 1
    assert desk.run("lessons", "forget", lesson["id"]).out == "Forgotten: 1\n"
    assert desk.run("lessons", "forget", "--all", "--json").json == {"forgotten": 0}
