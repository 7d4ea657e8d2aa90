"""starling-bench: every study as a sub-command."""

import typer

from .study import apps

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
for name, commands in apps():
    app.add_typer(commands, name=name)
