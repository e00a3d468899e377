"""Jobs and results for the routes of rooms that know no more than the plug-in contract."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import ENDED, Job
from docmill.core.owners import Owner
from docmill.core.plugins import FormChecks, JobAccess
from docmill.db.pool import read_connection
from docmill.documents.accept import JobRequest
from docmill.documents.multipart import LONGEST_FIELD
from docmill.documents.upload import UploadContext, UploadFields
from docmill.jobs import results
from docmill.jobs.live import LiveChanges
from docmill.jobs.upload import take_in
from docmill.queue.enqueue import find_own_job
from docmill.web.site import Site


@dataclass(frozen=True, slots=True)
class SiteJobs(JobAccess):
    site: Site

    async def find_job(self, owner: Owner, job_id: str) -> Job:
        async with read_connection(self.site.pool) as conn:
            return await find_own_job(conn, owner, job_id)

    async def read_data(self, job: Job) -> Any:
        async with read_connection(self.site.pool) as conn:
            result = await results.require_reading(conn, job)
        async with self.site.exporting:
            return await results.read_data(self.site.pool, self.site.store, result.key)

    async def wait_for_end(self, owner: Owner, job_id: str, seconds: float) -> Job:
        until, live = time.monotonic() + seconds, self.site.find(LiveChanges)
        with live.waiting(owner.key) as waiter:
            while True:
                job = await self.find_job(owner, job_id)
                left = until - time.monotonic()
                if left <= 0 or live.closed or job.status in ENDED:
                    return job
                await waiter.wait(left)

    async def submit(self, request: Any, owner: Owner, pipeline: str, *, check: FormChecks) -> Job:
        def read_form(values: Mapping[str, str], _: PipelineCatalog) -> UploadFields:
            for name, value in values.items():
                check[name](value)
            return UploadFields()

        alone = replace(self.site.config, max_files=1)
        context = UploadContext(
            self.site.store,
            self.site.catalog,
            alone,
            dict.fromkeys(check, LONGEST_FIELD),
            read_form,
        )
        wanted = JobRequest(owner, pipeline, source="api")
        (outcome,) = await take_in(request, self.site, wanted, context)
        return await self.find_job(owner, outcome.job_id)
