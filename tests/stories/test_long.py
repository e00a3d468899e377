"""A long document whose worker is killed: the next goes on, and people may read what there is."""

import httpx2
import psycopg

from stories.house import House
from terminal import book
from waits import PATIENCE

LONG = book(40)
READS = {"DOCMILL_PIPELINES": "trades"}


def sent(client: httpx2.Client, url: str, name: str) -> str:
    files = {"file": (name, LONG, "application/pdf")}
    answer = client.post(f"{url}/api/upload", files=files, data={"pipeline": "trades"})
    return answer.json()["jobId"]


def steps(house: House) -> list[tuple[str, int]]:
    with psycopg.connect(house.url) as conn:
        return conn.execute("SELECT kind, sum(items) FROM steps GROUP BY kind").fetchall()


def test_a_killed_run_is_gone_on_with_and_its_pages_can_be_read_meanwhile(house: House) -> None:
    with house.web() as served, httpx2.Client(timeout=PATIENCE) as client:
        job_id = sent(client, served.url, "long.pdf")
        place = f"{served.url}/api/jobs/{job_id}"
        assert client.get(f"{place}/partial").json()["code"] == "NOT_READY"

        house.worker_dies_at("step.kept", **READS)
        ((kind, read),) = steps(house)
        assert kind == "pages"
        assert 0 < read < 40
        partial = client.get(f"{place}/partial").json()
        assert [page["number"] for page in partial["pages"]] == [*range(1, read + 1)]
        assert partial["pages_read"] == read
        assert "A book 0" in client.get(f"{place}/partial?form=text").text
        assert f"{read} pages" in client.get(f"{served.url}/jobs/{job_id}").text
        assert httpx2.get(f"{place}/partial", timeout=PATIENCE).status_code in {403, 404}

        house.finish(**READS)
        assert steps(house) == []
        whole = client.get(f"{place}/partial", follow_redirects=True).json()
        assert whole["trades"] == []
        events = client.get(place).json()["events"]
        (ending,) = [event for event in events if event["kind"] == "complete"]
        assert ending["meta"]["recalled"] >= read
