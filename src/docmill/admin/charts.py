"""Charts of the last hour, drawn as SVG; the page's CSS says their colours, light and dark."""

from collections.abc import Sequence
from typing import Final

from docmill.admin.queries import EndedMinute
from docmill.web.render import format_span

WIDE: Final = 600
HIGH: Final = 160
LEFT: Final = 72  # room for "59 min 59 s"
FOOT: Final = 20
TOP: Final = 8


def draw_throughput(minutes: Sequence[EndedMinute]) -> str:
    """A bar for each minute: complete jobs, and failed ones on top."""
    most = max((one.complete + one.failed for one in minutes), default=0)
    complete, failed = sum(one.complete for one in minutes), sum(one.failed for one in minutes)
    bars = "".join(_draw_bar(place, one, most) for place, one in enumerate(minutes) if most)
    says = f"Jobs ended per minute in the last hour: {complete} complete, {failed} failed"
    return _frame(says, f"{most:,}", minutes, bars)


def _draw_bar(place: int, one: EndedMinute, most: int) -> str:
    step = (WIDE - LEFT) / 60
    x, width = LEFT + place * step, step - 1.5
    good, bad = _height(one.complete, most), _height(one.failed, most)
    foot = HIGH - FOOT
    parts = [("good", foot - good, good), ("bad", foot - good - bad, bad)]
    return "".join(
        f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{high:.1f}"/>'
        for name, y, high in parts
        if high
    )


def draw_latency(minutes: Sequence[EndedMinute]) -> str:
    """Two lines; a minute in which nothing ended is a gap."""
    most = max((one.p95 or 0.0 for one in minutes), default=0.0)
    lines = "".join(
        _draw_line(name, [getattr(one, name) for one in minutes], most)
        for name in ("p95", "p50")
        if most
    )
    says = "Seconds from queue to end in the last hour, half of the jobs and 95 of 100"
    return _frame(says, format_span(most) if most else "0 s", minutes, lines)


def _draw_line(name: str, values: Sequence[float | None], most: float) -> str:
    """A lone minute between two gaps is a dot."""
    step = (WIDE - LEFT) / 60
    path, pen = "", "M"
    for place, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        x, y = LEFT + (place + 0.5) * step, HIGH - FOOT - _height(value, most)
        path += f"{pen}{x:.1f} {y:.1f}" + ("h.1" if pen == "M" else "")
        pen = "L"
    return f'<path class="{name}" d="{path}"/>'


def _height(value: float, most: float) -> float:
    return round((HIGH - FOOT - TOP) * value / most, 1)


def _frame(says: str, top: str, minutes: Sequence[EndedMinute], inside: str) -> str:
    foot = HIGH - FOOT
    first, last = (f"{one.at:%H:%M}" for one in (minutes[0], minutes[-1]))
    return (
        f'<svg class="chart" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{says}">'
        f'<line class="axis" x1="{LEFT}" y1="{foot}" x2="{WIDE}" y2="{foot}"/>'
        f'<line class="axis faint" x1="{LEFT}" y1="{TOP}" x2="{WIDE}" y2="{TOP}"/>{inside}'
        f'<text x="{LEFT - 6}" y="{TOP + 8}" text-anchor="end">{top}</text>'
        f'<text x="{LEFT - 6}" y="{foot}" text-anchor="end">0</text>'
        f'<text x="{LEFT}" y="{HIGH - 5}">{first}</text>'
        f'<text x="{WIDE}" y="{HIGH - 5}" text-anchor="end">{last} UTC</text></svg>'
    )
