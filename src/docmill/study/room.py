"""The room `study`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Format, JobLink, Room

room: Final = Room(
    name="study",
    pipeline="study",
    noun="words to learn",
    package="docmill.study",
    titles={"study": "Study cards"},
    show="docmill.study.show:show_study",
    formats=(
        Format(
            name="csv",
            label="Vocabulary",
            content_type="text/csv; charset=utf-8",
            ending=".csv",
            write="docmill.study.formats:write_vocabulary",
        ),
        Format(
            name="cards",
            label="Cards",
            content_type="text/csv; charset=utf-8",
            ending=".cards.csv",
            write="docmill.study.formats:write_cards",
        ),
        Format(
            name="anki",
            label="Anki",
            content_type="application/octet-stream",
            ending=".apkg",
            write="docmill.study.formats:write_anki",
        ),
    ),
    routers=("docmill.study.pages:router",),
    job_links=(JobLink("Study", "eye", "/study/{id}"),),
)
