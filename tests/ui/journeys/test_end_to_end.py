"""The main job in the real window: open, select, read, run, look, export."""

from pathlib import Path

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTableView,
    QTreeView,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Line
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.formula_tab import FormulaTab
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tree.columns import CLASS, MODULE, OUTPUT_SHAPE
from bertviewer.ui.widgets.formula_view import FormulaView
from tests.plots.looking import box, pixel
from tests.tools.pdf_text import text_of
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, has_error, is_drawn, last_run, show_tab, shown_error

SENTENCE = "this is a 12212121 test sentence"


def child(model: QAbstractItemModel, parent: QModelIndex, name: str) -> QModelIndex:
    for row in range(model.rowCount(parent)):
        index = model.index(row, MODULE, parent)
        if index.data() == name:
            return index
    raise AssertionError(f"no row {name!r}")


def click_row(tree: QTreeView, qtbot: QtBot, names: list[str]) -> QModelIndex:
    """Expand the rows of these names one below the other, and click the last."""
    index = tree.model().index(0, MODULE)
    for name in names:
        tree.expand(index)
        index = child(tree.model(), index, name)
    tree.scrollTo(index)
    place = tree.visualRect(index).center()
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    return index


def lines(plot: LinePlot) -> tuple[Line, ...]:
    assert plot.chart is not None
    return plot.chart.lines


