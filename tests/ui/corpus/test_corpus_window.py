"""Window of a corpus: pages that follow the selection and select what is clicked."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QTableView, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.corpus.corpus import Corpus, outlier_rows
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.corpus.controller import CorpusController
from bertviewer.ui.corpus.window import CorpusWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.facts import FactsView
from bertviewer.ui.widgets.labels import Badge, ElidedLabel
from tests.ui.corpus.conftest import window_of
from tests.ui.direct_worker import settle
from tests.ui.finding import find, shown_error
from tests.ui.harness import Harness
from tests.ui.run.view_harness import RunHarness


class CorpusHarness(RunHarness):
    """The window."""

    @property
    def tabs(self) -> QTabWidget:
        return self.find(QTabWidget, "corpusTabs")

    def bring(self, title: str) -> None:
        titles = [self.tabs.tabText(number) for number in range(self.tabs.count())]
        self.tabs.setCurrentIndex(titles.index(title))

    def rows(self, table: str) -> list[tuple[str, str]]:
        model = self.find(QTableView, table).model()
        return [
            (model.index(row, 0).data(), model.index(row, 1).data())
            for row in range(model.rowCount())
        ]


@pytest.fixture
def shown(
    controller: CorpusController,
    corpus: tuple[Path, Corpus],
    workspace: Workspace,
    qtbot: QtBot,
) -> CorpusHarness:
    """Return the window of the corpus."""
    controller.open(str(corpus[0]))
    settle(workspace)
    return CorpusHarness(find(window_of(controller), CorpusWindow), workspace, qtbot)


@pytest.fixture
def found(corpus: tuple[Path, Corpus]) -> Corpus:
    return corpus[1]


def test_head_and_details(shown: CorpusHarness, found: Corpus) -> None:
    head = shown.find(ElidedLabel, "corpusHead").text()
    assert head == f"3 sentences · {found.tokens:,} tokens · lines.txt · 1 line skipped"
    assert shown.find(Badge, "corpusWeights").isHidden()
    titles = [shown.tabs.tabText(number) for number in range(shown.tabs.count())]
    assert titles == ["Layers", "Values", "Heads", "Outlier features", "Details"]
    shown.bring("Details")
    facts = shown.find(FactsView, "corpusOrigin").findChildren(QLabel)
    assert {label.text() for label in facts} >= {
        *("lines.txt, line 3", "it is empty", "Base model, no head"),
    }
    command = shown.find(QLineEdit, "corpusCommand")
    assert command.text() == "bertviewer corpus demo lines.txt -o out"
    shown.click("corpusCommandCopy")
    assert QGuiApplication.clipboard().text() == command.text()


def test_layers(shown: CorpusHarness, found: Corpus) -> None:
    plot, last = shown.find(LinePlot, "corpusLayers"), found.of("encoder.layer.5")
    assert last is not None
    assert plot.chart is not None
    assert plot.chart.lines[0].values[5:] == last.quantiles((0.5,))
    assert plot.chart.lines[0].high is not None
    assert plot.chart.lines[0].high[5:] == last.quantiles((0.95,))
    shown.select("encoder.layer.2.attention.self")
    labels = ["encoder.layer: output", "encoder.layer: attention.self"]
    assert [line.label for line in plot.chart.lines] == labels
    shown.choose("corpusStatistic", "std")
    assert plot.chart.lines[0].values[5] == last.statistics.std


def test_values_of_the_selected_module(shown: CorpusHarness, found: Corpus) -> None:
    shown.bring("Values")
    plot, path = shown.find(HistogramPlot, "corpusValues"), "encoder.layer.2.intermediate"
    shown.select(path)
    values = found.of(path)
    assert values is not None
    assert plot.chart is not None
    assert plot.chart.series[0].mean == values.statistics.mean
    rows = dict(shown.rows("corpusStatistics"))
    assert rows["elements"] == f"{values.count:,}"
    assert "99% quantile" in rows
    assert shown.items("corpusTokens") == ["all tokens", "content", "start tokens", "separators"]
    shown.choose("corpusTokens", "separators")
    (separators,) = (row for row in found.rows if (row.path, row.token_class) == (path, "sep"))
    assert plot.chart.series[0].mean == separators.statistics.mean
    shown.select("encoder.layer")
    message = "No values of encoder.layer were recorded at these tokens. Select another module."
    assert shown.messages() == [message]


def test_heads_are_selected_by_clicks_and_buttons(shown: CorpusHarness, found: Corpus) -> None:
    shown.bring("Heads")
    grid = shown.find(Heatmap, "corpusHeads")
    entropy = np.array([each.entropy for each in found.heads.values()])
    assert grid.chart is not None
    assert grid.chart.values.tolist() == entropy.tolist()
    for button, number in (("corpusHighest", entropy.argmax()), ("corpusLowest", entropy.argmin())):
        layer, head = divmod(int(number), entropy.shape[1])
        shown.click(button)
        path = f"encoder.layer.{layer}.attention.self"
        assert (shown.place.path, shown.place.head) == (path, head)
        rows, columns = grid.chosen(grid.chart)
        assert (list(rows), list(columns)) == ([layer], [head])
    grid.go_to((4, 3))
    assert (shown.place.path, shown.place.head) == ("encoder.layer.4.attention.self", 3)
    shown.choose("corpusMeasure", "distance")
    distance = [each.distance.tolist() for each in found.heads.values()]
    assert grid.chart.values.tolist() == distance


def test_outlier_features(shown: CorpusHarness, found: Corpus, qtbot: QtBot) -> None:
    shown.bring("Outlier features")
    rows, table = outlier_rows(found), shown.find(QTableView, "corpusOutliers")
    assert len(shown.rows("corpusOutliers")) == len(rows) > 0
    assert shown.rows("corpusOutliers")[0][1] == "100.0%"
    table.selectRow(1)
    qtbot.keyClick(table, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert shown.place.feature == rows[0].feature
    chart = shown.find(Heatmap, "corpusOutlierGrid").chart
    assert chart is not None
    assert found.outliers is not None
    shares = found.outliers.sentences[:, rows[0].feature] / 3
    assert chart.values[:, 0].tolist() == shares.tolist()


def test_two_corpora(
    shown: CorpusHarness, corpus: tuple[Path, Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = corpus
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    shown.click("corpusCompare")
    assert shown.tabs.tabText(shown.tabs.currentIndex()) == "Compared with out"
    rows = shown.rows("comparedFigures")
    assert len(rows) == len(found.features)
    assert {difference for _, difference in rows} == {"0.0000"}
    shown.choose("comparedCorpora", "heads")
    assert len(shown.rows("comparedFigures")) == 72
    shown.choose("comparedCorpora", "outlier features")
    model = shown.find(QTableView, "comparedFigures").model()
    assert model.index(0, 1).data() == model.index(0, 2).data()


def test_the_window_closes_with_its_model_and_on_escape(
    shown: CorpusHarness,
    controller: CorpusController,
    corpus: tuple[Path, Corpus],
    open_model: Callable[..., object],
    qtbot: QtBot,
) -> None:
    workspace, parent = shown.workspace, window_of(controller)

    def is_closed() -> bool:
        return not parent.findChildren(CorpusWindow)

    workspace.architecture_changed.emit(workspace.architecture)  # as after a run
    assert shown.widget.isVisible()
    qtbot.keyClick(shown.widget, Qt.Key.Key_Escape)
    qtbot.waitUntil(is_closed)
    assert not controller.folder
    controller.open(str(corpus[0]))
    shown.settle()
    assert controller.folder == str(corpus[0])
    open_model("demo", "masked-lm")
    qtbot.waitUntil(is_closed)


def test_a_corpus_needs_its_model(
    workspace: Workspace, corpus: tuple[Path, Corpus], qtbot: QtBot
) -> None:
    window = Harness(QWidget(), workspace, qtbot).window
    CorpusController(workspace, window).open(str(corpus[0]))
    assert shown_error(window).text().endswith("is a corpus. Open its model first.")
