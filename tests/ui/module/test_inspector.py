"""Inspector: counts, costs, memory and outputs of the selected module, and their room."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch
from msgspec.structs import replace
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QTabWidget,
)
from pytestqt.qtbot import QtBot
from torch import Tensor, nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.module.count_view import CountView
from bertviewer.ui.module.figure_cards import module_figures
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import PathLink
from bertviewer.ui.widgets.facts import FactsView
from bertviewer.ui.widgets.formula_view import FormulaView
from tests.core.opened import plain
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import find, is_drawn
from tests.ui.run.view_harness import RunHarness

LAYER = "4·D² + 2·D·I + 9·D + I"


class InspectorHarness(RunHarness):
    """The inspector."""

    def show(self, key: str) -> "InspectorHarness":
        """Select a row of the tree."""
        self.workspace.selection.select(key)
        self.settle()
        return self

    def show_architecture(self, architecture: Architecture) -> None:
        """Replace the architecture, as after more formulas were derived."""
        self.workspace.architecture = architecture
        self.workspace.formulas_changed.emit()
        self.settle()

    def counts(self) -> list[str]:
        """Return the texts of the formulas with numbers."""
        return [view.text() for view in self.widget.findChildren(CountView)]

    def facts(self) -> list[str]:
        """Return headings, names and values from the top down."""
        views = sorted(self.widget.findChildren(FactsView), key=lambda view: view.y())
        return [text for view in views for text in _texts(view)]

    def fact(self, name: str) -> str:
        """Return the text after a name."""
        facts = self.facts()
        return facts[facts.index(name) + 1]


def _texts(view: FactsView) -> list[str]:
    grid = view.layout()
    assert isinstance(grid, QGridLayout)

    def place(number: int) -> tuple[int, ...]:
        return cast("tuple[int, ...]", grid.getItemPosition(number))[:2]

    widgets = [
        item.widget()
        for number in sorted(range(grid.count()), key=place)
        if (item := grid.itemAt(number)) is not None
    ]
    labels = [
        [widget] if isinstance(widget, QLabel) else widget.findChildren(QLabel)
        for widget in widgets
        if widget is not None
    ]
    return [label.text() for group in labels for label in group]


@pytest.fixture
def inspector(workspace: Workspace, qtbot: QtBot) -> InspectorHarness:
    """Return the inspector without a model."""
    widget = Inspector(workspace)
    widget.resize(420, 800)
    inspector = InspectorHarness(widget, workspace, qtbot)
    workspace.views_ready.emit()
    inspector.settle()
    return inspector


@pytest.fixture
def demo(inspector: InspectorHarness, open_model: Callable[..., object]) -> InspectorHarness:
    """Return the inspector of the demo model."""
    open_model("demo")
    return inspector


def test_the_count_of_a_layer_in_three_lines(demo: InspectorHarness) -> None:
    lines = (
        f"{LAYER}\n"
        "= 4·384² + 2·384·1536 + 9·384 + 1536\n"
        "= 589,824 + 1,179,648 + 3,456 + 1,536\n"
        "= 1,774,464 ✓ matches the actual count"
    )
    assert demo.show("encoder.layer.2").counts()[0] == lines
    assert demo.show("encoder.layer[0–5]").counts()[0] == f"{lines}, 6 layers: 10,646,784"
    assert "Parameter count, per layer" in demo.facts()


def test_costs_shapes_memory_and_symbols(demo: InspectorHarness) -> None:
    demo.show("pooler")
    assert demo.counts()[1] == (
        "B·D²\n= 1·384²\n= 147,456 multiply-adds = 294,912 FLOPs (1 multiply-add = 2 FLOPs)"
    )
    assert demo.fact("Input") == "[B, S, D]\n= [1, 128, 384]"
    assert demo.fact("Output") == "[B, D]\n= [1, 384]"
    assert demo.fact("float32") == "0.59 MB = 0.56 MiB"
    assert demo.fact("int4") == "0.07 MB = 0.07 MiB"
    demo.show("embeddings.word_embeddings")
    assert demo.fact("V") == "vocab_size = 30,522, vocabulary size (tokens)"
    assert "D" in demo.facts()
    assert not {"I", "L", "T", "N"} & set(demo.facts())
    demo.show("embeddings.LayerNorm")
    assert demo.fact("float32") == "3,072 bytes"


def test_i_as_a_multiple_of_d(demo: InspectorHarness) -> None:
    def count(key: str) -> str:
        return demo.show(key).counts()[0].partition("\n")[0]

    assert count("encoder.layer.2") == LAYER
    box = demo.find(QCheckBox, "relationCheck")
    assert (box.text(), box.isChecked()) == ("Write I as 4·D", False)
    box.click()
    QApplication.processEvents()  # its signal is queued
    assert demo.counts()[0].startswith("12·D² + 13·D\n= 12·384² + 13·384\n")
    assert demo.find(QCheckBox, "relationCheck").isChecked()
    assert count("encoder") == "N·(12·D² + 13·D)"  # of all modules
    demo.find(QCheckBox, "relationCheck").click()
    QApplication.processEvents()
    assert count("encoder") == f"N·({LAYER})"
    demo.show("pooler")
    assert demo.widget.findChildren(QCheckBox) == []


def test_why_there_are_no_multiply_adds(demo: InspectorHarness) -> None:
    demo.show("embeddings.LayerNorm")
    architecture = demo.workspace.architecture
    assert architecture is not None
    assert architecture.costs is not None

    def why(costs: Costs | None) -> str:
        demo.show_architecture(replace(architecture, costs=costs))
        facts = demo.facts()
        heading = next(n for n, text in enumerate(facts) if text.startswith("Multiply-adds"))
        return facts[heading + 1]

    assert why(architecture.costs) == "0: only matrix products are counted"
    assert why(None) == "no formula found"
    of_graph = "its data flow has 0 for B = 1, S = 16"
    without = replace(architecture.costs, modules={}, peak=(), reason="it is too loud")
    assert why(without) == f"no formula found: it is too loud; {of_graph}"
    module = ModuleCosts(None, None, None, "its products come and go")
    modules = {**architecture.costs.modules, "embeddings.LayerNorm": module}
    assert why(replace(architecture.costs, modules=modules)) == (
        f"no formula found: its products come and go; {of_graph}"
    )


def test_tied_tensors_are_counted_where_they_are_stored(
    inspector: InspectorHarness, open_model: Callable[..., object]
) -> None:
    def tied() -> list[str]:
        links = [link.text() for link in inspector.widget.findChildren(PathLink)]
        return [text for text in links if "counted there" in text]

    open_model("demo", "masked-lm")
    weight = "weight is tied to bert.embeddings.word_embeddings.weight and counted there"
    inspector.show("cls.predictions.decoder")
    assert tied() == [weight, "bias is tied to cls.predictions.bias and counted there"]
    inspector.show("cls")
    assert tied() == [f"predictions.decoder.{weight}"]
    inspector.show("")
    assert tied() == []


def test_the_root_has_facts_about_its_checkpoint(
    inspector: InspectorHarness, open_model: Callable[..., object], tiny_bert_folder: Path
) -> None:
    open_model(tiny_bert_folder, "masked-lm")
    assert inspector.fact("Missing").endswith("(random)")
    inspector.click("showKeyReport")
    find(inspector.window, QDialog, "keyReportDialog").close()
    inspector.show("cls")
    assert inspector.widget.findChildren(QPushButton, "showKeyReport") == []
    open_model(tiny_bert_folder / "config.json")
    assert inspector.widget.findChildren(QPushButton, "showKeyReport") == []


def test_while_formulas_are_derived(
    inspector: InspectorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_deriving = True
    monkeypatch.setattr(Workspace, "is_deriving", property(lambda _: is_deriving))
    show_architecture(inspector.workspace, plain("bert-base-uncased"))
    inspector.settle()
    assert "deriving…" in inspector.facts()
    assert inspector.counts() == []
    is_deriving = False
    inspector.workspace.formulas_changed.emit()  # they failed
    inspector.settle()
    assert "deriving…" not in inspector.facts()
    assert "109,482,240, no formula found" in inspector.facts()
    row, architecture = fold(small("bert")), replace(small("bert"), costs=None)
    for is_waiting in (True, False):
        _, macs, shape, _ = module_figures(row, architecture, None, is_deriving=is_waiting)
        for figure in (macs, shape):
            assert figure.value == "–"
            assert ("deriving…" in figure.remark) == is_waiting


class Convert(nn.Module):
    """Returns its input as another kind of tensor."""

    def __init__(self, convert: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.convert = convert

    def forward(self, x: Tensor) -> Tensor:
        return self.convert(x)


@pytest.mark.parametrize(
    ("convert", "reason"),
    [(lambda x: torch.complex(x, x), "complex64"), (lambda x: x.to_sparse(), "sparse")],
)
def test_outputs_that_are_not_measured(
    demo: InspectorHarness,
    opened_demo: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
    convert: Callable[[Tensor], Tensor],
    reason: str,
) -> None:
    # The last module: none has to work with its output.
    pooler = opened_demo.module(random_weights=False).get_submodule("pooler")
    monkeypatch.setitem(pooler._modules, "activation", Convert(convert))
    demo.run("a test")
    demo.show("pooler.activation")
    assert demo.fact("Output shape") == "[1, 384]"
    assert reason in demo.fact("Not measured")
    assert "mean" not in demo.facts()
    demo.show("pooler.dense")
    assert "Not measured" not in demo.facts()
    assert float(demo.fact("rms")) > 0


USUAL = (
    *("", "embeddings", "encoder.layer.3", "encoder.layer.3.attention.self", "pooler"),
    *("encoder.layer.3.attention.self.query", "encoder.layer.3.intermediate"),
)


def test_room_in_the_window(demo_window: MainWindow, qtbot: QtBot) -> None:
    """Sentence, figures and formula need no scrolling, and nothing is wider than the pane."""
    window = demo_window
    window.resize(1440, 900)
    sentence = Sentence("The bank by the river was closed, so she walked to the other bank.")
    window.workspace.run_sentence(sentence, random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(window))
    area = find(window, QScrollArea, "inspectorPage")

    def end_of_formula() -> int:
        formulas = area.findChildren(FormulaView)
        if len(formulas) != 1 or not formulas[0].height() or window.workspace.deferred.pending:
            return 10_000
        return formulas[0].mapTo(area.viewport(), QPoint(0, formulas[0].height())).y()

    for path in USUAL:
        window.workspace.selection.select(path)
        qtbot.waitUntil(lambda: end_of_formula() <= area.viewport().height())
    for _ in range(3):
        find(window, QAction, "largerText").trigger()
    page = area.widget()
    assert page is not None
    for width in (1440, 1024):
        window.resize(width, 720)
        qtbot.waitUntil(lambda: page.width() == area.viewport().width())
        assert page.minimumSizeHint().width() <= find(window, Inspector).minimumWidth()
    labels = [
        label for view in window.findChildren(FactsView) for label in view.findChildren(QLabel)
    ]
    cut = [
        label.text()
        for label in labels
        if label.isVisible() and not label.wordWrap() and label.width() < label.sizeHint().width()
    ]
    assert cut == []
    find(window, QAction, "usualText").trigger()
    window.resize(1000, 700)
    QApplication.processEvents()
    bar = find(window, QTabWidget, "detailTabs").tabBar()
    assert bar.tabRect(0).left() == 0
    assert bar.tabRect(bar.count() - 1).right() < bar.width()
