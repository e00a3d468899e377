"""The reliability diagram: how sure values were, and how many of them were right, as SVG.

All of it has the colour of the text around it, so that it is right on light pages and dark ones.
"""

from collections.abc import Sequence
from typing import Final

from docmill.core.scoring import Step

WIDE: Final = 360
HIGH: Final = 260
LEFT: Final = 44
FOOT: Final = 34
TOP: Final = 10

_TEXT: Final = 'fill="currentColor" font-size="11"'


def draw_reliability(steps: Sequence[Step]) -> str:
    """A dot for each step, the larger the more values; on the dashed line it keeps its word."""
    if not steps:
        return ""
    most = max(step.count for step in steps)
    dots = "".join(_draw_dot(step, most) for step in steps)
    said = ", ".join(f"{step.low:.2f}: {step.right:.0%} of {step.count}" for step in steps)
    marks = "".join(_draw_mark(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    middle = LEFT + (WIDE - LEFT) / 2
    return (
        f'<svg class="reliability" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" role="img" '
        f'aria-label="Right values by confidence. {said}">'
        f"{marks}"
        '<line stroke="currentColor" stroke-opacity=".6" stroke-dasharray="4 4" '
        f'x1="{_x(0):g}" y1="{_y(0):g}" x2="{_x(1):g}" y2="{_y(1):g}"/>'
        f'{dots}<text {_TEXT} x="{middle:g}" y="{HIGH - 4}" text-anchor="middle">confidence</text>'
        f'<text {_TEXT} x="{LEFT + 6}" y="{TOP + 12}">share that was right</text></svg>'
    )


def _x(share: float) -> float:
    return round(LEFT + share * (WIDE - LEFT - TOP), 1)


def _y(share: float) -> float:
    return round(HIGH - FOOT - share * (HIGH - FOOT - TOP), 1)


def _draw_mark(share: float) -> str:
    return (
        f'<line stroke="currentColor" stroke-opacity=".25" x1="{_x(0):g}" y1="{_y(share):g}" '
        f'x2="{_x(1):g}" y2="{_y(share):g}"/>'
        f'<text {_TEXT} x="{LEFT - 6}" y="{_y(share) + 4:g}" text-anchor="end">{share:.0%}</text>'
        f'<text {_TEXT} x="{_x(share):g}" y="{HIGH - FOOT + 14}" text-anchor="middle">'
        f"{share:g}</text>"
    )


def _draw_dot(step: Step, most: int) -> str:
    radius = 3 + 6 * (step.count / most) ** 0.5
    title = f"{step.count} values, {step.mean:.0%} sure, {step.right:.1%} right"
    return (
        f'<circle fill="currentColor" fill-opacity=".7" cx="{_x(step.mean):g}" '
        f'cy="{_y(step.right):g}" r="{radius:.1f}">'
        f"<title>{title}</title></circle>"
    )
