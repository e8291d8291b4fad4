"""What the README says of the code is there."""

import re
from pathlib import Path

import pytest

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
