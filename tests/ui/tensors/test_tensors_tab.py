"""Tab of tensors: parameters of the selected module, and the views of one of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTableView,
    QToolButton,
)
from pytestqt.qtbot import QtBot
from safetensors.numpy import load_file, save_file

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import SpectrumPlot
from bertviewer.plots.region_heatmap import RegionHeatmap
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import plot_pages
from bertviewer.ui.tensors.inspector import Inspector
from bertviewer.ui.tensors.views import SaveButton
from tests.ui.finding import shown_error
from tests.ui.tensors.tensor_harness import TensorHarness
from tests.ui.tensors.tensor_tab import HEATMAP, HISTOGRAM, NORMS, QUERY, SPECTRUM, VALUES

KEY = QUERY.replace("query", "key")
WORDS = "embeddings.word_embeddings.weight"

Tensors = dict[str, np.ndarray]


@pytest.fixture(scope="session")
def stored(tiny_bert_folder: Path) -> Tensors:
    """Return the tensors of the tiny BERT."""
    return load_file(tiny_bert_folder / "model.safetensors")


def test_all_views_of_a_parameter(tiny: TensorHarness, stored: Tensors) -> None:
    tiny.parameter(QUERY)
    values = stored[QUERY]
    assert tiny.tensor_title() == "query.weight · [32, 32]  float32 · from model.safetensors"
    assert tiny.shape() == (32, 32)
    tiny.assert_cell(7, 9, values[7, 9])
    tiny.values.setCurrentIndex(tiny.values.model().index(7, 9))
    assert tiny.status().startswith(f"[7, 9] = {values[7, 9]:.7g}".replace("-", "−"))

    tiny.show_view(HEATMAP)
    heatmap = tiny.find(RegionHeatmap, "tensorHeatmap")
    assert heatmap.chart is not None
    assert_array_equal(heatmap.chart.values, values)
    heatmap.zoomed.emit(0.5, 0.5, 2)
    tiny.settle()
    assert_array_equal(heatmap.chart.values, values[9:23, 9:23])
    heatmap.dragged.emit(0.5, 1.0)
    tiny.settle()
    assert (heatmap.chart.rows[0], heatmap.chart.columns[0]) == ("0", "2")
    tiny.click("heatmapAll")
    assert heatmap.chart.values.shape == (32, 32)

    tiny.show_view(HISTOGRAM)
    bars = tiny.find(HistogramPlot, "tensorHistogram").chart
    assert bars is not None
    assert_array_equal(bars.series[0].counts, np.histogram(values, 64)[0])
    mean = float(tiny.facts("tensorStatistics")["mean"].replace("−", "-"))
    assert mean == pytest.approx(values.mean(dtype=float), rel=1e-4)

    tiny.show_view(SPECTRUM)
    lines = tiny.find(SpectrumPlot, "spectrumPlot").chart
    assert lines is not None
    expected = np.linalg.svd(values.astype(float), compute_uv=False)
    assert_allclose(np.array(lines.lines[0].values, dtype=float), expected, rtol=1e-9)
    assert tiny.facts("spectrumFacts")["rank"] == "32 of 32"
    largest = float(tiny.facts("spectrumFacts")["largest"])
    assert largest == pytest.approx(expected[0], rel=1e-6)

    tiny.show_view(NORMS)
    norms = tiny.find(QTableView, "normsTable").model()
    norms.sort(2, Qt.SortOrder.DescendingOrder)
    assert norms.index(0, 0).data() == str(np.linalg.norm(values, axis=1).argmax())


def test_a_head_is_a_slice_in_every_view_and_layer(tiny: TensorHarness, stored: Tensors) -> None:
    tiny.parameter(QUERY)
    tiny.choose("headChoice", "head 2")
    assert tiny.shape() == (8, 32)
    assert " · [8, 32] of [32, 32] " in tiny.tensor_title()
    assert tiny.row_titles()[0] == "16"
    tiny.assert_cell(3, 5, stored[QUERY][19, 5])
    tiny.show_view(SPECTRUM)
    plot = tiny.find(SpectrumPlot, "spectrumPlot")
    assert plot.chart is not None
    assert len(plot.chart.lines[0].values) == 8
    tiny.select("encoder.layer.0.attention.self.query")
    other = stored["encoder.layer.0.attention.self.query.weight"][16:24].astype(float)
    assert plot.chart.lines[0].values[0] == pytest.approx(np.linalg.norm(other, 2))
    tiny.select("embeddings.dropout")  # has no tensors
    assert tiny.find(Inspector).isHidden()


def test_the_head_is_the_one_selected_in_the_window(tiny: TensorHarness, stored: Tensors) -> None:
    tiny.select(head=1)
    tiny.parameter(QUERY)
    for head in (1, 3):
        tiny.select(head=head)
        assert tiny.chosen("headChoice") == f"head {head}"
        tiny.assert_cell(0, 0, stored[QUERY][8 * head, 0])
    tiny.choose("headChoice", "head 2")
    assert tiny.place.head == 2
    # All heads are shown, of other tensors too, until another head is selected.
    tiny.choose("headChoice", "all heads")
    assert tiny.place.head == 2
    tiny.parameter(KEY)
    assert tiny.chosen("headChoice") == "all heads"
    assert tiny.shape() == (32, 32)
    # A hidden tab requests nothing, and shows the selected head afterwards.
    tiny.widget.hide()
    tiny.workspace.selection.go(SelectionKey(head=0))
    assert not tiny.workspace.jobs.worker.busy
    tiny.widget.show()
    tiny.settle()
    assert tiny.chosen("headChoice") == "head 0"
    assert tiny.shape() == (8, 32)


def test_the_largest_tensor_is_shown_until_the_user_chooses_or_closes(tiny: TensorHarness) -> None:
    assert tiny.tensor_title().startswith("word_embeddings.weight")
    tiny.select("encoder.layer.1.attention.self")
    assert tiny.tensor_title().startswith("query.weight")
    tiny.parameter(KEY.replace("weight", "bias"))
    tiny.select("encoder.layer.0.attention.self.key")
    assert tiny.tensor_title().startswith("key.bias")
    tiny.click("closeTensor")
    tiny.select("pooler")
    assert tiny.find(Inspector).isHidden()
    tiny.parameter("pooler.dense.bias")
    tiny.select("embeddings.LayerNorm")
    assert tiny.tensor_title().startswith("LayerNorm.bias")


def test_a_view_can_be_chosen_before_the_values_are_read(tiny: TensorHarness) -> None:
    tiny.workspace.selection.select(QUERY.rpartition(".")[0])
    tiny.find(QToolButton, f"tensorView{HEATMAP}").click()
    tiny.settle()
    assert tiny.find(RegionHeatmap).isVisible()


def test_rows_of_the_vocabulary_are_found_by_their_tokens(
    tiny: TensorHarness, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    tiny.parameter(WORDS)
    assert "1 tensor, 6,400 elements" in tiny.texts()
    row = (tiny_bert_folder / "vocab.txt").read_text().split().index("cat")
    title = tiny.values.model().headerData(row, Qt.Orientation.Vertical)
    assert title == f"{row:\u2007>3}  cat"  # figure spaces align the tokens
    edit = tiny.find(QLineEdit, "goToRow")
    for text, current, status in (
        ("cat", row, f"cat  [{row}, 0] = "),
        ("12", 12, ""),
        ("200", 12, "No row 200: rows range from 0 to 199"),
        ("nothing", 12, "No token starts with nothing"),
    ):
        edit.setText(text)
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        assert tiny.values.currentIndex().row() == current
        assert tiny.status().startswith(status)


def test_values_are_copied_and_saved(
    tiny: TensorHarness, stored: Tensors, qtbot: QtBot, tmp_path: Path
) -> None:
    tiny.parameter(QUERY)
    tiny.values.setCurrentIndex(tiny.values.model().index(3, 4))
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right):
        qtbot.keyClick(tiny.values, key, Qt.KeyboardModifier.ShiftModifier)
    tiny.values.actions()[0].trigger()
    lines = [line.split("\t") for line in QApplication.clipboard().text().split("\n")]
    assert_array_equal(np.array(lines, dtype=np.float32), stored[QUERY][3:5, 4:6])
    button, file = tiny.find(SaveButton), tmp_path / "query.npy"
    saved: list[str] = []
    tiny.workspace.saved.connect(saved.append)
    button.save(file)
    tiny.settle()
    assert saved == [str(file)]
    assert_array_equal(np.load(file), stored[QUERY])
    button.save(tmp_path / "missing" / "query.npy")
    assert "no such folder:" in shown_error(tiny.window).text()


def test_a_vector_has_values_but_no_picture(tiny: TensorHarness) -> None:
    tiny.parameter("embeddings.LayerNorm.weight")
    assert tiny.shape() == (32, 1)
    assert tiny.cell(31, 0) == "1.000000"
    for number, words in ((HEATMAP, "A vector has no heatmap"), (SPECTRUM, "one singular value")):
        tiny.show_view(number)
        (notice,) = tiny.notices()
        assert words in notice


def test_random_weights_have_values_after_the_first_run(
    open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    open_model(tiny_bert_folder / "config.json")
    tab = TensorHarness(workspace, qtbot)
    tab.parameter(QUERY)
    (notice,) = tab.notices()
    assert notice.startswith("This model has no weights.")
    assert not tab.has_values()
    tab.run("the cat")
    assert tab.has_values()
    assert tab.tensor_title().startswith("Random weights · query.weight")
    assert tab.shape() == (32, 32)


def test_another_model_shows_its_largest_tensor(
    tiny: TensorHarness, open_model: Callable[..., object], tiny_bert_folder: Path
) -> None:
    tiny.parameter(QUERY)
    open_model(tiny_bert_folder, "masked-lm")
    assert tiny.tensor_title().startswith("word_embeddings.weight")
    assert tiny.shape() == (200, 32)


def press(tab: TensorHarness, title: str) -> None:
    """Click the visible button below a message."""
    buttons = tab.widget.findChildren(QPushButton, "tensorNoticeAction")
    (button,) = (button for button in buttons if button.isVisible())
    assert button.text() == title
    button.click()


def test_what_takes_long_is_computed_on_request(
    tiny: TensorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plot_pages, "MAX_COST", 1000)
    tiny.parameter(QUERY)
    tiny.show_view(SPECTRUM)
    (notice,) = tiny.notices()
    assert notice.startswith("Computing the singular values of 32 × 32 elements takes about")
    assert tiny.find(SpectrumPlot, "spectrumPlot").chart is None
    press(tiny, "Compute anyway")
    tiny.settle()
    assert tiny.find(SpectrumPlot, "spectrumPlot").chart is not None
    assert tiny.notices() == []


def test_a_computation_can_be_cancelled_and_started_again(tiny: TensorHarness) -> None:
    tiny.parameter(QUERY)
    tiny.find(QToolButton, f"tensorView{NORMS}").click()
    (waiting,) = (r for r in tiny.widget.findChildren(Request) if r.is_waiting)
    waiting.late.emit()  # before the event loop can run the job
    assert tiny.notices() == ["Computing…"]
    waiting.progressed.emit(3, 10)
    bar = tiny.find(QProgressBar, "tensorNoticeProgress")
    assert (bar.value(), bar.maximum()) == (3, 10)
    press(tiny, "Cancel")
    tiny.settle()
    assert tiny.notices() == ["Cancelled."]
    press(tiny, "Compute")
    tiny.settle()
    assert tiny.notices() == []
    assert tiny.find(QTableView, "normsTable").model().rowCount() == 32


@pytest.fixture
def copied(
    open_model: Callable[..., object],
    workspace: Workspace,
    qtbot: QtBot,
    tiny_bert_folder: Path,
    tmp_path: Path,
) -> tuple[TensorHarness, Path]:
    """Return the tab of a copy of the tiny BERT with NaN and Inf, and its weights file."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    file = folder / "model.safetensors"
    tensors = load_file(file)
    tensors[QUERY][2, 3], tensors[QUERY][4, 5] = np.nan, np.inf
    save_file(tensors, file, metadata={"format": "pt"})
    open_model(folder)
    return TensorHarness(workspace, qtbot), file


def test_elements_that_are_not_finite_are_excluded_and_counted(
    copied: tuple[TensorHarness, Path],
) -> None:
    tab, _ = copied
    tab.parameter(QUERY)
    tab.show_view(HEATMAP)
    assert "each cell, excluding 2 NaN or Inf" in tab.texts()


def test_a_truncated_file_is_an_error_in_every_view(copied: tuple[TensorHarness, Path]) -> None:
    tab, file = copied
    tab.parameter(QUERY)
    with file.open("r+b") as opened:
        opened.truncate(40_000)
    for number in (HEATMAP, SPECTRUM, NORMS):
        tab.show_view(number)
        (notice,) = tab.notices()
        assert f"ends in the middle of {QUERY}" in notice
    tab.show_view(VALUES)  # which have been read
    tab.parameter(KEY)
    assert tab.values.model().index(0, 0).data() is None
    assert "ends in the middle of" in tab.status()
