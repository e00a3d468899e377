"""Migrations: applied once, in order, together or not at all, by one process at a time."""

import asyncio
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from docmill.db import migrate
from docmill.db.migrate import MigrationError

pytestmark = pytest.mark.anyio


@pytest.fixture
def empty_url(server_url: str) -> Iterator[str]:
    """A database without any schema."""
    name = sql.Identifier("empty")
    with psycopg.connect(server_url, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield make_conninfo(server_url, dbname="empty")
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "0001_first", "CREATE TABLE notes (id int PRIMARY KEY, body text);")
    write(
        tmp_path,
        "0002_second",
        "ALTER TABLE notes ADD COLUMN kind text; INSERT INTO notes VALUES (1);",
    )
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.sql").write_text(text)


async def fetch(url: str, query: bytes) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        return await (await conn.execute(query)).fetchall()


async def test_files_are_applied_in_order_and_only_once(empty_url: str, folder: Path) -> None:
    assert await migrate.find_pending(empty_url, folder=folder) == ["0001_first", "0002_second"]
    assert await migrate.migrate(empty_url, folder=folder) == ["0001_first", "0002_second"]
    assert await migrate.migrate(empty_url, folder=folder) == []
    assert await migrate.find_pending(empty_url, folder=folder) == []
    rows = await fetch(
        empty_url, b"SELECT version, name, length(sha256) FROM schema_migrations ORDER BY 1"
    )
    assert rows == [(1, "0001_first", 64), (2, "0002_second", 64)]


OLD_VECTOR = b"""
INSERT INTO owners (owner) VALUES ('user:ann');
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key, expires_at)
SELECT id, 'user:ann', repeat('0', 64), 1, 'application/pdf', 'a.pdf', 'upload', 'uploads/a', now()
  FROM (SELECT gen_random_uuid() AS id) AS made;
INSERT INTO jobs (id, document_id, owner, pipeline, status, start_tag)
SELECT id, id, owner, 'extract', 'uploaded', 1 FROM documents;
INSERT INTO chunks (job_id, document_id, owner, position, page, heading, text)
SELECT id, id, owner, 1, 1, '', 'words' FROM jobs;
INSERT INTO chunk_vectors (chunk_id, part, document_id, owner, model, embedding)
SELECT id, 1, document_id, owner, 'old', array_fill(1, ARRAY[384])::real[]::halfvec FROM chunks
"""
VECTORS = b"""
SELECT pg_relation_filenode('chunk_vectors'), vector_dims(embedding), model FROM chunk_vectors
"""


async def test_vectors_of_one_width_stay_where_they_are_when_any_width_may_come(
    empty_url: str, tmp_path: Path
) -> None:
    for path in migrate.FOLDER.glob("*.sql"):
        if not path.name.startswith("0030"):
            shutil.copy(path, tmp_path)
    await migrate.migrate(empty_url, folder=tmp_path)
    async with await psycopg.AsyncConnection.connect(empty_url) as conn:
        await conn.execute(OLD_VECTOR)
    before = await fetch(empty_url, VECTORS)

    assert await migrate.migrate(empty_url) == ["0030_vectors_of_any_width"]

    assert await fetch(empty_url, VECTORS) == before
    assert await fetch(empty_url, b"SELECT model, width FROM embedding_models") == [("old", 384)]
    async with await psycopg.AsyncConnection.connect(empty_url) as conn:
        await conn.execute(
            "INSERT INTO chunk_vectors SELECT chunk_id, part, document_id, owner, 'new@2', '[1,2]'"
            " FROM chunk_vectors"
        )


async def test_asking_what_is_pending_changes_nothing(empty_url: str, folder: Path) -> None:
    await migrate.find_pending(empty_url, folder=folder)
    assert await fetch(empty_url, b"SELECT to_regclass('schema_migrations')") == [(None,)]


async def test_an_edited_file_is_refused_once_it_was_applied(empty_url: str, folder: Path) -> None:
    await migrate.migrate(empty_url, folder=folder)
    write(folder, "0001_first", "CREATE TABLE notes (id bigint PRIMARY KEY, body text);")
    write(folder, "0003_third", "CREATE TABLE never (id int);")
    with pytest.raises(MigrationError, match=r"0001_first was edited after it had been applied"):
        await migrate.migrate(empty_url, folder=folder)
    assert await fetch(empty_url, b"SELECT to_regclass('never')") == [(None,)]


async def test_a_database_newer_than_the_code_is_left_alone(empty_url: str, folder: Path) -> None:
    await migrate.migrate(empty_url, folder=folder)
    (folder / "0002_second.sql").unlink()
    assert await migrate.find_pending(empty_url, folder=folder) == []
    assert await migrate.migrate(empty_url, folder=folder) == []


async def test_a_file_that_fails_leaves_nothing_and_keeps_those_before_it(
    empty_url: str, folder: Path
) -> None:
    write(folder, "0003_third", "CREATE TABLE half (id int); SELECT 1 / 0;")
    with pytest.raises(MigrationError, match="0003_third failed: division by zero"):
        await migrate.migrate(empty_url, folder=folder)
    assert await fetch(empty_url, b"SELECT to_regclass('half')") == [(None,)]
    assert await migrate.find_pending(empty_url, folder=folder) == ["0003_third"]


async def test_a_file_without_transaction_may_build_an_index_concurrently(
    empty_url: str, folder: Path
) -> None:
    write(
        folder,
        "0003_index",
        "-- no transaction\n-- why: the table is busy; nobody may wait\n"
        "DROP INDEX CONCURRENTLY IF EXISTS notes_kind;\n"
        "CREATE INDEX CONCURRENTLY notes_kind\n    ON notes (kind);\n",
    )
    assert (await migrate.migrate(empty_url, folder=folder))[-1] == "0003_index"
    rows = await fetch(
        empty_url, b"SELECT indisvalid FROM pg_index WHERE indexrelid = 'notes_kind'::regclass"
    )
    assert rows == [(True,)]


async def test_eight_processes_at_once_apply_each_file_once(empty_url: str, folder: Path) -> None:
    write(
        folder, "0003_index", "-- no transaction\nCREATE INDEX CONCURRENTLY slow ON notes (body);\n"
    )
    done = await asyncio.gather(*(migrate.migrate(empty_url, folder=folder) for _ in range(8)))
    assert sorted(len(names) for names in done) == [0] * 7 + [3]


async def test_who_waits_too_long_for_its_turn_is_told(empty_url: str, folder: Path) -> None:
    async with await psycopg.AsyncConnection.connect(empty_url) as other:
        await other.execute(migrate.TRY_LOCK)
        with pytest.raises(MigrationError, match="Another process is migrating"):
            await migrate.migrate(empty_url, folder=folder, wait=timedelta(seconds=0.2))


@pytest.mark.parametrize("name", ["0001_again", "third", "3_third"])
def test_a_file_without_a_number_of_its_own_is_refused(folder: Path, name: str) -> None:
    write(folder, name, "SELECT 1;")
    with pytest.raises(MigrationError, match="has no number of its own"):
        migrate.read_migrations(folder)


async def test_the_migrations_we_ship_leave_nothing_pending(database_url: str) -> None:
    assert migrate.read_migrations(migrate.FOLDER)
    assert await migrate.find_pending(database_url) == []
