"""How many workers the queue is worth, by the very query that KEDA asks."""

from typing import Any

import pytest
import yaml

from bench.compose import DEPLOY
from docmill.db.pool import Connection
from road import add_job

pytestmark = pytest.mark.anyio

LATER = "UPDATE jobs SET run_at = now() + interval '1 hour' WHERE status = 'queued'"


def read_scaled_object() -> dict[str, Any]:
    found = yaml.safe_load_all((DEPLOY / "kubernetes/base/scaling.yaml").read_text())
    return next(one["spec"] for one in found if one["kind"] == "ScaledObject")


async def test_two_four_eight_or_sixteen_workers_by_the_length_of_the_queue(
    conn: Connection,
) -> None:
    scaled = read_scaled_object()
    (trigger,) = scaled["triggers"]
    assert trigger["metadata"]["targetQueryValue"] == "1"  # so many replicas as the query says
    wanted: dict[int, int] = {}
    queued = 0
    for length in (0, 50, 51, 100, 101, 200, 201):
        while queued < length:
            await add_job(conn)
            queued += 1
        row = await (await conn.execute(trigger["metadata"]["query"])).fetchone()
        assert row
        wanted[length] = row[0]
    assert wanted == {0: 2, 50: 2, 51: 4, 100: 4, 101: 8, 200: 8, 201: 16}
    limits = (scaled["minReplicaCount"], scaled["maxReplicaCount"])
    assert limits == (min(wanted.values()), max(wanted.values()))

    await conn.execute(LATER)
    assert await (await conn.execute(trigger["metadata"]["query"])).fetchone() == (2,)
