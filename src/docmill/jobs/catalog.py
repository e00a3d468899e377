"""What jobs can be asked for: the pipelines, and the mappings of each."""

from fastapi import APIRouter
from pydantic import BaseModel

from docmill.core.plugins import AUTO
from docmill.web.site import CurrentSite

router = APIRouter(prefix="/api", tags=["catalog"])


class PipelineModel(BaseModel):
    name: str
    accepts: list[str]
    mappings: list[str]


class PipelineList(BaseModel):
    pipelines: list[PipelineModel]
    default: str


class MappingModel(BaseModel):
    name: str
    pipeline: str


class MappingList(BaseModel):
    mappings: list[MappingModel]


@router.get("/pipelines", summary="The pipelines, and the types of file each takes")
async def list_pipelines(site: CurrentSite) -> PipelineList:
    offer = site.catalog
    shapes = [
        PipelineModel(name=name, accepts=list(kinds), mappings=list(offer.mappings.get(name, ())))
        for name, kinds in sorted(offer.accepts.items())
    ]
    return PipelineList(pipelines=shapes, default=site.config.default_pipeline)


@router.get("/mappings", summary="The mappings, and the pipeline each belongs to")
async def list_mappings(site: CurrentSite) -> MappingList:
    found = [
        MappingModel(name=name, pipeline=pipeline)
        for pipeline, names in sorted(site.catalog.mappings.items())
        if pipeline != AUTO  # which only passes them on
        for name in names
    ]
    return MappingList(mappings=found)
