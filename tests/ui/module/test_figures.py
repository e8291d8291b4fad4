"""What the overview tells of a module's output in the last run."""

from collections.abc import Callable

import pytest
import torch
from msgspec.structs import replace
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot
from torch import Tensor, nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.module.figure_cards import module_figures
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.finding import find, is_drawn


class Giving(nn.Module):
    """Gives its input as something else."""

    def __init__(self, made: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.made = made

    def forward(self, x: Tensor) -> Tensor:
        return self.made(x)


def facts(window: MainWindow) -> list[str]:
    """Return the overview's texts from top to bottom, a name before its value."""
    tab = find(window, Inspector)
    labels = [label for label in tab.findChildren(QLabel) if label.isVisible()]
    return [label.text() for label in sorted(labels, key=lambda label: (label.y(), label.x()))]


@pytest.mark.parametrize(
    ("made", "why"),
    [(lambda x: torch.complex(x, x), "complex64"), (lambda x: x.to_sparse(), "sparse")],
)
def test_what_cannot_be_measured_is_said_in_place_of_figures(
    demo_window: MainWindow,
    opened_demo: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
    *,
    made: Callable[[Tensor], Tensor],
    why: str,
) -> None:
    # The last module: nothing has to go on with what it gives.
    pooler = opened_demo.module(random_weights=False).get_submodule("pooler")
    monkeypatch.setitem(pooler._modules, "activation", Giving(made))
    demo_window.workspace.run_sentence(Sentence("a test"), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    demo_window.workspace.selection.select("pooler.activation")
    qtbot.waitUntil(lambda: not demo_window.workspace.deferred.pending)
    shown = facts(demo_window)
    assert shown[shown.index("Output shape") + 1] == "[1, 384]"
    assert why in shown[shown.index("Not measured") + 1]
    assert "mean" not in shown
    # Its neighbour is measured as ever.
    demo_window.workspace.selection.select("pooler.dense")
    qtbot.waitUntil(lambda: not demo_window.workspace.deferred.pending)
    shown = facts(demo_window)
    assert "Not measured" not in shown
    assert float(shown[shown.index("rms") + 1]) > 0


def test_figures_without_formulas_say_whether_these_are_being_derived() -> None:
    row = fold(small("bert"))
    architecture = replace(small("bert"), costs=None)
    for is_deriving in (True, False):
        _, macs, shape, _ = module_figures(row, architecture, None, is_deriving=is_deriving)
        for figure in (macs, shape):
            assert figure.value == "–"
            assert ("deriving…" in figure.remark) == is_deriving
