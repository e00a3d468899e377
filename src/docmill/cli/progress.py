"""Files under way, shown as they go: a bar each on a terminal, plain lines elsewhere."""

import time
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TaskID, TextColumn

# Where nobody watches a bar, a line comes this often.
LINE_SECONDS: Final = 10.0


def describe_pace(done: int, left: int, seconds: float) -> str:
    """How many a second, and how long the others take at that pace."""
    rate = done / max(seconds, 1e-3)
    return f"{rate:.1f}/s, {timedelta(seconds=round(left / rate))} left" if done else ""


class ProgressBoard:
    """Shows only what is under way; what has ended becomes a line above the bars."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        """`quiet` prints no lines: somebody prints JSON instead."""
        self._quiet: bool = quiet
        self._console: Console = console
        self._bars: Progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[detail]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

        self._whole: TaskID | None = None
        self._began_at: float = 0.0
        self._said_at: float = 0.0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._bars.stop()

    def expect(self, files: int) -> None:
        """So many files are to come; of several, one bar counts those that have ended."""
        if files > 1:
            self._whole = self._bars.add_task("all files", total=files, detail=f"0 of {files}")
            self._began_at = self._said_at = time.monotonic()

    def advance(self) -> None:
        """One file has ended, well or not."""
        if self._whole is None:
            return
        self._bars.advance(self._whole)
        task = next(one for one in self._bars.tasks if one.id == self._whole)
        done, total, now = round(task.completed), round(task.total or 0), time.monotonic()
        pace = describe_pace(done, total - done, now - self._began_at)
        detail = f"{done:,} of {total:,}, {pace}"
        self._bars.update(self._whole, detail=detail)
        if self._is_unwatched and now - self._said_at >= LINE_SECONDS:
            self._said_at = now
            self.say(detail)

    @property
    def _is_unwatched(self) -> bool:
        """Lines go to stderr alone: what is on stdout is for programs."""
        return self._console.stderr and not self._console.is_terminal

    def line(self, name: str) -> "ProgressLine":
        return ProgressLine(self._bars, self._bars.add_task(name, total=100, detail=""))

    def say(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._console.print(text, markup=False, style=style)


class ProgressLine:
    """One file's bar: first its upload, then its conversion."""

    def __init__(self, bars: Progress, task: TaskID) -> None:
        self._bars: Progress = bars
        self._task: TaskID = task

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.remove_task(self._task)

    def show_upload(self, done: int, total: int) -> None:
        detail = f"uploading {decimal(done)} of {decimal(total)}"
        self._bars.update(self._task, completed=done, total=max(total, 1), detail=detail)

    def converting(self, percent: int, detail: str) -> None:
        self._bars.update(self._task, completed=percent, total=100, detail=detail)
