"""A hundred thousand jobs of every kind, and the plans of statements that run behind them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import psycopg
from psycopg import sql

JOBS: Final = 100_000
BIG: Final = "session:0"

# Owner 0 has a fifth of all. Most jobs have ended; a queue of 20,000 is ready and 5,000 wait. The
# first fifth is long: what nobody has room for stands at the head.
FILL: Final = (
    "SET session_replication_role = replica",
    "INSERT INTO owners (owner) SELECT 'session:' || n FROM generate_series(0, 199) AS n",
    """
    INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                           upload_key, expires_at)
    SELECT ('00000000-0000-4000-9000-' || lpad(to_hex(n), 12, '0'))::uuid,
           'session:' || CASE WHEN n %% 5 = 0 THEN 0 ELSE n %% 200 END,
           lpad(to_hex(n), 64, '0'), 1000 + n, 'application/pdf', n || '.pdf', 'upload',
           'uploads/' || n, now() + interval '7 days'
      FROM generate_series(1, %(jobs)s) AS n
    """,
    """
    WITH drawn AS (
        SELECT n, CASE WHEN n %% 100 < 60 THEN 'complete' WHEN n %% 100 < 70 THEN 'failed'
                       WHEN n %% 100 < 75 THEN 'cancelled' WHEN n %% 1000 = 999 THEN 'processing'
                       WHEN n %% 1000 = 899 THEN 'uploaded' ELSE 'queued' END AS status
          FROM generate_series(1, %(jobs)s) AS n ORDER BY hashint4(n))
    INSERT INTO jobs (id, document_id, owner, pipeline, status, priority, start_tag, progress,
                      result_key, error_code, error_message, created_at, updated_at, queued_at,
                      started_at, completed_at, failed_at, cancelled_at, run_at, leased_by,
                      lease_expires_at, claim, attempt_count, expires_at, dedupe_key, long)
    SELECT md5(n::text)::uuid,
           ('00000000-0000-4000-9000-' || lpad(to_hex(n), 12, '0'))::uuid,
           'session:' || CASE WHEN n %% 5 = 0 THEN 0 ELSE n %% 200 END,
           (ARRAY['extract', 'invoice', 'trades', 'study'])[1 + (hashint4(n) & 3)],
           status, CASE WHEN n %% 7 = 0 THEN 10 ELSE 0 END, n,
           CASE WHEN status = 'complete' THEN 100 ELSE 0 END,
           CASE WHEN status = 'complete' THEN 'results/' || n END,
           CASE WHEN status = 'failed' THEN 'UNKNOWN' END,
           CASE WHEN status = 'failed' THEN 'Something went wrong' END,
           now() - n * interval '1 second', now() - n * interval '1 second', now(),
           CASE WHEN status IN ('processing', 'complete') THEN now() END,
           CASE WHEN status = 'complete' THEN now() - n * interval '1 second' END,
           CASE WHEN status = 'failed' THEN now() END,
           CASE WHEN status = 'cancelled' THEN now() END,
           CASE WHEN status = 'queued' AND n %% 5 = 1
                THEN now() + (n - 1000) * interval '1 second' END,
           CASE WHEN status = 'processing' THEN 'w1' END,
           CASE WHEN status = 'processing' THEN now() + (n - 50000) * interval '1 second' END,
           1, 1, now() + n * interval '1 minute', 'key ' || n, n <= 20000
      FROM drawn
    """,
    "SET session_replication_role = origin",
)


def fill(url: str) -> None:
    """Written without triggers, for speed; every CHECK still looks."""
    with psycopg.connect(url) as conn:
        for query in FILL:
            conn.execute(query.encode(), {"jobs": JOBS} if "%(jobs)s" in query else None)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("VACUUM ANALYZE")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a statement really did."""

    root: dict[str, Any]

    @property
    def pages(self) -> int:
        return int(self.root["Shared Hit Blocks"]) + int(self.root["Shared Read Blocks"])

    @property
    def whole_tables(self) -> list[str]:
        """The tables it read from end to end."""
        found = [node for node in _nodes(self.root) if node["Node Type"] == "Seq Scan"]
        return [str(node["Relation Name"]) for node in found]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


Args = Mapping[str, object] | Sequence[object]


def plan_of(conn: psycopg.Connection, query: str, args: Args, *, generic: bool) -> Plan:
    """Prepared, as the pool's connections do; `generic` is the plan made for any parameters.

    Run twice: the first run of a connection also reads the catalog, for triggers and functions.
    """
    mode = b"force_generic_plan" if generic else b"force_custom_plan"
    text, values = _numbered(query, args)
    literals = sql.SQL(", ").join(sql.Literal(value) for value in values)
    conn.execute(b"SET LOCAL plan_cache_mode = " + mode)
    types = ", ".join("interval" if isinstance(v, timedelta) else "unknown" for v in values)
    conn.execute(f"PREPARE asked{f' ({types})' if types else ''} AS {text}".encode())
    execute = sql.SQL("EXECUTE asked ({})" if values else "EXECUTE asked").format(literals)
    with conn.transaction(force_rollback=True):
        conn.execute(execute)
    explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}").format(execute)
    row = conn.execute(explain).fetchone()
    conn.execute("DEALLOCATE asked")
    assert row is not None
    return Plan(row[0][0]["Plan"])


def _numbered(query: str, args: Args) -> tuple[str, list[object]]:
    """`%(name)s` and `%s` as `$1`, `$2`, ..., with the values in that order."""
    values: list[object] = []
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if not isinstance(args, Mapping):
            values.append(args[len(values)])
            return f"${len(values)}"
        if name not in names:
            values.append(args[name])
            names[name] = len(values)
        return f"${names[name]}"

    return re.sub(r"%(?:\((\w+)\))?s", number, query), values
