"""deploy/compose.yaml without containers: the README's lines, few connections, an old worker."""

import re
import shutil
import subprocess
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from bench.checker import judge
from bench.surroundings import count_pooled
from bench.topology import Topology, make_old, open_topology, run_command
from gateways import INVOICE
from waits import PATIENCE

README = Path(__file__).parents[2] / "README.md"
POOL = 3
DONE_BY = """
SELECT split_part(worker, '/', 3)::int FROM job_attempts
 WHERE outcome = 'complete' ORDER BY ended_at DESC LIMIT 1
"""
BACKENDS = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
   AND backend_type = 'client backend'
"""


def run_readme(topology: Topology, folder: Path, invoice: bytes = INVOICE) -> None:
    """The block that sends a file, as it stands there. curl keeps the session's cookie, and asks
    again for a result that a busy machine has not made within the 30 s of the README.
    """
    (block,) = re.findall(r"```sh\n(docmill=http.*?)```", README.read_text(), re.DOTALL)
    (folder / "invoice.pdf").write_bytes(invoice)
    again = "retry = 150\nretry-delay = 1\nretry-all-errors\n"
    (folder / ".curlrc").write_text(f"cookie = {folder}/jar\ncookie-jar = {folder}/jar\n{again}")
    lines = re.sub(r"^docmill=\S+", f"set -e; docmill={topology.web_url}", block)
    ran = subprocess.run(
        ["bash", "-c", lines], cwd=folder, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def test_the_compose_topology_does_what_the_readme_says_with_few_connections_and_an_old_worker(
    database_url: str, tmp_path: Path
) -> None:
    if not shutil.which("pgbouncer"):
        pytest.skip("PgBouncer is not installed")
    with (
        open_topology(tmp_path, database_url, pool_size=POOL, replicas=1) as topology,
        psycopg.connect(database_url, autocommit=True) as conn,
    ):
        assert "up to date" in run_command(topology, "migrate-1", "migrate")
        started = [one for name, one in topology.processes.items() if name != "migrate-1"]
        for one in started:
            one.start()
        for one in started:
            one.wait_until_ready()
        run_readme(topology, tmp_path)
        assert list(tmp_path.glob("*.xml"))

        clients, servers = count_pooled(topology.pooled_url)
        assert 0 < clients <= 4 * (len(started) - 1)  # the gateway has none
        assert 0 < servers <= POOL
        row = conn.execute(BACKENDS).fetchone()
        assert row
        assert row[0] <= POOL  # nobody goes past the pooler

        worker = topology.processes["worker-1"]
        worker.stop()
        if old := make_old(worker, tmp_path / "release"):
            topology.processes["old"] = old
            old.start()
            assert old.process
            second = tmp_path / "second"
            second.mkdir()
            run_readme(topology, second, INVOICE + b"\n%another")
            assert conn.execute(DONE_BY).fetchone() == (old.process.pid,)
            old.stop()
        ids: list[UUID] = [row[0] for row in conn.execute("SELECT id FROM jobs")]
        assert judge(database_url, ids).clean
