"""python -m starling_bench.studies.rtibm: bmmanager."""

from . import app

app(prog_name="bmmanager")
