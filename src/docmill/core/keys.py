"""Where things lie in a store. Keys are server-made; nothing of them comes from a sender."""

from uuid import UUID, uuid4


def upload_key(document_id: UUID) -> str:
    return f"uploads/{_spread(document_id)}"


def result_key(job_id: UUID, claim: int, form: str = "data") -> str:
    """The claim is part of the key: a stale worker never overwrites a newer result."""
    return f"results/{_spread(job_id)}.{claim}.{form}.gz"


def reviewed_key(job_id: UUID, revision: int, form: str) -> str:
    """Unlike any other, even of the same revision: only one of two who approve at once is kept."""
    return f"results/{_spread(job_id)}.r{revision}-{uuid4().hex[:8]}.{form}.gz"


def _spread(name: UUID) -> str:
    return f"{name.hex[:2]}/{name.hex[2:4]}/{name}"
