"""The tab in the window, on a small model in a folder and on a preset."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableView,
    QToolButton,
)
from pytestqt.qtbot import QtBot
from safetensors.numpy import load_file

from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import SpectrumPlot
from bertviewer.plots.region_heatmap import RegionHeatmap
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.inspector import Inspector
from bertviewer.ui.tensors.views import SaveButton, TensorViews
from tests.ui.finding import find, is_drawn, shown_error
from tests.ui.tensors.tensor_tab import (
    HEATMAP,
    HISTOGRAM,
    NORMS,
    QUERY,
    SPECTRUM,
    cell_status,
    choose,
    open_named,
    show_view,
    wait_until_idle,
)

WORDS = "embeddings.word_embeddings.weight"


def test_all_views_of_a_tensor(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    window = tiny_window
    stored = load_file(tiny_bert_folder / "model.safetensors")[QUERY]
    choose(window, worker, qtbot, QUERY)
    title = find(window, QLabel, "tensorTitle").text()
    assert title == "query.weight · [32, 32]  float32 · from model.safetensors"
    table = find(window, QTableView, "valuesTable")
    model = table.model()
    assert (model.rowCount(), model.columnCount()) == (32, 32)
    assert model.index(7, 9).data() == cell_text(stored[7, 9].item())
    table.setCurrentIndex(model.index(7, 9))
    assert cell_status(window).startswith(f"[7, 9] = {stored[7, 9]:.7g}".replace("-", "−"))

    show_view(window, worker, qtbot, HEATMAP)
    heatmap = find(window, RegionHeatmap, "tensorHeatmap")
    assert heatmap.chart is not None
    assert_array_equal(heatmap.chart.values, stored)
    heatmap.zoomed.emit(0.5, 0.5, 2)
    wait_until_idle(worker, qtbot)
    assert_array_equal(heatmap.chart.values, stored[9:23, 9:23])
    heatmap.dragged.emit(0.5, 1.0)
    wait_until_idle(worker, qtbot)
    assert heatmap.chart.rows[0] == "0"
    assert heatmap.chart.columns[0] == "2"
    qtbot.mouseClick(find(window, QToolButton, "heatmapAll"), Qt.MouseButton.LeftButton)
    wait_until_idle(worker, qtbot)
    assert heatmap.chart.values.shape == (32, 32)

    show_view(window, worker, qtbot, HISTOGRAM)
    bars = find(window, HistogramPlot, "tensorHistogram").chart
    assert bars is not None
    assert_array_equal(bars.series[0].counts, np.histogram(stored, 64)[0])
    statistics = find(window, QTableView, "tensorStatistics").model()
    mean = statistics.index(0, 1).data().replace("−", "-")
    assert float(mean) == pytest.approx(stored.mean(dtype=float), rel=1e-4)

    show_view(window, worker, qtbot, SPECTRUM)
    lines = find(window, SpectrumPlot, "spectrumPlot").chart
    assert lines is not None
    expected = np.linalg.svd(stored.astype(float), compute_uv=False)
    assert_allclose(np.array(lines.lines[0].values, dtype=float), expected, rtol=1e-9)
    facts = find(window, QTableView, "spectrumFacts").model()
    figures = {facts.index(row, 0).data(): facts.index(row, 1) for row in range(facts.rowCount())}
    assert figures["rank"].data() == "32 of 32"
    assert float(figures["largest"].data()) == pytest.approx(expected[0], rel=1e-6)

    show_view(window, worker, qtbot, NORMS)
    norms = find(window, QTableView, "normsTable").model()
    largest = int(np.linalg.norm(stored, axis=1).argmax())
    norms.sort(2, Qt.SortOrder.DescendingOrder)
    assert norms.index(0, 0).data() == str(largest)


def test_a_head_is_a_slice_in_every_view_and_stays_chosen_in_the_next_layer(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    window = tiny_window
    every = load_file(tiny_bert_folder / "model.safetensors")
    choose(window, worker, qtbot, QUERY)
    find(window, QComboBox, "headChoice").setCurrentText("head 2")
    wait_until_idle(worker, qtbot)
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (8, 32)
    assert " · [8, 32] of [32, 32] " in find(window, QLabel, "tensorTitle").text()
    assert model.headerData(0, Qt.Orientation.Vertical) == "16"
    assert model.index(3, 5).data() == cell_text(every[QUERY][19, 5].item())
    show_view(window, worker, qtbot, SPECTRUM)
    chart = find(window, SpectrumPlot, "spectrumPlot").chart
    assert chart is not None
    assert len(chart.lines[0].values) == 8
    # The same tensor in another layer, the same head of it.
    window.workspace.selection.select("encoder.layer.0.attention.self.query")
    wait_until_idle(worker, qtbot)
    chart = find(window, SpectrumPlot, "spectrumPlot").chart
    assert chart is not None
    other = every["encoder.layer.0.attention.self.query.weight"][16:24].astype(float)
    assert chart.lines[0].values[0] == pytest.approx(np.linalg.norm(other, 2))
    # Where there is no such tensor, nothing is shown.
    window.workspace.selection.select("embeddings.dropout")
    assert find(window, Inspector).isHidden()


def test_a_module_opens_with_its_largest_tensor_until_that_is_closed(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = tiny_window
    focused = window.focusWidget()
    title = find(window, QLabel, "tensorTitle")
    qtbot.waitUntil(lambda: title.text().startswith("word_embeddings.weight"))
    window.workspace.selection.select("encoder.layer.1.attention.self")
    qtbot.waitUntil(lambda: title.text().startswith("query.weight"))
    assert window.focusWidget() is focused
    # What a person chose is what the next layer shows, as far as it has it.
    choose(window, worker, qtbot, QUERY.replace("query.weight", "key.bias"))
    window.workspace.selection.select("encoder.layer.0.attention.self.key")
    qtbot.waitUntil(lambda: title.text().startswith("key.bias"))
    qtbot.mouseClick(find(window, QToolButton, "closeTensor"), Qt.MouseButton.LeftButton)
    window.workspace.selection.select("pooler")
    assert find(window, Inspector).isHidden()
    choose(window, worker, qtbot, "pooler.dense.bias")
    window.workspace.selection.select("embeddings.LayerNorm")
    qtbot.waitUntil(lambda: title.text().startswith("LayerNorm.bias"))
    wait_until_idle(worker, qtbot)


def test_a_view_can_be_chosen_before_the_values_came(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    tiny_window.workspace.selection.select(QUERY.rpartition(".")[0])
    find(tiny_window, QTableView, "tensorTable").selectRow(0)
    show_view(tiny_window, worker, qtbot, HEATMAP)
    assert find(tiny_window, QToolButton, f"tensorView{HEATMAP}").isChecked()
    assert find(tiny_window, RegionHeatmap).isVisible()


def test_rows_of_the_vocabulary_are_found_by_their_tokens(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    window = tiny_window
    choose(window, worker, qtbot, WORDS)
    words = (tiny_bert_folder / "vocab.txt").read_text().split()
    row = words.index("cat")
    table = find(window, QTableView, "valuesTable")
    assert table.model().headerData(row, Qt.Orientation.Vertical) == f"{row:\u2007>3}  cat"
    edit = find(window, QLineEdit, "goToRow")
    edit.setText("cat")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert table.currentIndex().row() == row
    assert cell_status(window).startswith(f"cat  [{row}, 0] = ")
    edit.setText("12")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert table.currentIndex().row() == 12
    edit.setText("200")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert cell_status(window) == "No row 200: rows range from 0 to 199"
    edit.setText("nothing")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert cell_status(window) == "No token starts with nothing"
    assert any(label.text() == "1 tensor, 6,400 elements" for label in window.findChildren(QLabel))


def test_values_are_copied_and_saved(
    tiny_window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tiny_bert_folder: Path,
    tmp_path: Path,
) -> None:
    window = tiny_window
    stored = load_file(tiny_bert_folder / "model.safetensors")[QUERY]
    choose(window, worker, qtbot, QUERY)
    table = find(window, QTableView, "valuesTable")
    table.setCurrentIndex(table.model().index(3, 4))
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(table, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    table.actions()[0].trigger()
    lines = [line.split("\t") for line in QApplication.clipboard().text().split("\n")]
    assert_array_equal(np.array(lines, dtype=np.float32), stored[3:5, 4:6])
    button = find(window, SaveButton)
    with qtbot.waitSignal(window.workspace.saved) as saved:
        button.save(tmp_path / "query.npy")
    assert saved.args == [str(tmp_path / "query.npy")]
    assert_array_equal(np.load(tmp_path / "query.npy"), stored)
    assert window.statusBar().currentMessage() == f"Saved to {tmp_path / 'query.npy'}"
    button.save(tmp_path / "missing" / "query.npy")
    assert "no such folder:" in shown_error(window).text()
    wait_until_idle(worker, qtbot)


def test_a_vector_says_what_it_is_not(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = tiny_window
    choose(window, worker, qtbot, "embeddings.LayerNorm.weight")
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (32, 1)
    assert model.index(31, 0).data() == "1.000000"
    for number, words in ((HEATMAP, "A vector has no heatmap"), (SPECTRUM, "one singular value")):
        show_view(window, worker, qtbot, number)
        shown = [
            label.text()
            for label in window.findChildren(QLabel, "tensorNotice")
            if label.isVisible()
        ]
        assert len(shown) == 1
        assert words in shown[0]


def test_a_model_without_weights_has_values_once_they_are_drawn(
    window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path, tiny_bert_folder: Path
) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    for name in ("config.json", "vocab.txt", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny_bert_folder / name).read_bytes())
    open_named(window, worker, qtbot, str(folder))
    choose(window, worker, qtbot, QUERY)
    views = find(window, TensorViews)
    notice = next(n for n in window.findChildren(QLabel, "tensorNotice") if n.isVisible())
    assert notice.text().startswith("This model has no weights.")
    assert views.part is None
    find(window, QCheckBox, "randomWeightsCheck").setChecked(True)
    find(window, QLineEdit, "sentenceEdit").setText("the cat")
    qtbot.mouseClick(find(window, QPushButton, "runButton"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: is_drawn(window))
    qtbot.waitUntil(lambda: views.part is not None)
    wait_until_idle(worker, qtbot)
    assert find(window, QLabel, "tensorTitle").text().startswith("Random weights · query.weight")
    assert find(window, QTableView, "valuesTable").model().rowCount() == 32


def test_another_model_chooses_anew(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    choose(tiny_window, worker, qtbot, QUERY)
    assert find(tiny_window, Inspector).isVisible()
    with qtbot.waitSignal(tiny_window.workspace.architecture_changed):
        tiny_window.open_source(parse_source(str(tiny_bert_folder), "masked-lm"))
    wait_until_idle(worker, qtbot)
    title = find(tiny_window, QLabel, "tensorTitle")
    qtbot.waitUntil(lambda: title.text().startswith("word_embeddings.weight"))
    assert find(tiny_window, QTableView, "valuesTable").model().rowCount() == 200
    wait_until_idle(worker, qtbot)
