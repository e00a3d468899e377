"""A database that the tests of one module share; each leaves it as it was."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo


@pytest.fixture(scope="module")
def shared_url(server_url: str, template: str) -> Iterator[str]:
    name = sql.Identifier(f"shared_{uuid4().hex}")
    with psycopg.connect(server_url, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(template))
        )
        yield make_conninfo(server_url, dbname=name.as_string().strip('"'))
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture
def db(shared_url: str) -> Iterator[psycopg.Connection]:
    """One transaction, undone at the end."""
    with psycopg.connect(shared_url) as conn:
        yield conn
        conn.rollback()
