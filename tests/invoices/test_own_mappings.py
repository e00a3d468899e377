"""An operator's own mappings: checked when loaded, kept by name, given to some and taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.app import find_catalog
from docmill.core.owners import OwnerKey
from docmill.db.pool import Pool, connection
from docmill.documents import assignments
from docmill.invoices import formats
from docmill.invoices.own_mappings import BadMappingsError, open_mappings, read_text
from sites import Start, a_pdf, part

pytestmark = pytest.mark.anyio

NAME = "our_invoice_v1"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    text = (formats.MAPPINGS / "ubl_invoice_v1.mapping").read_text("utf-8")
    (tmp_path / f"{NAME}.mapping").write_text(text.replace("ubl_invoice_v1", NAME))
    yield tmp_path
    formats.forget_added()


async def test_a_folder_is_offered_and_a_name_stands_for_one_text(pool: Pool, folder: Path) -> None:
    assert await open_mappings(pool, folder) == (NAME,)
    assert NAME in find_catalog((), "auto", (NAME,)).mappings["invoice"]
    async with connection(pool) as conn:
        told = await read_text(conn, NAME)
        assert await read_text(conn, "ubl_invoice_v1") == {}
    assert NAME in told["mapping_text"]
    assert await open_mappings(pool, None) == (NAME,)  # as a worker without the folder
    path = folder / f"{NAME}.mapping"
    path.write_text(path.read_text() + "# changed\n")
    with pytest.raises(BadMappingsError, match="save the new one as our_invoice_v2"):
        await open_mappings(pool, folder)
    path.write_text("mapping our_invoice_v1 {title = 1}\nInvoice\n  ID {pth = 'x'}\n")
    with pytest.raises(BadMappingsError, match=f"{NAME}.mapping:"):
        await open_mappings(pool, folder)


async def test_a_mapping_goes_to_some_owners_first_and_is_taken_back(
    pool: Pool, folder: Path, start: Start
) -> None:
    offer = find_catalog((), "auto", await open_mappings(pool, folder))
    async with start(offer=offer, auth_mode="local") as site, site.client() as client:

        async def send(text: str) -> str:
            data = {"pipeline": "invoice"}
            sent = await client.post("/api/upload", files=[part(a_pdf(text))], data=data)
            return sent.json()["job"]["mapping"]

        assert await send("one") == "auto"
        path = f"/api/mappings/{NAME}/assignments"
        assert (await client.post(path, json={"owner": "local:me"})).status_code == 200
        assert await send("two") == NAME
        assert (await client.post(path, json={})).status_code == 400
        assert (await client.delete(path)).status_code == 200
        assert await send("three") == "auto"
        record = (await client.get("/api/mappings/assignments")).json()["assignments"]
        assert [(one["owner"], one["revoked_by"]) for one in record] == [("local:me", "local:me")]


async def test_a_share_of_owners_is_the_same_each_time_and_grows(pool: Pool) -> None:
    owners = [f"user:{number}" for number in range(200)]
    async with connection(pool) as conn:
        chosen: list[set[str]] = []
        for percent in (10, 50, 100):
            await assignments.assign(conn, NAME, owner=None, percent=percent, by="me")
            found = [
                (await assignments.read_choices(conn, OwnerKey(one))).choose_mapping([NAME])
                for one in owners
            ]
            chosen.append({one for one, given in zip(owners, found, strict=True) if given})
        few, half, everybody = chosen
        assert few < half < everybody == set(owners)
        assert 5 <= len(few) <= 40
        assert await assignments.revoke(conn, NAME, "me") == 1
