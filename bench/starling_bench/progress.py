"""How far a run is, while it runs: a bar on a terminal, lines in a log file."""

import asyncio
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Lines:
    """Progress for a log file: a line every so often, also while a sample takes long."""

    def __init__(self, console: Console, total: int, every_s: float) -> None:
        self.console, self.total, self.every_s = console, total, every_s
        self.begin = time.monotonic()
        self.done = self.before = 0
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
        if taken := self.done - self.before:
            took = time.monotonic() - self.begin
            left = f"; {took / taken * (self.total - self.done):.0f} s left"
        self.console.print(
            f"{self.done} of {self.total} samples: {self.text}{left}",
            highlight=False, soft_wrap=True, markup=False,
        )  # fmt: skip

    def had(self, samples: int) -> None:
        """So many were there before, of a run that goes on."""
        self.done = self.before = samples

    def follow(self, text: str, advance: int) -> None:
        self.text, self.done = text, self.done + advance


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

    def had(self, samples: int) -> None:
        self.follow("starting", samples)

    def follow(self, text: str, advance: int) -> None:
        self.bar.update(self.task, advance=advance, description=text, refresh=True)
