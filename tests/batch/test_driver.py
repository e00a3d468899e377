"""docmill batch from its list to its last count: killed, resumed, refused, tried again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import pdfs
from docmill.batch import schema_of
from docmill.batch.arrow import pa, pq
from docmill.batch.engines import LocalEngine, WorkPlan
from docmill.batch.manifest import Shard, hash_shard
from docmill.batch.parts import part_key
from docmill.batch.reader import Reader
from docmill.batch.schema import MEASURED
from docmill.documents.confined import ReadRequest
from docmill.processes.batch import run_batch
from docmill.sandbox.limits import RunLimits
from docmill.storage.contract import Metadata
from docmill.storage.local import LocalStore
from terminal import Terminal, letter

READ = ("--pipeline", "extract", "--shard", "3")
INTO = ("--into", "postgresql://127.0.0.1:9/none", "--owner")
BATCH = typer.Typer()
BATCH.command()(run_batch)


def run(*words: str | Path) -> str:
    """What the command says, without the cost of another process."""
    ran = CliRunner().invoke(BATCH, [str(word) for word in words])
    assert ran.exit_code == 0, ran.output
    return ran.output


def complain_of(*words: str | Path) -> str:
    ran = CliRunner().invoke(BATCH, [str(word) for word in words])
    assert ran.exit_code != 0
    return f"{ran.exception}\n{ran.output}"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Eight documents, two of which can't be read, and something else."""
    folder = tmp_path / "in"
    (folder / "inner").mkdir(parents=True)
    for number in range(6):
        place = folder / "inner" if number > 2 else folder
        (place / f"{number}.pdf").write_bytes(letter(f"Total: {number}.00"))
    (folder / "cut.pdf").write_bytes(pdfs.truncated_pdf())
    (folder / "empty.pdf").write_bytes(b"")
    (folder / "notes.txt").write_text("no document")
    return folder


def read_rows(out: Path) -> list[dict[str, Any]]:
    """What all parts say, without what two readings may differ in."""
    tables = [pq.read_table(path) for path in sorted((out / "parts").iterdir())]
    assert all(table.schema == schema_of("extract") for table in tables)
    rows: list[dict[str, Any]] = pa.concat_tables(tables).drop_columns(list(MEASURED)).to_pylist()
    return rows


def read_letters(out: Path) -> dict[str, str]:
    lines = [line for path in (out / "failed").iterdir() for line in path.read_text().splitlines()]
    return {letter["key"]: letter["code"] for letter in map(json.loads, lines)}


def test_killed_at_every_step_each_document_is_in_the_output_once(
    terminal: Terminal, source: Path, tmp_path: Path
) -> None:
    out, calm = tmp_path / "out", tmp_path / "calm"
    words = ("batch", source, out, *READ, "--jobs", "2")
    seen: dict[str, bytes] = {}
    for point in ("batch.listed", "batch.put", "batch.read"):
        assert terminal.with_(DOCMILL_FAILPOINTS=f"{point}=kill").run(*words).code == -9
        assert not (out / "_SUCCESS").exists()
        found = list((out / "parts").iterdir()) if (out / "parts").exists() else []
        seen |= {path.name: path.read_bytes() for path in found}
    assert seen, "it died after a part was put"
    told = json.loads(run(*words[1:], "--json").splitlines()[-1])
    assert (told["listed"], told["documents"], told["ok"], told["failed"]) == (8, 8, 6, 2)
    assert told["skipped"] == 1
    assert told["read_now"] < 8, "what was there was not read again"
    for name, before in seen.items():
        assert (out / "parts" / name).read_bytes() == before
    assert read_letters(out) == {"cut.pdf": "BAD_PDF", "empty.pdf": "EMPTY_FILE"}
    assert len([*(out / "_manifest").rglob("*.parquet")]) == 1, "the killed run's list is gone"
    run(source, calm, *READ)
    assert read_rows(out) == read_rows(calm)
    assert sorted(row["key"] for row in read_rows(out)) == [
        "0.pdf", "1.pdf", "2.pdf", "cut.pdf", "empty.pdf",
        "inner/3.pdf", "inner/4.pdf", "inner/5.pdf",
    ]  # fmt: skip
    assert "All of it was there already." in run(*words[1:])


