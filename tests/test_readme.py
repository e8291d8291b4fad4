"""What the README says of the code is there."""

import csv
import os
import re
import sys
from pathlib import Path

import pytest

from tests.subprocesses import output_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:core|cli|charts|plots|report|ui|tests)/[\w./]+)`", README)))
_, _, _TREE = README.partition("## How it is built")
FOLDERS = re.findall(r"^    (\w+)/ ", _TREE.split("```")[1], re.MULTILINE)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_there(path: str) -> None:
    assert (ROOT / path).exists() or (ROOT / "bertviewer" / path).exists()


def test_the_folders_of_core_are_those_that_are_named() -> None:
    core = ROOT / "bertviewer" / "core"
    assert sorted(FOLDERS) == sorted(path.parent.name for path in core.glob("*/__init__.py"))


def test_the_script_makes_a_figure_without_qt(tmp_path: Path) -> None:
    script = README.partition("```python\n")[2].partition("```")[0]
    without_qt = "import sys\nsys.modules['PySide6'] = None\n"
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    output_of([sys.executable, "-c", without_qt + script], tmp_path, here)
    with (tmp_path / "std.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[0] == "Schicht"
    assert [row[0] for row in rows] == list("012345")
    assert all(float(row[-1]) > 0 for row in rows)
