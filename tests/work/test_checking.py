"""The examiner: rules that a job's XML breaks, told with the job, by a process of its own."""

import asyncio
import io
import json
import os
import signal
from collections.abc import AsyncIterator
from importlib.util import find_spec

import pytest

from docmill.core.pipeline import PDF, Source, Tools
from docmill.pipelines.invoice import pipeline
from docmill.work import checking
from docmill.work.checking import Checked, Checker, with_violations
from gateways import CORETAX, INVOICE
from work.nurseries import is_gone

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(find_spec("saxonche") is None, reason="the extra einvoice is not installed"),
]

UBL = "ubl_invoice_v1"


def made(mapping: str) -> bytes:
    source = Source(io.BytesIO(INVOICE), "a.pdf", PDF, mapping=mapping)
    output = pipeline.run(source, Tools(lambda _percent, _stage: None))
    assert output.artifact
    return output.artifact.content


@pytest.fixture(scope="module")
async def checker() -> AsyncIterator[Checker]:
    async with Checker() as opened:
        yield opened


async def test_each_broken_rule_is_told_with_its_sentence_value_and_field(checker: Checker) -> None:
    checked = await checker.check(UBL, made(UBL))
    assert checked
    assert checked.violations
    told = {one["rule"]: one for one in checked.violations}
    country = told["BR-09"]
    assert "Seller country code" in country["sentence"]
    assert "Jl. Sudirman" in country["value"]
    assert (country["field"], country["severity"]) == ("seller.address", "fatal")


async def test_the_fields_of_broken_rules_are_to_be_reviewed(checker: Checker) -> None:
    checked = await checker.check("cii_invoice_v1", made("cii_invoice_v1"))
    assert checked
    data = json.loads(with_violations(b'{"review": ["lines"], "notes": []}', checked))
    assert data["violations"] == checked.violations
    assert {"lines", "seller.tax_id"} <= {*data["review"]}


async def test_other_mappings_are_not_its_business(checker: Checker) -> None:
    assert await checker.check(CORETAX, made(CORETAX)) is None
    assert await checker.check(None, b"") is None
    assert await checker.check("no_such_mapping", b"") is None


async def test_what_is_no_xml_breaks_a_rule_and_not_the_examiner(checker: Checker) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
    for document in (b"", b"<", b"\xff\xfe", bomb):
        checked = await checker.check(UBL, document)
        assert checked
        assert checked.violations
        assert "root:" not in json.dumps(checked.violations)


async def test_one_that_was_killed_is_told_and_the_next_does_the_work(checker: Checker) -> None:
    await checker.check(UBL, b"<Invoice/>")
    assert checker.pid
    killed = checker.pid
    os.kill(killed, signal.SIGSTOP)
    asking = asyncio.create_task(checker.check(UBL, b"<Invoice/>"))
    await asyncio.sleep(0)
    os.kill(killed, signal.SIGKILL)
    assert await asking == Checked(None, "the checker stopped")
    assert is_gone(killed)
    checked = await checker.check(UBL, b"<Invoice/>")
    assert checked
    assert checked.violations


async def test_one_that_hangs_is_ended_in_time(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await checker.check(UBL, b"<Invoice/>")
    assert checker.pid
    hung = checker.pid
    os.kill(hung, signal.SIGSTOP)
    monkeypatch.setattr(checking, "SECONDS", 0.2)
    assert await checker.check(UBL, b"<Invoice/>") == Checked(None, "the checker stopped")
    assert is_gone(hung)


def test_a_result_nobody_checked_says_so() -> None:
    data = json.loads(with_violations(b'{"notes": ["a"]}', Checked(None, "no engine")))
    assert data["notes"] == ["a", "not checked against the rules: no engine"]
    assert "violations" not in data
