"""submit directly, by address and after others; link and boost: as commands."""

import httpx2

from sites import a_pdf
from terminal import Terminal
from waits import PATIENCE


def test_a_file_goes_in_directly_and_its_result_out_by_a_link(desk: Terminal) -> None:
    (desk.home / "first.pdf").write_bytes(a_pdf("the first of two"))
    (desk.home / "second.pdf").write_bytes(a_pdf("the second of two"))
    (first,) = desk.run("submit", "first.pdf", "--direct", "--watch", "--json").json
    assert (first["success"], first["status"]) == (True, "complete")
    link = desk.run("link", first["job_id"][:8], "--expires-in", "600").out.strip()
    assert "the first of two" in httpx2.get(link, timeout=PATIENCE, trust_env=False).text
    # It is an address like any other; what it opens is no PDF.
    (refused,) = desk.run("submit", link, "--json").json
    assert refused["code"] == "NOT_PDF"
    (inside,) = desk.run("submit", "https://10.0.0.1/a.pdf", "--json").json
    assert inside["code"] == "URL_REFUSED"
    assert "DOCMILL_FETCH_ALLOW" in inside["message"]
    assert desk.run("submit", "second.pdf", "--at", "soon").code == 2
    (late,) = desk.run("submit", "second.pdf", "--at", "2099-01-01T00:00", "--json").json
    assert "more than a year" in late["message"]
    after = desk.run("submit", "second.pdf", "--after", first["job_id"][:8], "--watch", "--json")
    assert after.json[0]["status"] == "complete"
    ended = desk.run("boost", first["job_id"])
    assert (ended.code, "WRONG_STATE" in ended.err) == (1, True)
