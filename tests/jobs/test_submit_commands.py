"""Files of a folder in few requests; a limit of docmill's is waited out."""

from pathlib import Path

import httpx2
import pytest

from docmill.cli.console import err
from docmill.cli.progress import ProgressBoard
from docmill.cli.remote import RemoteClient
from docmill.jobs import submit_commands
from docmill.jobs.submit_commands import (
    BATCH_BYTES,
    BATCH_FILES,
    SubmittedFile,
    Submitter,
    group_batches,
)
from sites import Start, a_pdf

pytestmark = pytest.mark.anyio


def test_small_files_share_a_request_and_large_ones_go_alone() -> None:
    small = [(Path(f"{number}.pdf"), 1000) for number in range(BATCH_FILES + 1)]
    assert [len(batch) for batch in group_batches(small)] == [BATCH_FILES, 1]
    mixed = [(Path("a"), 10), (Path("b"), BATCH_BYTES + 1), (Path("c"), 10), (Path("d"), 10)]
    assert list(group_batches(mixed)) == [[Path("a")], [Path("b")], [Path("c"), Path("d")]]
    assert list(group_batches([])) == []


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    files = [tmp_path / f"{number}.pdf" for number in range(30)]
    for path in files:
        path.write_bytes(a_pdf(path.name))
    return files


async def send(url: str, files: list[Path], sent: list[str]) -> list[SubmittedFile]:
    async def note(request: httpx2.Request) -> None:
        sent.append(f"{request.method} {request.url.path}")

    client = RemoteClient(url, None)
    with ProgressBoard(err, quiet=True) as board:
        async with client:
            client._http.event_hooks["request"].append(note)  # pyright: ignore[reportPrivateUsage]
            return await Submitter({}, board, watch=False).send_all(client, files)


async def test_thirty_files_are_sent_in_three_requests(start: Start, files: list[Path]) -> None:
    sent: list[str] = []
    async with start() as site:
        rows = await send(site.url, files, sent)
    assert [row.file for row in rows] == [str(path) for path in files]
    assert all(row.success for row in rows)
    assert sent == ["POST /api/upload"] * 3


async def test_a_docmill_that_takes_few_files_in_a_request_gets_them_one_by_one(
    start: Start, files: list[Path]
) -> None:
    async with start(max_files=4) as site:
        rows = await send(site.url, files[:6], [])
    assert all(row.success for row in rows)
    assert len({row.job_id for row in rows}) == 6


async def test_a_limit_is_waited_out_as_long_as_docmill_says(
    start: Start, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def note_pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(submit_commands, "sleep", note_pause)
    monkeypatch.setattr(submit_commands, "TRIES", 10_000)
    # 25 at once, then 5 a second.
    async with start(uploads_per_minute=300, uploads_burst=25) as site:
        rows = await send(site.url, files, [])
    assert all(row.success for row in rows), [row.message for row in rows]
    assert len({row.job_id for row in rows}) == 30
    assert pauses
    assert set(pauses) == {1}
