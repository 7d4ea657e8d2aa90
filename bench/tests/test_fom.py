"""The FOM is what its script writes, and has what RTIBM's page asks for."""

import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

FOMS = Path(__file__).parents[1] / "foms"
NS = "{http://standards.ieee.org/IEEE1516-2010}"


def names(node, tag):
    return [child.findtext(f"{NS}name") for child in node.findall(f"{NS}{tag}")]


def test_the_committed_file_is_the_scripts_output():
    script = runpy.run_path(str(FOMS / "make_rtibm.py"))
    assert (FOMS / "rtibm.xml").read_text(encoding="utf-8") == script["model"]()


def test_every_class_has_its_buffers_and_half_of_them_are_reliable():
    root = ET.parse(FOMS / "rtibm.xml").getroot()
    for tree, prefix, leaf, part in (
        ("sendObj", "S", "objectClass", "attribute"),
        ("returnObj", "R", "objectClass", "attribute"),
        ("sendInt", "S", "interactionClass", "parameter"),
        ("returnInt", "R", "interactionClass", "parameter"),
    ):
        (parent,) = [c for c in root.iter(f"{NS}{leaf}") if c.findtext(f"{NS}name") == tree]
        assert names(parent, leaf) == [f"{prefix}{n}" for n in range(1, 33)]
        for number, child in enumerate(parent.findall(f"{NS}{leaf}"), 1):
            assert names(child, part) == [f"buffer_{b}" for b in range(1, 33)]
            found = {t.text for t in child.iter(f"{NS}transportation")}
            assert found == {"HLAreliable" if number <= 16 else "HLAbestEffort"}
