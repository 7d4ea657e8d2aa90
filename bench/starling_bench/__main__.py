"""python -m starling_bench: starling-bench."""

from .cli import app

app(prog_name="starling-bench")
