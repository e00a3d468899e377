"""The faults of services that a run may ask: a part of the table in `docmill.core.faults`."""

from typing import Final

from docmill.core.fault import Fault

TABLE: Final[tuple[Fault, ...]] = (
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
        "Operators: docs/operate.md names the settings of every service.",
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
        "Nothing to do; if it goes on, look at the job's attempts.",
        retried=True,
    ),
    Fault(
        "SERVICE_TIMEOUT",
        504,
        "A service we asked is taking too long. We'll retry",
        "Nothing to do; if it goes on, look at the job's attempts.",
        retried=True,
    ),
    Fault(
        "SERVICE_BUSY",
        503,
        "A service we asked is busy. We'll retry",
        "Nothing to do: we wait as long as the service asks us to.",
        retried=True,
    ),
    Fault(
        "SERVICE_RESTING",
        503,
        "A service we need is left alone for a while. We'll retry",
        "Nothing to do: the job waits without using up its attempts.",
        retried=True,
    ),
    Fault(
        "SERVICE_GONE",
        503,
        "A service we need has been failing for too long",
        "Retry the job when the service is back.",
    ),
)
