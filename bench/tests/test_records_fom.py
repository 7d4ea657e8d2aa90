"""The FOM of records is what its script writes."""

import subprocess
import sys
from pathlib import Path

FOMS = Path(__file__).parents[1] / "foms"


def test_the_committed_files_are_the_scripts_output(tmp_path):
    copy = tmp_path / "make_records.py"
    copy.write_text((FOMS / "make_records.py").read_text())
    subprocess.run([sys.executable, copy], check=True)
    for name in ("records.xml", "records-advisories.xml"):
        assert (tmp_path / name).read_text() == (FOMS / name).read_text(), name
