"""Short texts with a known answer, and a run of the pipeline over them."""

import io
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from docmill.core.plugins import TEXT, Source, Tools
from docmill.study.pipeline import pipeline

RIVER = """The Great River                                                     page 1

The shepherd led his weary flock along the muddy bank of the river. Twenty sheep had already
crossed, but the eldest ewe refused to budge. "We must hasten," muttered the shepherd, "or the
flood will sweep the bank away." His companion Margaret, who came from Bristol, was reluctant to
wade through the murky water. The old shepherd was cautious by temperament, and he detested haste.

They lingered by the bank until the rain subsided. Margaret gathered a bundle of brittle twigs and
kindled a small fire. The weary animals huddled together for warmth. In 1987 a similar flood had
swept away the village, and three hundred people perished. Margaret's grandfather had witnessed the
dreadful night; he seldom spoke of it afterwards.

Tomorrow, the shepherd declared, they would ascend the steep ridge and seek shelter in the
monastery. The monks were generous and would not scold a weary traveller. The shepherd whistled, and
the obedient dog herded the flock towards the ridge. Margaret carried the youngest lamb herself.
"""


@cache
def _study_river() -> str:
    """Most tests look at the same result from another side; a run takes seconds."""
    return json.dumps(study(steps=[]))


def study(
    text: str | bytes = RIVER,
    content_type: str = TEXT,
    *,
    steps: list[tuple[int, str]] | None = None,
    answers: Callable[[str, Any], Any] | None = None,
) -> Any:
    if text is RIVER and steps is None and answers is None:
        return json.loads(_study_river())
    heard: list[tuple[int, str]] = [] if steps is None else steps
    tools = Tools(progress=lambda percent, stage: heard.append((percent, stage)))
    if answers is not None:
        tools = Tools(tools.progress, frozenset({"complete"}), answers)
    data = text.encode() if isinstance(text, str) else text
    output = pipeline.run(Source(io.BytesIO(data), "a file", content_type), tools)
    return json.loads(json.dumps(output.data))
