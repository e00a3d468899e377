"""Rules that a job's XML breaks are told with the job. They are checked in a sandbox."""

import asyncio
import io
import json
import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

import pytest

from docmill.core.jobs import Claimed, DocumentId, JobId, Usage
from docmill.core.owners import OwnerKey
from docmill.core.plugins import PDF, Artifact, Source, Tools
from docmill.invoices.pipeline import pipeline
from docmill.invoices.validator import validator
from docmill.jobs.validation import ArtifactValidators
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunReturned
from gateways import CORETAX, INVOICE

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(find_spec("saxonche") is None, reason="the extra einvoice is not installed"),
]

UBL = "ubl_invoice_v1"
STOPPED = "not checked against the rules: the checker stopped"


def made(mapping: str) -> bytes:
    source = Source(io.BytesIO(INVOICE), "a.pdf", PDF, mapping=mapping)
    output = pipeline.run(source, Tools(lambda _percent, _stage: None))
    assert output.artifact
    return output.artifact.content


@pytest.fixture(scope="module")
async def validators() -> AsyncIterator[ArtifactValidators]:
    async with ArtifactValidators() as opened:
        yield opened


async def check(
    validators: ArtifactValidators, mapping: str | None, document: bytes, data: bytes = b"{}"
) -> dict[str, Any]:
    job = Claimed(
        JobId(uuid4()), DocumentId(uuid4()), OwnerKey("a"), "invoice", mapping, {}, None, 1, 1,
        "key", "a.pdf", PDF, 1, "",
    )  # fmt: skip
    ran = RunReturned(data, "1", Usage(), Artifact(document, "application/xml"))
    return json.loads((await validators.check(job, ran)).data)


async def test_each_broken_rule_is_told_with_its_sentence_value_and_field(
    validators: ArtifactValidators,
) -> None:
    data = await check(validators, UBL, made(UBL))
    seller = {one["rule"]: one for one in data["violations"]}["BR-S-02"]
    assert "Seller VAT Identifier" in seller["sentence"]
    assert "INV/2025/03/0017" in seller["value"]
    assert (seller["field"], seller["severity"]) == ("seller.tax_id", "fatal")


async def test_the_fields_of_broken_rules_are_to_be_reviewed(
    validators: ArtifactValidators,
) -> None:
    before = b'{"review": ["lines"], "notes": []}'
    data = await check(validators, "cii_invoice_v1", made("cii_invoice_v1"), before)
    assert {"lines", "seller.tax_id"} <= {*data["review"]}


async def test_other_mappings_are_not_its_business(validators: ArtifactValidators) -> None:
    assert await check(validators, CORETAX, made(CORETAX)) == {}
    assert await check(validators, None, b"") == {}
    assert await check(validators, "no_such_mapping", b"") == {}


async def test_what_is_no_xml_breaks_a_rule_and_not_the_validator(
    validators: ArtifactValidators,
) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
    for document in (b"", b"<", b"\xff\xfe", bomb):
        data = await check(validators, UBL, document)
        assert data["violations"]
        assert "root:" not in json.dumps(data)


async def test_one_that_was_killed_is_told_and_the_next_does_the_work(
    validators: ArtifactValidators,
) -> None:
    await check(validators, UBL, b"<Invoice/>")
    assert validators.pool.pid
    os.kill(validators.pool.pid, signal.SIGSTOP)
    checking = asyncio.create_task(check(validators, UBL, b"<Invoice/>"))
    await asyncio.sleep(0)
    os.kill(validators.pool.pid, signal.SIGKILL)
    assert (await checking)["notes"] == [STOPPED]
    assert (await check(validators, UBL, b"<Invoice/>"))["violations"]


async def test_one_that_takes_too_long_is_ended() -> None:
    async with ArtifactValidators(RunLimits(stall=timedelta(seconds=0.001))) as validators:
        assert (await check(validators, UBL, made(UBL)))["notes"] == [STOPPED]


def test_a_result_nobody_checked_says_so() -> None:
    data = validator.merge({"notes": ["a"]}, {"reason": "no engine"})
    assert data == {"notes": ["a", "not checked against the rules: no engine"]}
