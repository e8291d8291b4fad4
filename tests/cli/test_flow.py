"""The command ``flow``."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from pypdf import PdfReader

from tests.cli.commands import ROOT, error_of, output_of

_LAYER = "encoder.layer.0"


def test_text_is_the_steps_in_order(elsewhere: Path) -> None:
    lines = output_of(elsewhere, "flow", "demo", _LAYER).splitlines()

    assert lines[0].startswith("encoder.layer.0  BertLayer · 1,774,464 parameters")
    steps = [line.split() for line in lines[4:-1] if line[0].isdigit()]
    assert [step[1] for step in steps] == [
        *("query", "key", "value", "attention", "dense", "residual", "LayerNorm"),
        *("feed-forward", "residual", "LayerNorm"),
    ]


def test_json_is_the_contract(elsewhere: Path) -> None:
    document = json.loads(output_of(elsewhere, "flow", "demo", _LAYER, "--format", "json"))

    assert document["schema"] == "bertviewer.flow/1"
    assert (document["path"], document["class"]) == (_LAYER, "BertLayer")
    assert document["repeat"] == {"first": 0, "last": 5, "count": 6}
    node = next(node for node in document["nodes"] if node["name"] == "attention")
    assert node.keys() >= {
        *("id", "kind", "name", "path", "class", "operation", "shape", "symbolic_shape"),
        *("macs", "nodes"),
    }
    assert node["kind"] == "group"
    assert node["nodes"]
    edge = next(edge for edge in document["edges"] if edge["role"] == "query")
    assert edge.keys() >= {"from", "to", "shape", "symbolic_shape", "role", "movement"}
    assert edge["to"] == node["id"]
    assert edge["movement"] == ["view", "transpose"]


def test_drawings_are_whole(elsewhere: Path) -> None:
    svg = output_of(elsewhere, "flow", "demo", _LAYER, "--format", "svg")
    words = " ".join(ElementTree.fromstring(svg).itertext())
    assert "encoder.layer.0" in words
    assert "GELU" in words
    dot = output_of(elsewhere, "flow", "demo", _LAYER, "--format", "dot")
    assert dot.startswith("digraph")

    pdf = elsewhere / "flow.pdf"
    with pdf.open("wb") as file:
        subprocess.run(
            [sys.executable, "-m", "bertviewer", "flow", "demo", "--format", "pdf"],
            cwd=elsewhere,
            env={"PYTHONPATH": str(ROOT), "HOME": str(elsewhere)},
            stdout=file,
            check=True,
            timeout=300,
        )
    (page,) = PdfReader(pdf).pages
    assert "BertModel" in page.extract_text()


def test_a_path_that_is_none_is_told_in_one_line(elsewhere: Path) -> None:
    said = error_of(elsewhere, "flow", "demo", "encoder.layer.6")
    assert said.startswith("demo: no module 'encoder.layer.6'; did you mean encoder.layer.")
    said = error_of(elsewhere, "flow", "demo", "encoder.layer")
    assert (
        said
        == "demo: encoder.layer has no data flow: it is not called itself; only its submodules are"
    )
