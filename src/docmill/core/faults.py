"""Every way a request or a job can go wrong: one row each.

API answers, page copy, CLI messages, the retry rule, metric labels and the reference page all come
from this table. Numbers in sentences are facts: `{maxSize}` is filled with the limit that holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

PROMISE: Final = ". We'll retry"
# Limits that sentences name. An operator may set another size of uploads.
MAX_UPLOAD_BYTES: Final = 52_428_800
MAX_PAGES: Final = 2000


class Size(int):
    """Bytes, written as `50 MB`, or `50MB` with the format `tight`."""

    def __format__(self, spec: str) -> str:
        if self < 2**20:
            return f"{int(self)} byte"
        number = f"{self / 2**20:.1f}".removesuffix(".0")
        return f"{number}MB" if spec == "tight" else f"{number} MB"


class Count(int):
    """A number, written as `2,000`."""

    def __format__(self, spec: str) -> str:
        return f"{int(self):,}"


@dataclass(frozen=True, slots=True)
class Fault:
    """A code is a contract: add rows, never rename one.

    `says` may end in a promise, which holds only while another try is to come: see `final`.
    `api` is the sentence for API clients where the contract fixes another. `facts` are what the
    sentences are filled with where nobody knows better.
    """

    code: str
    status: int
    says: str
    advice: str
    retried: bool = False
    api: str = ""
    facts: Mapping[str, Size | Count] = field(default_factory=dict[str, Size | Count])
    template: "Fault | None" = None

    @property
    def error(self) -> str:
        """The sentence API clients get."""
        return self.api or self.says

    @property
    def final(self) -> str:
        """The sentence where nobody tries again: it promises nothing."""
        return self.says.removesuffix(PROMISE)

    def fill(self, known: Mapping[str, object]) -> "Fault":
        """The same fault, its sentences filled with the facts that hold here."""
        row = self.template or self
        facts = {name: _convert(fact, known.get(name)) for name, fact in row.facts.items()}
        if not facts:
            return self
        texts = {name: getattr(row, name).format_map(facts) for name in ("says", "advice", "api")}
        return replace(row, **texts, facts=facts, template=row)


def _convert(fact: Size | Count, known: object) -> Size | Count:
    return type(fact)(known) if isinstance(known, int) else fact


_ROWS: Final = (
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
        "File exceeds {maxSize} limit",
        "Split the file or make it smaller.",
        api="File size exceeds {maxSize:tight} limit",
        facts={"maxSize": Size(MAX_UPLOAD_BYTES)},
    ),
    Fault(
        "BAD_PDF",
        422,
        "This PDF is damaged, locked or empty",
        "Open it, save it again without a password, and send that.",
    ),
    Fault(
        "TOO_MANY_PAGES",
        422,
        "This PDF has too many pages",
        "Split it into files of {maxPages} pages at most.",
        facts={"maxPages": Count(MAX_PAGES)},
    ),
    Fault(
        "BAD_FILE", 422, "This file is damaged or empty", "Open it, save it again, and send that."
    ),
    Fault(
        "GW_4XX",
        422,
        "Couldn't convert with this mapping",
        "Its reason says why; what was read is kept: review it, or download it in another format.",
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
        "If it goes on, look at the converter's log.",
        retried=True,
    ),
    Fault(
        "GW_TIMEOUT",
        504,
        "Conversion is taking too long. We'll retry",
        "If it goes on, send a smaller document.",
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
        "LINK_EXPIRED", 403, "This link has expired", "Open the document again to get a new one."
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
        "TOO_MANY_REQUESTS",
        429,
        "Too many requests. Try again in a moment",
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
        "Split the file, or raise the setting that the message names.",
    ),
    Fault(
        "WORKER_LOST",
        500,
        "The worker disappeared while converting. We'll retry",
        "If it fails for good, look at the workers' memory and logs.",
        retried=True,
    ),
    Fault(
        "KEYS_UNREACHABLE",
        503,
        "Tokens can't be checked right now",
        "Try again in a few seconds; operators: look at DOCMILL_JWT_JWKS_URL.",
        retried=True,
    ),
    Fault(
        "SERVICE_UNSET",
        501,
        "This needs a service that isn't set up here",
        "Operators: docs/operate/connect.md names the settings of every service.",
    ),
    Fault(
        "SERVICE_REFUSED",
        422,
        "A service we asked refused this document",
        "Look at the job's attempts; operators: check the service's key and model.",
    ),
    Fault(
        "SERVICE_FAILED",
        502,
        "A service we asked is having an issue. We'll retry",
        "If it goes on, look at the job's attempts.",
        retried=True,
    ),
    Fault(
        "SERVICE_TIMEOUT",
        504,
        "A service we asked is taking too long. We'll retry",
        "If it goes on, look at the job's attempts.",
        retried=True,
    ),
    Fault(
        "SERVICE_BUSY",
        503,
        "A service we asked is busy. We'll retry",
        "We wait as long as the service asks us to; if the job has failed, retry it later.",
        retried=True,
    ),
    Fault(
        "SERVICE_RESTING",
        503,
        "A service we need is left alone for a while. We'll retry",
        "A job waits for it without using up its attempts.",
        retried=True,
    ),
    Fault(
        "SERVICE_GONE",
        503,
        "A service we need has been failing for too long",
        "Retry the job when the service is back.",
    ),
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
        "WEBHOOK_NOT_FOUND",
        404,
        "There is no such webhook",
        "Check the id; GET /api/webhooks lists yours.",
    ),
    Fault(
        "DELIVERY_NOT_FOUND",
        404,
        "There is no such delivery",
        "Check the id; GET /api/webhooks/{id}/deliveries lists those of the last 30 days.",
    ),
    Fault(
        "TOO_MANY_WEBHOOKS",
        409,
        "You have as many webhooks as one may have",
        "Delete one that is not needed; GET /api/webhooks lists them.",
    ),
    Fault("URL_REFUSED", 400, "This address can't be used", "Its reason says why."),
    Fault(
        "JOB_NOT_FOUND",
        404,
        "There is no such job",
        "Check the id; GET /api/jobs lists yours.",
        api="Job not found",
    ),
    Fault(
        "UNKNOWN_PIPELINE",
        400,
        "There is no such pipeline",
        "GET /api/pipelines lists the pipelines.",
    ),
    Fault("UNKNOWN_SERVICE", 404, "No worker asks such a service", "`docmill admin` lists them."),
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
    Fault(
        "UNREADABLE",
        422,
        "This is not a file that docmill may read",
        "Drop a plain file, and give docmill the right to read it.",
    ),
    Fault(
        "DAMAGED",
        500,
        "The stored file is damaged",
        "Upload the document again; operators: `docmill doctor --deep` lists what is damaged.",
    ),
    Fault("EMPTY_FILE", 400, "The file is empty", "Send a file with at least one byte."),
    Fault("TOO_MANY_FILES", 400, "Too many files in one request", "Send them in several requests."),
    Fault("TOO_MANY_JOBS", 400, "Too many jobs in one request", "Export them in several files."),
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
        "SCOPE_MISSING",
        403,
        "This key may not do that",
        "Use a key that has the scope named here; /settings makes one.",
    ),
    Fault(
        "ADMIN_ONLY",
        403,
        "Only administrators may do that",
        "Operators: name them in DOCMILL_ADMIN_USERS, or by a claim of their tokens.",
    ),
    Fault("KEY_NOT_FOUND", 404, "There is no such key", "GET /api/keys lists yours."),
    Fault("SESSION_NOT_FOUND", 404, "There is no such session", "GET /api/sessions lists them."),
    Fault(
        "TOO_MANY_KEYS",
        409,
        "You have too many keys",
        "Revoke those you no longer use; GET /api/keys lists yours.",
    ),
    Fault(
        "SIGN_IN_FAILED",
        400,
        "You couldn't be signed in",
        "Try again; if it goes on, operators find the reason in the log.",
    ),
    Fault(
        "SIGN_IN_UNREACHABLE",
        503,
        "The service that people sign in with can't be reached",
        "Try again in a minute; operators: look at DOCMILL_OIDC_ISSUER.",
        retried=True,
    ),
    Fault(
        "QUOTA_JOBS",
        429,
        "You have as many jobs waiting as you may",
        "Wait until some have ended, or cancel some.",
    ),
    Fault(
        "QUOTA_FILES",
        507,
        "You have stored as many files as you may",
        "Delete jobs that you no longer need, or ask the operator for more room.",
    ),
    Fault(
        "QUOTA_BYTES",
        507,
        "You have stored as much as you may",
        "Delete jobs that you no longer need, or ask the operator for more room.",
    ),
    Fault(
        "CROSS_SITE",
        403,
        "This request came from another site",
        "Send it from docmill's own pages, or without a cookie.",
    ),
    Fault(
        "WRONG_HOST",
        421,
        "docmill doesn't answer at this address",
        "Use the address docmill was started with; operators: add the name to DOCMILL_HOSTS.",
    ),
    Fault(
        "NOT_LOCAL",
        403,
        "This docmill only answers people at its own machine",
        "Operators: behind a proxy, set AUTH_MODE to session, jwt or both.",
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
        "Retry works on failed jobs, cancel on those not ended, boost on those that wait.",
    ),
    Fault("CANCELLED", 409, "The job was cancelled", "Upload the file again."),
    Fault("AFTER_FAILED", 409, "A job it waits for did not complete", "Retry that one, then this."),
    Fault("UPLOAD_NOT_FOUND", 404, "There is no such upload", "Begin again: POST /api/uploads."),
    Fault("NOT_UPLOADED", 409, "The file isn't there yet", "PUT its bytes to the upload's `url`."),
    Fault("WRONG_CONTENT", 422, "It is not the file that was announced", "Its reason says why."),
    Fault("URL_FAILED", 422, "The file couldn't be fetched from there", "Its reason says why."),
    Fault("TOO_SLOW", 408, "The upload stalled", "Try again over a better connection."),
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
    Fault("BUSY", 503, "The service is busy", "Try again in a few seconds.", retried=True),
)

FAULTS: Final[Mapping[str, Fault]] = {row.code: row.fill({}) for row in _ROWS}


class DocmillError(Exception):
    """The one exception that crosses modules: a fault, facts for the answer, detail for the log.

    The fact `reason` is a sentence for the owner of the document: no paths, and of the document's
    text only what is safe to show.
    """

    def __init__(self, code: str, detail: str = "", /, **facts: object) -> None:
        self.fault: Fault = FAULTS[code].fill(facts)
        self.detail: str = detail
        self.facts: dict[str, object] = facts
        super().__init__(f"{code}: {detail or self.fault.says}")

    @property
    def reason(self) -> str:
        """The sentence that says why, for whoever sent the document; empty where none is known."""
        return str(self.facts.get("reason") or "")


class CommandError(Exception):
    """A command cannot go on. Its text: what happened, and in the next line what to do."""
