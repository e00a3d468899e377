"""POST /queue/samples: somebody who has no document at hand tries one of ours."""

from urllib.parse import parse_qsl

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.core.faults import DocmillError
from docmill.documents import accept
from docmill.documents.accept import Acceptor, FileStage, JobRequest
from docmill.jobs.samples import SAMPLES
from docmill.jobs.upload import check_sender
from docmill.web import json_body
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)


@router.post("/queue/samples")
async def try_sample(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    """As if the owner had uploaded it; leads to its job."""
    sent = dict(parse_qsl((await json_body.read_limited(request)).decode("utf-8", "replace")))
    sample = SAMPLES.get(sent.get("sample", ""))
    if sample is None or sample.pipeline not in site.catalog.accepts:
        raise DocmillError("NO_FILE")
    await check_sender(request, site, owner)
    stage = FileStage(site.store, sample.filename, max_bytes=site.config.max_upload_bytes)
    try:
        await stage.write(sample.read())
        staged = await stage.finish()
    except BaseException:
        await stage.abort()
        raise
    wanted = JobRequest(owner, sample.pipeline, source="upload")
    accepted = await accept.accept(site.find(Acceptor), staged, wanted)
    return RedirectResponse(f"/jobs/{accepted.job.id}", status_code=303)
