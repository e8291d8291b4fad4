"""The inspector's numbers: three lines that line up, their symbols, costs and memory."""

import threading
from typing import cast

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QCheckBox, QGridLayout, QLabel, QTabWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.count_steps import CountTerm
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.count_view import CountView
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.links import PathLink
from bertviewer.ui.widgets.facts import FactsView
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find

LAYER = "4·D² + 2·D·I + 9·D + I"


def inspector(window: MainWindow) -> Inspector:
    return find(window, Inspector)


def sums(window: MainWindow) -> list[str]:
    return [view.text() for view in inspector(window).findChildren(CountView)]


def place_of(grid: QGridLayout, number: int) -> tuple[int, int]:
    row, column, *_ = cast("tuple[int, int, int, int]", grid.getItemPosition(number))
    return row, column


def texts(window: MainWindow) -> list[str]:
    """Return the texts as they stand, of one view after the other."""
    views = sorted(inspector(window).findChildren(FactsView), key=lambda view: view.y())
    return [text for view in views for text in texts_in(view)]


def texts_in(view: FactsView) -> list[str]:
    grid = view.layout()
    assert isinstance(grid, QGridLayout)
    places = sorted(range(grid.count()), key=lambda number: place_of(grid, number))
    found = []
    for item in map(grid.itemAt, places):
        widget = item.widget() if item is not None else None
        if isinstance(widget, QLabel):
            found.append(widget.text())
        elif widget is not None:
            found += [label.text() for label in widget.findChildren(QLabel)]
    return found


def tied(window: MainWindow) -> list[str]:
    """Return what is said of tied tensors, each of which is a link."""
    links = inspector(window).findChildren(PathLink)
    return [link.text() for link in links if "counted there" in link.text()]


def is_described(window: MainWindow) -> bool:
    """Whether the pane has what it takes to describe a module."""
    return bool(inspector(window).findChildren(FactsView))


def is_deriving(window: MainWindow) -> bool:
    return window.workspace.is_deriving


def test_the_three_lines_of_a_layer(demo_window: MainWindow) -> None:
    demo_window.workspace.selection.select("encoder.layer.2")
    assert sums(demo_window)[0] == (
        f"{LAYER}\n"
        "= 4·384² + 2·384·1536 + 9·384 + 1536\n"
        "= 589,824 + 1,179,648 + 3,456 + 1,536\n"
        "= 1,774,464 ✓ matches the actual count"
    )


def test_costs_shapes_memory_and_the_symbols_in_use(demo_window: MainWindow) -> None:
    demo_window.workspace.selection.select("pooler")
    shown = texts(demo_window)
    assert sums(demo_window)[1] == (
        "B·D²\n= 1·384²\n= 147,456 multiply-adds = 294,912 FLOPs (1 multiply-add = 2 FLOPs)"
    )
    assert "[B, S, D]\n= [1, 128, 384]" in shown
    assert "[B, D]\n= [1, 384]" in shown
    assert shown[shown.index("float32") + 1] == "0.59 MB = 0.56 MiB"
    assert shown[shown.index("int4") + 1] == "0.07 MB = 0.07 MiB"

    demo_window.workspace.selection.select("embeddings.word_embeddings")
    shown = texts(demo_window)
    assert shown[shown.index("V") + 1] == "vocab_size = 30,522, vocabulary size (tokens)"
    assert "D" in shown
    assert not {"I", "L", "T", "N"} & set(shown)


def test_i_as_a_multiple_of_d(demo_window: MainWindow, qtbot: QtBot) -> None:
    def wait_for(text: str) -> None:
        qtbot.waitUntil(lambda: sums(demo_window)[0].startswith(text))

    workspace = demo_window.workspace
    workspace.selection.select("encoder.layer.2")
    box = find(inspector(demo_window), QCheckBox, "relationCheck")
    assert (box.text(), box.isChecked()) == ("Write I as 4·D", False)
    box.click()
    wait_for("12·D² + 13·D\n= 12·384² + 13·384\n")
    assert find(inspector(demo_window), QCheckBox, "relationCheck").isChecked()
    workspace.selection.select("encoder")
    # The wish lasts, from module to module.
    assert sums(demo_window)[0].startswith("N·(12·D² + 13·D)\n")
    find(inspector(demo_window), QCheckBox, "relationCheck").click()
    wait_for(f"N·({LAYER})\n")
    workspace.selection.select("encoder.layer[0–5]")
    assert "Parameter count, per layer" in texts(demo_window)
    workspace.selection.select("pooler")
    assert inspector(demo_window).findChildren(QCheckBox) == []


