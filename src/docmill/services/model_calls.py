"""What models were asked and answered, as rows: for people, beside the job it was for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from psycopg.rows import class_row

from docmill.core.jobs import Claimed, JobId
from docmill.core.texts import make_storable
from docmill.db.pool import Connection

ANSWERED: Final = "answered"
# Of one call; who asks for more than this has long cut it.
MOST_TEXT: Final = 200_000
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelTerms:
    """The model that a service asks, and what a million tokens cost, where that is known."""

    model: str
    prompt_price: Decimal | None = None
    completion_price: Decimal | None = None

    def sum_up(self, usage: Mapping[str, int]) -> Decimal | None:
        """What a call cost in US dollars, where both the prices and the tokens are known."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        if not {"prompt_tokens", "completion_tokens"} <= usage.keys():
            return None
        prompt = self.prompt_price * usage["prompt_tokens"]
        return (prompt + self.completion_price * usage["completion_tokens"]) / MILLION


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended: `answered` with the answer, or the code of a fault and its detail."""

    took_ms: int
    code: str = ANSWERED
    detail: str = ""
    answer: Any = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A row, without its texts."""

    asked_at: datetime
    model: str
    purpose: str
    prompt_version: str
    outcome: str
    detail: str
    took_ms: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: Decimal | None


RECORD_CALL: Final = """
INSERT INTO model_calls (job_id, claim, model, purpose, prompt_version, outcome, detail, took_ms,
                         prompt_tokens, completion_tokens, cost_usd, question, answer)
SELECT id, %(claim)s, %(model)s, %(purpose)s, %(version)s, %(outcome)s, %(detail)s, %(took)s,
       %(prompt_tokens)s, %(completion_tokens)s, %(cost)s, %(question)s, %(answer)s
  FROM jobs WHERE id = %(job)s
"""


async def record_call(
    conn: Connection, job: Claimed, request: Mapping[str, Any], terms: ModelTerms, *,
    ended: CallOutcome,
) -> None:  # fmt: skip
    """A job that was deleted meanwhile leaves nothing behind."""
    answer: Mapping[str, Any] = ended.answer or {}
    usage: Mapping[str, int] = answer.get("usage") or {}
    question = "\n\n".join(str(request.get(part, "")) for part in ("system", "prompt"))
    args = {
        "job": job.id,
        "claim": job.claim,
        "model": terms.model,
        "purpose": str(request.get("name", "")),
        "version": str(request.get("version", "")),
        "outcome": ended.code,
        "detail": make_storable(ended.detail),
        "took": ended.took_ms,
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "cost": terms.sum_up(usage),
        "question": make_storable(question)[:MOST_TEXT],
        "answer": _write_answer(answer.get("value")),
    }
    await conn.execute(RECORD_CALL, args)


def _write_answer(value: Any) -> str | None:
    return make_storable(json.dumps(value, ensure_ascii=False))[:MOST_TEXT] if value else None


LIST_CALLS: Final = """
SELECT asked_at, model, purpose, prompt_version, outcome, detail, took_ms, prompt_tokens,
       completion_tokens, cost_usd
  FROM model_calls WHERE job_id = %s ORDER BY id LIMIT 100
"""


async def list_calls(conn: Connection, job_id: JobId) -> list[ModelCall]:
    async with conn.cursor(row_factory=class_row(ModelCall)) as cur:
        return await (await cur.execute(LIST_CALLS, (job_id,))).fetchall()


FORGET_TEXTS: Final = """
UPDATE model_calls SET question = NULL, answer = NULL
  FROM jobs JOIN documents ON documents.id = jobs.document_id
 WHERE jobs.id = model_calls.job_id AND model_calls.question IS NOT NULL
   AND documents.upload_key IS NULL AND jobs.result_key IS NULL AND jobs.reading_key IS NULL
"""


async def forget_texts(conn: Connection) -> int:
    """What was asked and answered goes when the document and what was read of it are gone."""
    return (await conn.execute(FORGET_TEXTS)).rowcount