def test_the_main_job(
    demo_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = demo_window
    tree = find(window, QTreeView, "moduleTree")
    assert find(window, QLabel, "statusWeights").text() == "Pretrained weights"

    index = click_row(tree, qtbot, ["encoder", "layer", "0–5", "3", "attention", "self"])
    assert index.siblingAtColumn(CLASS).data() == "BertSelfAttention"
    assert window.workspace.selection.row is not None
    assert window.workspace.selection.row.key == "encoder.layer.3.attention.self"

    show_tab(window, "Formula")
    formula = find(find(window, FormulaTab), FormulaView)
    assert "softmax" in formula.accessibleDescription()
    assert formula.height() > 100
    show_tab(window, "Tensors")
    tensors = find(window, QTableView, "tensorTable").model()
    cells = [
        [tensors.index(row, column).data() for column in range(4)]
        for row in range(tensors.rowCount())
    ]
    assert cells[0] == ["query.weight", "[384, 384]", "[D, D]", "147,456"]
    assert len(cells) == 6

    assert index.siblingAtColumn(OUTPUT_SHAPE).data() == ""
    edit = find(window, QLineEdit, "sentenceEdit")
    edit.setFocus()
    qtbot.keyClicks(edit, SENTENCE)
    qtbot.mouseClick(find(window, QPushButton, "runButton"), Qt.MouseButton.LeftButton)
    assert find(window, QPushButton, "cancelButton").isEnabled()
    assert find(window, QProgressBar, "runProgress").isVisible()
    qtbot.waitUntil(lambda: is_drawn(window))
    run = last_run(window)
    assert [token.id for token in run.tokens][:3] == [101, 2023, 2003]

    plot, heatmap = find(window, LinePlot, "layerPlot"), find(window, Heatmap, "tokenHeatmap")
    assert plot.isVisible()
    assert heatmap.isVisible()
    assert heatmap.chart is not None
    assert heatmap.chart.values.shape == (7, 11)
    assert np.isfinite(heatmap.chart.values).all()
    assert [line.label for line in lines(plot)] == [
        "encoder.layer: output",
        "encoder.layer: attention.self",
    ]
    std = run.activation("encoder.layer.4")
    assert std is not None
    assert lines(plot)[0].values[4] == std.statistics.std
    assert index.siblingAtColumn(OUTPUT_SHAPE).data() == "[1, 11, 384]"

    find(window, QComboBox, "statisticChoice").setCurrentText("rms")
    assert lines(plot)[0].values[4] == std.statistics.rms

    path = tmp_path / "report.pdf"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    window.exporting.choose_report()
    dialog = find(window, QDialog, "reportDialog")
    with qtbot.waitSignal(window.workspace.exported):
        find(dialog, QPushButton, "reportExport").click()
    text = text_of(path)
    assert "22,713,216" in text
    assert "12212121" in text
    assert "##12" in text
    assert "The root mean square of each layer’s output" in text
    assert pypdf.PdfReader(path).outline


def test_a_click_on_a_layer_selects_its_node(demo_window: MainWindow, qtbot: QtBot) -> None:
    window = demo_window
    window.set_sentence(SENTENCE, None)
    qtbot.mouseClick(find(window, QPushButton, "runButton"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: is_drawn(window))
    plot = find(window, LinePlot, "layerPlot")
    value = lines(plot)[0].values[2]
    assert value is not None
    qtbot.waitUntil(lambda: box(plot).width() > 100)
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=pixel(plot, 2.0, value))
    assert window.workspace.selection.row is not None
    assert window.workspace.selection.row.key == "encoder.layer.2"
    tree = find(window, QTreeView, "moduleTree")
    assert tree.currentIndex().data() == "2"


def test_random_weights_are_asked_for_and_labelled(window: MainWindow, qtbot: QtBot) -> None:
    window.open_source(parse_source("albert-base-v2"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    label = find(window, QLabel, "statusWeights")
    assert label.text() == "No weights"
    run, check = (
        find(window, QPushButton, "runButton"),
        find(window, QCheckBox, "randomWeightsCheck"),
    )
    assert check.isVisible()
    window.set_sentence(SENTENCE, None)
    assert not run.isEnabled()
    assert "no weights" in run.toolTip()
    check.setChecked(True)
    assert run.isEnabled()
    qtbot.mouseClick(run, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: is_drawn(window))
    assert "Random" in label.text()
    assert "Random weights" in find(window, QLabel, "runWarning").text()
    # One stored layer, applied twelve times: twelve points all the same.
    assert len(lines(find(window, LinePlot, "layerPlot"))[0].values) == 12


def test_the_filter_keeps_matches_and_their_ancestors(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    tree = find(demo_window, QTreeView, "moduleTree")
    demo_window.workspace.selection.select("pooler")
    qtbot.keyClicks(find(demo_window, QLineEdit, "treeFilter"), "token_type")
    qtbot.waitUntil(lambda: tree.model().rowCount(tree.model().index(0, 0)) == 1)
    root = tree.model().index(0, MODULE)
    embeddings = child(tree.model(), root, "embeddings")
    assert tree.isExpanded(embeddings)
    assert tree.model().rowCount(embeddings) == 1
    assert child(tree.model(), embeddings, "token_type_embeddings").isValid()
    # What is hidden stays selected in the details.
    assert demo_window.workspace.selection.row is not None
    assert demo_window.workspace.selection.row.key == "pooler"
    find(demo_window, QLineEdit, "treeFilter").clear()
    qtbot.waitUntil(lambda: tree.model().rowCount(tree.model().index(0, 0)) == 3)
    assert tree.currentIndex().data() == "pooler"


def test_a_bad_sentence_gets_a_dialog(demo_window: MainWindow, qtbot: QtBot) -> None:
    demo_window.set_sentence("word " * 600, None)
    find(demo_window, QPushButton, "runButton").click()
    qtbot.waitUntil(lambda: has_error(demo_window))
    box = shown_error(demo_window)
    assert "at most 512" in box.text()
    assert find(box, QLabel, "errorText").textFormat() == Qt.TextFormat.PlainText
    box.close()
    assert demo_window.workspace.architecture is not None
    assert find(demo_window, QPushButton, "runButton").isEnabled()


def test_a_sentence_that_is_too_long_can_be_cut_where_the_error_is(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    demo_window.set_sentence("word " * 600, None)
    demo_window.run()
    qtbot.waitUntil(lambda: has_error(demo_window), timeout=OPEN_TIMEOUT)
    (cut,) = shown_error(demo_window).findChildren(QPushButton, "errorRemedy")
    cut.click()
    assert not has_error(demo_window)
    qtbot.waitUntil(lambda: is_drawn(demo_window), timeout=OPEN_TIMEOUT)
    assert len(last_run(demo_window).tokens) == 512


def test_an_unwritable_report_gets_a_dialog(demo_window: MainWindow, tmp_path: Path) -> None:
    demo_window.exporting.write_report(tmp_path / "missing" / "report.pdf")
    box = shown_error(demo_window)
    assert "no such folder:" in box.text()
    box.close()


def test_an_unknown_model_leaves_the_open_one(demo_window: MainWindow) -> None:
    before = demo_window.workspace.architecture
    demo_window.open_named("/nowhere/at/all")
    box = shown_error(demo_window)
    assert "/nowhere/at/all" in box.text()
    box.close()
    assert demo_window.workspace.architecture is before


def test_another_head_opens_the_same_model(demo_window: MainWindow, qtbot: QtBot) -> None:
    demo_window.workspace.open_head("masked-lm")
    workspace = demo_window.workspace
    qtbot.waitUntil(
        lambda: (
            workspace.architecture is not None
            and workspace.architecture.root.class_name == "BertForMaskedLM"
        ),
        timeout=OPEN_TIMEOUT,
    )
    assert "5 tensors random" in find(demo_window, QLabel, "statusWeights").text()


def test_the_menu_marks_what_is_open(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    def marked(name: str) -> bool:
        return find(demo_window, QAction, name).isChecked()

    assert marked("base")
    demo_window.open_named("gpt2")
    qtbot.waitUntil(lambda: demo_window.windowTitle().startswith("gpt2"), timeout=OPEN_TIMEOUT)
    find(demo_window, QAction, "next-sentence").trigger()
    qtbot.waitUntil(lambda: has_error(demo_window))
    shown_error(demo_window).close()
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert marked("base")
    assert not marked("next-sentence")
    demo_window.set_appearance("dark")
    assert marked("dark")


def test_no_report_while_a_run_goes_on(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    export = find(demo_window, QAction, "exportPdf")
    assert export.isEnabled()
    demo_window.set_sentence(SENTENCE, None)
    demo_window.run()
    assert not export.isEnabled()
    qtbot.waitUntil(lambda: is_drawn(demo_window) and not worker.busy)
    assert export.isEnabled()


def test_a_report_that_is_given_up_is_told(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    cancelled: list[str] = []
    demo_window.workspace.jobs.cancelled.connect(cancelled.append)
    demo_window.set_sentence("a test", None)
    demo_window.run()  # the worker is busy for a moment, and the report waits
    demo_window.exporting.write_report(tmp_path / "report.pdf")
    demo_window.open_named("distilbert-base-uncased")
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert "export" in cancelled
    assert not (tmp_path / "report.pdf").exists()


def test_weights_that_are_read_layer_by_layer_are_labelled(
    window: MainWindow, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    window.open_source(replace(parse_source(str(tiny_bert_folder)), offload=True))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    label = find(window, QLabel, "statusWeights")
    assert label.text() == "Pretrained weights, loaded layer by layer"
    window.set_sentence("the cat sat", None)
    qtbot.mouseClick(find(window, QPushButton, "runButton"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: is_drawn(window))
    assert label.text() == "Pretrained weights, loaded layer by layer"
    assert last_run(window).source.offloaded
