"""A few acts of the monkey, in a separate process."""

import os
import sys
from pathlib import Path

import pytest

from tests.tools.subprocesses import output_of

ROOT = Path(__file__).parents[2]
ACTS = ("--acts", "60", "--seed", "17", "--gap", "60")
"""How long something takes says how busy the machine is."""


def test_a_window_holds_what_the_monkey_does(tmp_path: Path) -> None:
    here = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    said = output_of([sys.executable, "-m", "tests.monkey", *ACTS], ROOT, here)
    assert "seed 17: 60 acts" in said


def test_a_tree_that_does_not_follow_is_found_out(tmp_path: Path) -> None:
    code = f"""
import sys
from bertviewer.ui.tree.panel import ModuleTreePanel
from tests.monkey import __main__ as monkey, acts
ModuleTreePanel._on_row = lambda self: None
monkey.ACTS = {{acts.select: 1}}
sys.argv += [*{ACTS!r}, "--model", "demo"]
monkey.main()
"""
    here = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(AssertionError, match="the tree shows"):
        output_of([sys.executable, "-c", code], ROOT, here)
