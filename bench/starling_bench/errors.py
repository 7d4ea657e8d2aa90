"""Errors a user can mend, and the exit codes of all benchmark programs."""

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3


class BenchError(Exception):
    """One clear message: code, what, where, what to do; and the exit code it ends with."""

    def __init__(
        self, code: str, what: str, where: str = "", do: str = "", exit_code: int = FAILED
    ) -> None:
        super().__init__(what)
        self.code, self.what, self.where, self.do = code, what, where, do
        self.exit_code = exit_code

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.what}"]
        if self.where:
            lines.append(f"  at {self.where}")
        if self.do:
            lines.append(f"  do: {self.do}")
        return "\n".join(lines)
