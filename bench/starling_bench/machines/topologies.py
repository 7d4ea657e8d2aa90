"""Who publishes for whom, by the name of a topology."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topology:
    """Publishers and subscribers; `shared`: the nth of both are on one host."""

    name: str
    publishers: int
    subscribers: int
    shared: bool = False

    def federates(self) -> list[tuple[str, int]]:
        """Names, each with the number of its host from 1."""
        pubs = [(f"pub{n}", n) for n in range(1, self.publishers + 1)]
        first = 0 if self.shared else self.publishers
        return pubs + [(f"sub{n}", first + n) for n in range(1, self.subscribers + 1)]

    def pairs(self) -> list[tuple[str, str]]:
        """Every publisher to every subscriber."""
        return [
            (f"pub{p}", f"sub{s}")
            for p in range(1, self.publishers + 1)
            for s in range(1, self.subscribers + 1)
        ]

    @property
    def master(self) -> str:
        """Who leads: the first subscriber."""
        return "sub1"

    @property
    def hosts(self) -> int:
        return max(host for _, host in self.federates())


class Mesh(Topology):
    """Every site publishes for every other."""

    def federates(self) -> list[tuple[str, int]]:
        return [(f"site{n}", n) for n in range(1, self.publishers + 1)]

    def pairs(self) -> list[tuple[str, str]]:
        names = [name for name, _ in self.federates()]
        return [(one, other) for one in names for other in names if one != other]

    @property
    def master(self) -> str:
        return "site1"


TOPOLOGIES = {
    t.name: t
    for t in (
        Topology("1-1", 1, 1), Topology("1-N", 1, 4), Topology("N-1", 4, 1),
        Topology("N-N", 5, 5, True),
    )
}  # fmt: skip
