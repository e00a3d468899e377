"""Files of any size and name on their way in, and settings for tests that send many."""

import os
from typing import Final
from uuid import uuid4

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.documents import accept as door
from docmill.documents.accept import Accepted, Acceptor, JobRequest
from docmill.documents.staging import FileStage

LIMIT: Final = 5000
ANN: Final = owners.user("ann")
RICH: Final = owners.user("rich", premium=True)
ANY_TEXT: Final = st.text(st.characters(exclude_categories=()))

# The database and the store stay the same from example to example: every file is unlike the others.
CALM: Final = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)


# `make fuzz` asks for more of each than the suite has time for.
FEWEST: Final = int(os.environ.get("PROPERTY_EXAMPLES", "0"))


def examples(count: int) -> settings:
    count = max(count, FEWEST)
    return settings(max_examples=count, deadline=None, print_blob=True, suppress_health_check=CALM)


def a_file(size: int) -> bytes:
    """So many bytes that look like a PDF, unlike any other file's."""
    head = b"%PDF-1.7\n" + uuid4().hex.encode()
    return (head + b"." * size)[: max(size, 9)]


async def bring(
    intake: Acceptor,
    data: bytes,
    wanted: JobRequest | Owner = ANN,
    *,
    filename: str = "a.pdf",
    chunk: int = 1 << 20,
) -> Accepted:
    """What a route does with the bytes of a body."""
    if isinstance(wanted, Owner):
        wanted = JobRequest(wanted, "extract")
    stage = FileStage(intake.store, filename, max_bytes=LIMIT)
    try:
        for start in range(0, len(data), chunk):
            await stage.write(data[start : start + chunk])
        staged = await stage.finish()
    except DocmillError:
        await stage.abort()
        raise
    return await door.accept(intake, staged, wanted)