def test_what_failed_is_read_again_and_takes_the_place_of_the_failure(
    terminal: Terminal, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(source, out, *READ)
    (source / "cut.pdf").write_bytes(letter("Total: 9.00"))
    words = ("batch", source, out, *READ, "--retry-failed")
    # Killed when the part is replaced and its tally is gone: all that is derived is made again.
    assert terminal.with_(DOCMILL_FAILPOINTS="batch.put=kill").run(*words).code == -9
    assert "8 documents listed, 8 in" in run(source, out, *READ)
    run(*words[1:])
    rows = {row["key"]: row for row in read_rows(out)}
    assert len(read_rows(out)) == 8
    assert rows["cut.pdf"]["status"] == "ok"
    assert "9.00" in rows["cut.pdf"]["contents"]
    assert read_letters(out) == {"empty.pdf": "EMPTY_FILE"}
    assert json.loads((out / "_SUCCESS").read_bytes())["failed"] == 1


class NobodyWatches:
    def list(self, documents: int) -> None: ...
    def expect(self, documents: int) -> None: ...
    def skip(self, documents: int) -> None: ...
    def add(self, documents: int, failed: int) -> None: ...


class OverwritingStore(LocalStore):
    """The negative control: it puts although there is something."""

    async def create(self, key: str, data: bytes) -> bool:
        metadata: Metadata = {}
        await self.put(key, data, metadata=metadata)
        return True


@pytest.mark.anyio
@pytest.mark.parametrize("store", [LocalStore, OverwritingStore])
async def test_a_worker_that_comes_late_does_not_change_a_part(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: type[LocalStore]
) -> None:
    def open_out(url: str) -> LocalStore:
        return store(Path(url))

    monkeypatch.setattr("docmill.batch.engines.open_store", open_out)
    listed = pa.table({"key": ["0.pdf"], "etag": [""], "size": [len(letter("Total: 0.00"))]})
    shard = Shard(0, hash_shard("it", listed), listed)
    plan = WorkPlan(str(source), str(tmp_path / "out"), ReadRequest("extract"), RunLimits())
    part = tmp_path / "out" / part_key(shard.name)
    async with LocalEngine(plan, NobodyWatches(), jobs=1, shard=1) as engine:
        await engine.read(shard)
        first = part.read_bytes()
        (source / "0.pdf").write_bytes(letter("Total: 7.00"))  # what the late one reads
        late = await engine.read(shard)
    assert (part.read_bytes() == first) is (store is LocalStore)
    assert late.documents == 1


def test_a_reader_takes_bytes_or_keys_and_can_be_sent_to_a_worker(source: Path) -> None:
    reader = Reader("extract", source=str(source))
    moved: Reader = reader.__reduce__()[0](*reader.__reduce__()[1])
    keys = pa.table({"key": ["1.pdf", "gone.pdf"]})
    content = pa.table({"key": ["1.pdf"], "content": [(source / "1.pdf").read_bytes()]})
    try:
        by_key, by_content = moved(keys).to_pylist(), moved(content).to_pylist()
    finally:
        moved.close()
    assert by_key[0]["contents"] == by_content[0]["contents"]
    assert by_key[0]["document_id"] == by_content[0]["document_id"]
    assert by_key[0]["num_pages"] == 1
    assert (by_key[1]["status"], by_key[1]["code"]) == ("failed", "EXPIRED")


def refuse_cases(source: Path) -> Sequence[tuple[tuple[str | Path, ...], str]]:
    out = source.parent / "refused"
    bare = source.parent / "bare"
    bare.mkdir()
    return [
        ((source.parent / "missing", out, *READ), "IN is no folder"),
        ((bare, out, *READ), "There is nothing in"),
        (("ftp://there", out.with_name("2"), *READ), "This is no address of a store: ftp://there"),
        ((source, source / "out", *READ), "OUT lies inside IN"),
        ((source, source.parent, *READ), "OUT is not empty, and holds no batch"),
        ((source, out.with_name("3"), "--pipeline", "nonsense"), "there is no 'nonsense'"),
        ((source, source / "0.pdf" / "out", *READ), "This folder can't be used"),
        ((source, "gs://none/out", *READ), "There are no credentials for gs://none"),
        ((source, out.with_name("4"), *READ, *INTO, "ann"), "'ann' is no owner"),
        ((source, out.with_name("5"), *READ, *INTO, "user:ann"), "database can't be reached"),
        ((source, out, *READ, "--limit", "1"), "another batch: source"),
    ]


def test_what_cannot_be_done_is_said_before_anything_is_read(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(source / "none.json"))
    for words, says in refuse_cases(source):
        assert says in complain_of(*words), words
    assert not [*source.parent.rglob("*.parquet")]


def test_a_long_list_tells_how_far_it_is(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.processes.batch.LINE_SECONDS", 0.0)
    told = run(source, tmp_path / "out", *READ, "--limit", "4", "--json").splitlines()
    listing = [line["documents"] for line in map(json.loads, told) if line["event"] == "listing"]
    assert listing == [3, 4]


def test_an_output_is_one_batch_and_a_trial_reads_only_some(source: Path, tmp_path: Path) -> None:
    assert "2 documents listed, 2 in" in run(source, tmp_path / "out", *READ, "--limit", "2")
    assert "--limit 2 there, not given here" in complain_of(source, tmp_path / "out", *READ)
    more = complain_of(source, tmp_path / "out", *READ, "--limit", "2", "--rows", "--shard", "9")
    assert "another batch: --rows not given there, given here; --shard 3 there, 9 here." in more
    other = complain_of(source, tmp_path / "out", "--pipeline", "study", "--shard", "3")
    assert "OUT holds another batch: --pipeline extract there, study here" in other


def test_a_shard_is_named_by_what_is_asked_and_what_is_in_it() -> None:
    listed = pa.table({"key": ["a", "b"], "etag": ["1", "2"], "size": [1, 2]})
    larger = pa.table({"key": ["a", "b"], "etag": ["1", "2"], "size": [1, 3]})
    assert len({hash_shard(asked, table) for asked in "xy" for table in (listed, larger)}) == 4
    assert hash_shard("x", listed) == hash_shard("x", listed.slice(0))


def test_every_object_is_a_document_with_all(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "out", *READ, "--all")
    assert read_letters(tmp_path / "out")["notes.txt"] == "NOT_PDF"
