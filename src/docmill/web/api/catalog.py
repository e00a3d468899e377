"""What this installation offers: its pipelines and its mappings."""

from fastapi import APIRouter
from pydantic import BaseModel

from docmill.web.deps import Here

router = APIRouter(prefix="/api", tags=["catalog"])


class PipelineShape(BaseModel):
    name: str
    accepts: list[str]
    mappings: list[str]


class Pipelines(BaseModel):
    pipelines: list[PipelineShape]
    default: str


class MappingShape(BaseModel):
    name: str
    pipeline: str


class Mappings(BaseModel):
    mappings: list[MappingShape]


@router.get("/pipelines", summary="The pipelines, and the types of file each takes")
async def list_pipelines(here: Here) -> Pipelines:
    offer = here.services.offer
    shapes = [
        PipelineShape(name=name, accepts=list(kinds), mappings=list(offer.mappings.get(name, ())))
        for name, kinds in sorted(offer.accepts.items())
    ]
    return Pipelines(pipelines=shapes, default=here.rules.default_pipeline)


@router.get("/mappings", summary="The mappings, and the pipeline each belongs to")
async def list_mappings(here: Here) -> Mappings:
    found = [
        MappingShape(name=name, pipeline=pipeline)
        for pipeline, names in sorted(here.services.offer.mappings.items())
        for name in names
    ]
    return Mappings(mappings=found)
