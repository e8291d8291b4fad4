"""Random acts in a separate process, and the contradictions that they would find."""

import os
import sys
from pathlib import Path

from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.ui.shell.main_window import MainWindow
from tests.monkey.contradictions import contradictions
from tests.tools.subprocesses import output_of

ROOT = Path(__file__).parents[3]
ACTS = ("--acts", "60", "--seed", "17", "--gap", "60")  # seconds: the machine may be busy


def test_the_window_withstands_random_acts(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    output = output_of([sys.executable, "-m", "tests.monkey", *ACTS], ROOT, environment)
    assert "seed 17: 60 acts" in output


def test_a_tree_that_does_not_follow_the_selection_is_found(demo_window: MainWindow) -> None:
    selection = demo_window.workspace.selection
    selection.select("encoder")
    assert list(contradictions(demo_window)) == []
    row = selection.tree
    assert isinstance(row, TreeRow)
    selection.row = row  # without the signal
    assert any(text.startswith("the tree shows 'encoder'") for text in contradictions(demo_window))
