"""An external parser of trade confirmations: a PDF in, `{"trades": [...]}` out."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from docmill.core.faults import DocmillError
from docmill.services.endpoint import Endpoint

TIMEOUT: Final = timedelta(seconds=120)


class _Parsed(BaseModel):
    trades: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AIParser:
    endpoint: Endpoint

    async def parse(self, document_id: str, pdf: bytes) -> dict[str, Any]:
        """The trades as the parser tells them; what they are worth is for the reader to see."""
        answer = await self.endpoint.post(
            files={"pdf": (f"{document_id}.pdf", pdf, "application/pdf")},
            headers={"x-document-id": document_id},
        )
        try:
            return _Parsed.model_validate(answer).model_dump()
        except ValidationError as exc:
            raise DocmillError("SERVICE_FAILED", f"{self.endpoint.url}: no list of trades") from exc
