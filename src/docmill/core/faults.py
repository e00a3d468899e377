"""Every way a request or a job can go wrong: one row each.

API answers, page copy, CLI messages, the retry rule, metric labels and the reference page all come
from this table.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from docmill.core import missing_faults as missing
from docmill.core import service_faults as services
from docmill.core.fault import Fault

__all__ = ["FAULTS", "TABLE", "Fault", "Faulted", "Told", "too_large"]


TABLE: Final[tuple[Fault, ...]] = (
    Fault("NOT_PDF", 400, "Only PDF files are supported", "Send a PDF."),
    Fault(
        "UNSUPPORTED_TYPE",
        400,
        "This file type isn't supported here",
        "Send one of the types the pipeline accepts; GET /api/pipelines lists them.",
    ),
    Fault(
        "TOO_LARGE",
        413,
        "File exceeds 50 MB limit",
        "Split the file or make it smaller.",
        api="File size exceeds 50MB limit",
    ),
    Fault(
        "BAD_PDF",
        422,
        "This PDF is damaged, locked or empty",
        "Open it, save it again without a password, and send that.",
    ),
    Fault(
        "BAD_FILE",
        422,
        "This file is damaged or empty",
        "Open it, save it again, and send that.",
    ),
    Fault(
        "GW_4XX",
        422,
        "Couldn't convert with this mapping",
        "Look at the job's attempts, or choose another mapping.",
    ),
    Fault(
        "NO_INVOICE",
        422,
        "No invoice was found in this PDF",
        "Send what is no invoice with pipeline=extract, which reads any document.",
    ),
    Fault(
        "GW_5XX",
        502,
        "Converter is having an issue. We'll retry",
        "Nothing to do; if it goes on, look at the converter's log.",
        retried=True,
    ),
    Fault(
        "GW_TIMEOUT",
        504,
        "Conversion is taking too long. We'll retry",
        "Nothing to do; if it goes on, send a smaller document.",
        retried=True,
    ),
    Fault(
        "IO_ERROR",
        503,
        "Temporary storage issue. We'll retry",
        "Try again in a minute.",
        retried=True,
    ),
    Fault(
        "EXPIRED",
        404,
        "File was removed by retention. Re-upload to regenerate",
        "Upload the file again.",
    ),
    Fault(
        "LINK_EXPIRED",
        403,
        "This link has expired",
        "Open the document again to get a new one.",
    ),
    Fault("NOT_READY", 409, "Conversion not finished yet", "Ask again when the job is complete."),
    Fault(
        "FORBIDDEN",
        403,
        "This file isn't yours",
        "Send the session cookie or token that uploaded it.",
    ),
    Fault(
        "RATE_LIMITED",
        429,
        "Too many uploads. Try again in a moment",
        "Wait for the seconds in Retry-After.",
    ),
    Fault(
        "UNKNOWN",
        500,
        "Something went wrong",
        "Try again; if it goes on, send us the job's id.",
        retried=True,
    ),
    Fault(
        "CRASHED",
        500,
        "The converter stopped unexpectedly on this file. We'll retry",
        "If it fails for good, the file itself is the likely cause.",
        retried=True,
    ),
    Fault(
        "OUT_OF_MEMORY",
        422,
        "This file needs more memory than a conversion may use",
        "Split the file, or raise DOCMILL_CHILD_MEMORY_MB.",
    ),
    Fault(
        "TIMED_OUT",
        504,
        "This file takes longer than a conversion may take",
        "Split the file, or raise DOCMILL_CHILD_SECONDS.",
    ),
    Fault(
        "WORKER_LOST",
        500,
        "The worker disappeared while converting. We'll retry",
        "If it fails for good, look at the workers' memory and logs.",
        retried=True,
    ),
    *services.TABLE,
    *missing.TABLE,
    Fault(
        "UNKNOWN_PIPELINE",
        400,
        "There is no such pipeline",
        "GET /api/pipelines lists the pipelines.",
    ),
    Fault(
        "UNKNOWN_MAPPING",
        400,
        "There is no such mapping",
        "Leave the mapping out, or use one this pipeline knows.",
    ),
    Fault(
        "NO_MAPPING",
        400,
        "XML needs a mapping",
        "Send the field mapping; `docmill mapping list` knows the names.",
    ),
    Fault(
        "NOT_ACCEPTABLE",
        406,
        "This can't be answered in the form you accept",
        "Send Accept: application/json or application/xml; a JSON file becomes XML only.",
    ),
    Fault(
        "NOT_CONVERTIBLE",
        415,
        "Only PDF files and invoices as JSON can be converted",
        "Send a PDF, or the JSON that was read of an invoice.",
    ),
    Fault("NO_FILE", 400, "No file was sent", "Send multipart/form-data with a part named file."),
    Fault("EMPTY_FILE", 400, "The file is empty", "Send a file with at least one byte."),
    Fault(
        "TOO_MANY_FILES",
        400,
        "Too many files in one request",
        "Send them in several requests.",
    ),
    Fault(
        "TOO_MANY_JOBS",
        400,
        "Too many jobs in one request",
        "Export them in several files.",
    ),
    Fault(
        "NOT_INVOICE",
        409,
        "This job isn't an invoice",
        "Export only jobs of a pipeline that knows the mapping; GET /api/pipelines lists them.",
    ),
    Fault(
        "NOT_REVIEWABLE",
        409,
        "This job's result can't be reviewed",
        "Review jobs that were converted with a mapping; GET /api/reviews lists them.",
    ),
    Fault(
        "REVIEW_CONFLICT",
        409,
        "Somebody else changed this review meanwhile",
        "Look at the changes in the answer and send yours again with its revision.",
    ),
    Fault("BAD_REQUEST", 400, "The request can't be read", "Compare it with /docs."),
    Fault("UNAUTHORIZED", 401, "Sign in first", "Send a valid token: Authorization: Bearer …"),
    Fault(
        "CROSS_SITE",
        403,
        "This request came from another site",
        "Send it from docmill's own pages, or without a cookie.",
    ),
    Fault(
        "NOT_FOUND",
        404,
        "There is nothing here",
        "Compare the address with /docs.",
        api="Not found",
    ),
    Fault(
        "METHOD_NOT_ALLOWED",
        405,
        "This address doesn't take that method",
        "Compare the method with /docs.",
    ),
    Fault(
        "WRONG_STATE",
        409,
        "The job's state doesn't allow this",
        "Retry works on failed jobs, cancel on jobs that have not ended.",
    ),
    Fault(
        "CANCELLED",
        409,
        "The job was cancelled",
        "Upload the file again.",
    ),
    Fault(
        "TOO_SLOW",
        408,
        "The upload stalled",
        "Try again over a better connection.",
    ),
    Fault(
        "KEY_REUSED",
        422,
        "This Idempotency-Key was used for another request",
        "Use a new key for another file, pipeline, mapping or fields.",
    ),
    Fault(
        "DATABASE_DOWN",
        503,
        "The database can't be reached",
        "Try again in a minute.",
        retried=True,
    ),
    Fault(
        "DISK_FULL",
        503,
        "Uploads are paused: the disk is almost full",
        "Try again later; operators: free space or move the store.",
        retried=True,
    ),
    Fault(
        "BUSY",
        503,
        "The service is busy",
        "Try again in a few seconds.",
        retried=True,
    ),
)

FAULTS: Final[Mapping[str, Fault]] = {fault.code: fault for fault in TABLE}


class Faulted(Exception):  # noqa: N818  it carries a fault; it is not one more kind of error
    """The one exception that crosses modules: a fault, facts for the answer, detail for the log."""

    def __init__(self, code: str, detail: str = "", /, **facts: object) -> None:
        self.fault: Fault = FAULTS[code]
        self.detail: str = detail
        self.facts: dict[str, object] = facts
        super().__init__(f"{code}: {detail or self.fault.says}")


# The limit the table's sentence speaks of.
LARGEST: Final = 52_428_800


def too_large(most: int, detail: str = "") -> Faulted:
    """TOO_LARGE in the words of the table, or in true ones where the limit is another."""
    exc = Faulted("TOO_LARGE", detail, maxSize=most)
    if most != LARGEST:
        size = f"{most / 2**20:.1f}".removesuffix(".0") + " MB" if most >= 2**20 else f"{most} byte"
        says, api = f"File exceeds {size} limit", f"File size exceeds {size} limit"
        exc.fault = replace(exc.fault, says=says, api=api)
    return exc


class Told(Exception):  # noqa: N818  it is told to the person at the terminal, and no more
    """A command cannot go on. Its text: what happened, and in the next line what to do."""
