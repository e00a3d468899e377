"""The faults of asking for what is not there: a part of the table in `docmill.core.faults`."""

from typing import Final

from docmill.core.fault import Fault

TABLE: Final[tuple[Fault, ...]] = (
    Fault("TRADE_NOT_FOUND", 404, "Trade not found", "GET /api/trades lists the trades."),
    Fault(
        "DOCUMENT_NOT_FOUND", 404, "Document not found", "GET /api/documents lists the documents."
    ),
    Fault(
        "LESSON_NOT_FOUND",
        404,
        "There is no such lesson",
        "Check the id; GET /api/lessons lists yours.",
    ),
    Fault(
        "JOB_NOT_FOUND",
        404,
        "There is no such job",
        "Check the id; GET /api/jobs lists yours.",
        api="Job not found",
    ),
)
