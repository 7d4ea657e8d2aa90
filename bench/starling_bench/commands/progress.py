"""How far a run is, while it runs: a bar on a terminal, lines in a log file."""

import asyncio
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Lines:
    """Progress for a log file: a line every so often, also while a sample takes long. What is left
    is as much longer than planned as what was done."""

    def __init__(self, console: Console, total: int, every_s: float, planned_s: float) -> None:
        self.console, self.total, self.every_s = console, total, every_s
        self.begin = time.monotonic()
        self.done, self.planned_s, self.done_s = 0, planned_s, 0.0
        self.before_s = 0.0
        self.text = "starting"

    def __enter__(self) -> "Lines":
        self.ticking = asyncio.get_running_loop().create_task(self._tick())
        return self

    def __exit__(self, *_: object) -> None:
        self.ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self.every_s)
            self.show()

    def show(self) -> None:
        left = ""
        if done_s := self.done_s - self.before_s:
            took = time.monotonic() - self.begin
            left_s = max(self.planned_s - self.done_s, 0)
            left = f"; {took / done_s * left_s:.0f} s left"
        self.console.print(
            f"{self.done} of {self.total} samples: {self.text}{left}",
            highlight=False, soft_wrap=True, markup=False,
        )  # fmt: skip

    def had(self, samples: int, planned_s: float) -> None:
        """So many were there before, of a run that goes on."""
        self.done, self.done_s, self.before_s = samples, planned_s, planned_s

    def follow(self, text: str, samples: int, planned_s: float) -> None:
        """So many more are there, for which so long was planned."""
        self.text = text
        self.done, self.done_s = self.done + samples, self.done_s + planned_s


class Bar:
    """Progress on a terminal."""

    def __init__(self, console: Console, total: int) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(),
                   MofNCompleteColumn(), TextColumn("samples"), TimeElapsedColumn())  # fmt: skip
        # Drawn when there is something new: nothing is done within a sample.
        self.bar = Progress(*columns, console=console, auto_refresh=False)
        self.task = self.bar.add_task("starting", total=total)

    def __enter__(self) -> "Bar":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def had(self, samples: int, planned_s: float) -> None:
        self.follow("starting", samples, planned_s)

    def follow(self, text: str, samples: int, _planned_s: float) -> None:
        self.bar.update(self.task, advance=samples, description=text, refresh=True)
