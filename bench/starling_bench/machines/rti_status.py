"""What an RTI's command says of a federation execution while its federates run, between samples."""

import asyncio
import dataclasses

from ..errors import BenchError
from .hosts import GRACE_S, output, resident_kb, running
from .network import Place
from .rti import Adapter, Prepared

# Why the command may not answer.
UNASKED = (BenchError, OSError, ValueError, TimeoutError)


class RtiStatus:
    """By what ways data go in it, and what newer values have replaced; each raises one of UNASKED
    where that can't be asked."""

    def __init__(self, adapter: Adapter, prepared: Prepared, place: Place, federation: str) -> None:
        self._adapter, self._prepared = adapter, prepared
        self._place, self._federation = place, federation
        self._own: list[int] | None = None  # the RTI's processes, once they were looked for

    @property
    def there(self) -> bool:
        """The RTI has such a command."""
        return bool(self._prepared.status)

    async def ways(self) -> list[dict]:
        """Between each two federates, as run.json has them."""
        found = self._adapter.ways(await self._said(), self._prepared.env, self._federation)
        return [dataclasses.asdict(way) for way in found]

    def memory_kb(self) -> int:
        """What the RTI's own processes on this host hold; 0: there are none. They are those of its
        command's program."""
        if self._own is None:
            here = self.there and not self._place.site
            self._own = running(self._prepared.status[0]) if here else []
        return sum(map(resident_kb, self._own))

    async def replaced(self) -> dict[str, int]:
        """By federate. Each tells its counts once a second if it has called a service since, which
        the master sees to: the RTI is asked until each has told them after the first answer. They
        are needed, also over a bad link."""
        return await asyncio.wait_for(self._counted(), 5 * GRACE_S)

    async def _counted(self) -> dict[str, int]:
        first: dict[str, tuple[int, int]] | None = None
        while True:
            try:
                now = self._adapter.replaced(await self._said(), self._federation)
            except TimeoutError:
                continue  # over a bad link; whoever calls this bounds it
            first = now if first is None else first
            if all(now.get(name, told)[0] != told[0] for name, told in first.items()):
                return {name: replaced for name, (_, replaced) in now.items()}
            await asyncio.sleep(0.1)

    async def _said(self) -> str:
        command, env = self._prepared.status, self._prepared.env
        if site := self._place.site:
            return await asyncio.wait_for(site.said(command, env), GRACE_S)
        return await asyncio.wait_for(output(command, env, self._place.space), GRACE_S)