@pytest.mark.usefixtures("nothing_was_seen")
def test_formulas_that_fail_are_not_awaited_any_more(
    window: MainWindow, worker: Worker, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    def fail(_model: LoadedModel, _progress: Progress) -> jobs.Derived:
        raise UserError("There is no formula today")

    monkeypatch.setattr(jobs, "derive_counts_job", fail)
    window.open_named("bert-base-uncased")
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: is_described(window) and not is_deriving(window), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert "deriving…" not in texts(window)


@pytest.mark.usefixtures("nothing_was_seen")
def test_while_formulas_are_derived_and_where_none_is_found(
    window: MainWindow, worker: Worker, formulas_may_come: threading.Event, qtbot: QtBot
) -> None:
    window.open_named("bert-base-uncased")
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    assert is_deriving(window)
    qtbot.waitUntil(lambda: is_described(window))
    assert "deriving…" in texts(window)
    assert sums(window) == []
    formulas_may_come.set()
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert not is_deriving(window)
    assert "deriving…" not in texts(window)
    assert sums(window)


@pytest.fixture
def view(qtbot: QtBot) -> CountView:
    terms = (
        CountTerm("V·D", "30522·384", 11_720_448),
        CountTerm("+ N·(4·D² + 2·D·I + 9·D + I)", "+ 6·(4·384² + 2·384·1536)", 10_646_784),
        CountTerm("− D", "− 384", -384),
    )
    view = CountView(terms, "22,366,848 ✓")
    qtbot.addWidget(view)
    return view


def test_signs_and_the_text_to_copy(view: CountView) -> None:
    assert view.text() == (
        "V·D + N·(4·D² + 2·D·I + 9·D + I) − D\n"
        "= 30522·384 + 6·(4·384² + 2·384·1536) − 384\n"
        "= 11,720,448 + 10,646,784 − 384\n"
        "= 22,366,848 ✓"
    )
    assert view.accessibleDescription() == view.text()


def test_a_narrow_view_is_a_high_one(view: CountView) -> None:
    heights = [view.heightForWidth(width) for width in (900, 230, 110)]
    assert heights == sorted(heights)
    assert heights[0] < heights[1] < heights[2]


def test_why_a_module_has_no_multiply_adds(demo_window: MainWindow) -> None:
    workspace = demo_window.workspace
    workspace.selection.select("embeddings.LayerNorm")
    assert "0: only matrix products are counted" in texts(demo_window)
    architecture = workspace.architecture
    assert architecture is not None
    assert architecture.costs is not None

    def shown_with(costs: Costs | None) -> list[str]:
        workspace.architecture = replace(architecture, costs=costs)
        workspace.formulas_changed.emit()
        shown = texts(demo_window)
        places = (i for i, shown_text in enumerate(shown) if shown_text.startswith("Multiply-adds"))
        return shown[next(places) + 1 :]

    assert shown_with(None)[0] == "no formula found"
    reason = replace(architecture.costs, modules={}, peak=(), reason="it is too loud")
    on_flow = "its data flow has 0 for B = 1, S = 16"
    assert shown_with(reason)[0] == f"no formula found: it is too loud; {on_flow}"
    without = ModuleCosts(None, None, None, "its products come and go")
    modules = {**architecture.costs.modules, "embeddings.LayerNorm": without}
    assert shown_with(replace(architecture.costs, modules=modules))[0] == (
        f"no formula found: its products come and go; {on_flow}"
    )


def test_all_layers_of_a_folded_row(demo_window: MainWindow) -> None:
    demo_window.workspace.selection.select("encoder.layer[0–5]")
    assert sums(demo_window)[0].endswith(
        "= 1,774,464 ✓ matches the actual count, 6 layers: 10,646,784"
    )


def test_small_memory_is_in_bytes(demo_window: MainWindow) -> None:
    demo_window.workspace.selection.select("embeddings.LayerNorm")
    shown = texts(demo_window)
    assert shown[shown.index("float32") + 1] == "3,072 bytes"


def test_all_tabs_are_in_sight_in_a_small_window(demo_window: MainWindow) -> None:
    demo_window.resize(1000, 700)
    QApplication.processEvents()
    tabs = find(demo_window, QTabWidget, "detailTabs")
    bar = tabs.tabBar()
    assert bar.tabRect(bar.count() - 1).right() < bar.width()
    assert bar.tabRect(0).left() == 0


def test_why_a_tied_head_counts_nothing(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    window.open_source(parse_source("demo", "masked-lm"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: is_described(window))
    window.workspace.selection.select("cls.predictions.decoder")
    assert tied(window) == [
        "weight is tied to bert.embeddings.word_embeddings.weight and counted there",
        "bias is tied to cls.predictions.bias and counted there",
    ]
    window.workspace.selection.select("cls")
    assert not any("bias" in text for text in tied(window))
    assert tied(window)
    window.workspace.selection.select("")
    assert "Tied" not in texts(window)
