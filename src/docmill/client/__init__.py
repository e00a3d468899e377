"""docmill from Python: `Client`, or `AsyncClient` where there is an event loop.

with Client("http://127.0.0.1:8000") as docmill:
    job = docmill.submit("letter.pdf", pipeline="extract")
    found = docmill.result(job.id)
"""

from docmill.client.answers import JobFailed, Refused, RemoteJob
from docmill.client.asynchronous import AsyncClient
from docmill.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "JobFailed", "Refused", "RemoteJob"]
