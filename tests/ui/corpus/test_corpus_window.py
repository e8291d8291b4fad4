"""Window of a corpus: its pages follow the selection, and select what is clicked."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableView,
    QTabWidget,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.corpus.corpus import Corpus, outlier_rows
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.corpus.window import CorpusWindow
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.widgets.facts import FactsView
from bertviewer.ui.widgets.labels import Badge, ElidedLabel
from tests.ui.corpus.corpora import shown
from tests.ui.finding import find

Made = tuple[Path, Corpus]


def bring(window: CorpusWindow, title: str) -> None:
    tabs = find(window, QTabWidget, "corpusTabs")
    (number,) = [n for n in range(tabs.count()) if tabs.tabText(n) == title]
    tabs.setCurrentIndex(number)


def test_a_corpus_is_shown(demo_window: MainWindow, corpus: Made, qtbot: QtBot) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    head = find(window, ElidedLabel, "corpusHead")
    tokens = f"{found.tokens:,}"
    assert head.text() == f"3 sentences · {tokens} tokens · lines.txt · 1 line skipped"
    assert find(window, Badge, "corpusWeights").isHidden()
    tabs = find(window, QTabWidget, "corpusTabs")
    titles = [tabs.tabText(number) for number in range(tabs.count())]
    assert titles == ["Layers", "Values", "Heads", "Outlier features", "Details"]
    window.close()


def test_layers_have_quantiles_and_statistics(
    demo_window: MainWindow, corpus: Made, qtbot: QtBot
) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    plot = find(window, LinePlot, "corpusLayers")
    last = found.of("encoder.layer.5")
    assert last is not None
    assert plot.chart is not None
    assert plot.chart.lines[0].values[5:] == last.quantiles((0.5,))
    assert plot.chart.lines[0].high is not None
    assert plot.chart.lines[0].high[5:] == last.quantiles((0.95,))
    demo_window.workspace.selection.go(SelectionKey("encoder.layer.2.attention.self"))
    labels = ["encoder.layer: output", "encoder.layer: attention.self"]
    assert [line.label for line in plot.chart.lines] == labels
    find(window, QComboBox, "corpusStatistic").setCurrentText("std")
    assert plot.chart.lines[0].values[5] == last.statistics.std
    window.close()


def test_values_are_those_of_the_selected_module(
    demo_window: MainWindow, corpus: Made, qtbot: QtBot
) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    bring(window, "Values")
    plot = find(window, HistogramPlot, "corpusValues")
    path = "encoder.layer.2.intermediate"
    demo_window.workspace.selection.go(SelectionKey(path))
    wanted = found.of(path)
    assert wanted is not None
    assert plot.chart is not None
    assert plot.chart.series[0].mean == wanted.statistics.mean
    table = find(window, QTableView, "corpusStatistics").model()
    rows = {
        table.index(row, 0).data(): table.index(row, 1).data() for row in range(table.rowCount())
    }
    assert rows["elements"] == f"{wanted.count:,}"
    assert "99% quantile" in rows
    tokens = find(window, QComboBox, "corpusTokens")
    assert [tokens.itemText(n) for n in range(tokens.count())] == [
        *("all tokens", "content", "start tokens", "separators")
    ]
    tokens.setCurrentText("separators")
    (separators,) = [row for row in found.rows if row.path == path and row.token_class == "sep"]
    assert plot.chart.series[0].mean == separators.statistics.mean
    window.close()


def test_what_was_not_measured_is_said(demo_window: MainWindow, corpus: Made, qtbot: QtBot) -> None:
    window = shown(demo_window, corpus[0], qtbot)
    bring(window, "Values")
    demo_window.workspace.selection.go(SelectionKey("encoder.layer"))
    messages = [label.text() for label in window.findChildren(QLabel, "chartMessage")]
    told = "No values of encoder.layer were recorded at these tokens. Select another module."
    assert told in messages
    window.close()


def test_heads_lead_to_themselves(demo_window: MainWindow, corpus: Made, qtbot: QtBot) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    bring(window, "Heads")
    grid = find(window, Heatmap, "corpusHeads")
    entropy = np.array([one.entropy for one in found.heads.values()])
    assert grid.chart is not None
    assert grid.chart.values.tolist() == entropy.tolist()
    selection = demo_window.workspace.selection
    layer, head = divmod(int(entropy.argmax()), entropy.shape[1])
    find(window, QToolButton, "corpusHighest").click()
    place = f"encoder.layer.{layer}.attention.self"
    assert (selection.place.path, selection.place.head) == (place, head)
    rows, columns = grid.chosen(grid.chart)
    assert (list(rows), list(columns)) == ([layer], [head])
    grid.go_to((4, 3))
    assert selection.place.path == "encoder.layer.4.attention.self"
    assert selection.place.head == 3
    find(window, QComboBox, "corpusMeasure").setCurrentText("distance")
    assert grid.chart.values.tolist() == [one.distance.tolist() for one in found.heads.values()]
    window.close()


def test_outlier_features_are_told_and_chosen(
    demo_window: MainWindow, corpus: Made, qtbot: QtBot
) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    bring(window, "Outlier features")
    table = find(window, QTableView, "corpusOutliers")
    rows = outlier_rows(found)
    assert table.model().rowCount() == len(rows) > 0
    assert table.model().index(0, 1).data() == "100.0%"
    table.setFocus()
    table.selectRow(1)
    qtbot.keyClick(table, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert demo_window.workspace.selection.feature == rows[0].feature
    grid = find(window, Heatmap, "corpusOutlierGrid").chart
    assert grid is not None
    assert found.outliers is not None
    assert grid.values[:, 0].tolist() == [
        count / 3 for count in found.outliers.sentences[:, rows[0].feature].tolist()
    ]
    window.close()


def test_what_was_run_can_be_read_and_copied(
    demo_window: MainWindow, corpus: Made, qtbot: QtBot
) -> None:
    window = shown(demo_window, corpus[0], qtbot)
    bring(window, "Details")
    facts = find(window, FactsView, "corpusOrigin")
    texts = [label.text() for label in facts.findChildren(QLabel)]
    for text in ("lines.txt, line 3", "it is empty", "Base model, no head"):
        assert text in texts
    command = find(window, QLineEdit, "corpusCommand")
    assert command.text() == "bertviewer corpus demo lines.txt -o out"
    find(window, QToolButton, "corpusCommandCopy").click()
    assert QGuiApplication.clipboard().text() == command.text()
    window.close()


def test_two_corpora_side_by_side(
    demo_window: MainWindow, corpus: Made, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    find(window, QPushButton, "corpusCompare").click()
    tabs = find(window, QTabWidget, "corpusTabs")
    qtbot.waitUntil(lambda: tabs.tabText(tabs.currentIndex()) == "Compared with out")
    table = find(window, QTableView, "comparedFigures").model()
    assert table.rowCount() == len(found.features)
    assert {table.index(row, 1).data() for row in range(table.rowCount())} == {"0.0000"}
    choice = find(window, QComboBox, "comparedCorpora")
    choice.setCurrentText("heads")
    assert table.rowCount() == 72
    choice.setCurrentText("outlier features")
    assert table.index(0, 1).data() == table.index(0, 2).data()
    window.close()


def test_it_stays_with_its_model(demo_window: MainWindow, corpus: Made, qtbot: QtBot) -> None:
    window = shown(demo_window, corpus[0], qtbot)
    demo_window.workspace.architecture_changed.emit(demo_window.workspace.architecture)
    assert window.isVisible()
    demo_window.workspace.open_head("masked-lm")
    qtbot.waitUntil(lambda: not demo_window.findChildren(CorpusWindow))


def test_keys_close_it(demo_window: MainWindow, corpus: Made, qtbot: QtBot) -> None:
    window = shown(demo_window, corpus[0], qtbot)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not demo_window.findChildren(CorpusWindow))
    assert not demo_window.corpora.folder


def test_a_corpus_without_its_model(
    window: MainWindow, corpus: Made, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        "bertviewer.ui.corpus.controller.show_error", lambda _window, text: told.append(text)
    )
    window.opening.open_named(str(corpus[0]))
    qtbot.waitUntil(lambda: bool(told))
    assert told[0].endswith("is a corpus. Open its model first.")
