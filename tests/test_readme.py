"""What the README says of the code is there."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.subprocesses import output_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PATHS = sorted(
    set(re.findall(r"`((?:api|core|cli|charts|plots|report|ui|tests)/[\w./]+)`", README))
)
_, _, _TREE = README.partition("## How it is built")
FOLDERS = re.findall(r"^    (\w+)/ ", _TREE.split("```")[1], re.MULTILINE)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_there(path: str) -> None:
    assert (ROOT / path).exists() or (ROOT / "bertviewer" / path).exists()


def test_the_folders_of_core_are_those_that_are_named() -> None:
    core = ROOT / "bertviewer" / "core"
    assert sorted(FOLDERS) == sorted(path.parent.name for path in core.glob("*/__init__.py"))


def test_the_script_does_what_it_says_without_qt(tmp_path: Path) -> None:
    script = README.partition("```python\n")[2].partition("```")[0]
    without_qt = "import sys\nsys.modules['PySide6'] = None\n"
    shapes = "\nprint(weights.shape, heads.shape, list(took), list(gave), len(rows))\n"
    shapes += "print(corpus.sentences, list(medians)[:2], entropies.shape)\n"
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = output_of([sys.executable, "-c", without_qt + script + shapes], tmp_path, here)
    assert printed.splitlines() == [
        "3·D² + 3·D",
        "= 3·384² + 3·384",
        "= 443,520",
        "(384, 384) (12, 13, 13) ['hidden_states'] ['output.0'] 113",
        "40 ['', 'embeddings'] (12,)",
    ]
    assert (tmp_path / "head.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "cat.pdf").read_bytes().startswith(b"%PDF")
