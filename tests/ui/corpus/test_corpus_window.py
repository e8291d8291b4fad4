"""A corpus beside its model: opened by its folder, and led by what is selected."""

from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QFileDialog, QTableView, QTabWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.place import Place
from bertviewer.core.corpus.choices import Choices
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.making import CorpusWish, make_corpus
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import no_progress
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.corpus.window import CorpusWindow
from bertviewer.ui.elided_label import ElidedLabel
from bertviewer.ui.main_window import MainWindow
from tests.ui.finding import find

LINES = "The bank of the river was steep.\nA sentence.\n\nThe cat sat on the mat.\n"


@pytest.fixture(scope="module")
def corpus(
    opened_demo: LoadedModel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Corpus]:
    place = tmp_path_factory.mktemp("corpus")
    data = place / "lines.txt"
    data.write_text(LINES, encoding="utf-8")
    wish = CorpusWish((data,), Choices(), place / "out", "")
    found = make_corpus(opened_demo, wish, no_progress)
    assert found is not None
    return place / "out", found


def shown(window: MainWindow, folder: Path, qtbot: QtBot) -> CorpusWindow:
    window.show()
    window.opening.open_named(str(folder))
    qtbot.waitUntil(lambda: bool(window.findChildren(CorpusWindow)))
    return find(window, CorpusWindow)


def test_a_corpus_is_shown(
    demo_window: MainWindow, corpus: tuple[Path, Corpus], qtbot: QtBot
) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    assert demo_window.workspace.architecture is not None
    head = find(window, ElidedLabel, "corpusHead")
    tokens = f"{found.tokens:,}"
    assert head.text() == f"3 sentences · {tokens} tokens · lines.txt · 1 left out"
    tabs = find(window, QTabWidget, "corpusTabs")
    titles = [tabs.tabText(number) for number in range(tabs.count())]
    assert titles == ["Layers", "Values", "Heads", "Outlier features"]

    lines = find(window, LinePlot, "corpusLayers").chart
    assert lines is not None
    last = found.of("encoder.layer.5")
    assert last is not None
    assert lines.lines[0].values[5:] == last.quantiles((0.5,))

    heads = find(window, GridPlot, "corpusHeads").chart
    assert heads is not None
    assert heads.values.tolist() == [one.entropy.tolist() for one in found.heads.values()]
    find(window, QComboBox, "corpusMeasure").setCurrentIndex(1)
    heads = find(window, GridPlot, "corpusHeads").chart
    assert heads is not None
    assert heads.values.tolist() == [one.distance.tolist() for one in found.heads.values()]

    model = find(window, QTableView, "corpusOutliers").model()
    assert model.rowCount() > 0
    assert model.index(0, 1).data() == "100.0%"
    window.close()


def test_values_are_those_of_the_selected_module(
    demo_window: MainWindow, corpus: tuple[Path, Corpus], qtbot: QtBot
) -> None:
    folder, found = corpus
    window = shown(demo_window, folder, qtbot)
    plot = find(window, HistogramPlot, "corpusValues")
    path = "encoder.layer.2.intermediate"
    demo_window.workspace.selection.go(Place(path))
    wanted = found.of(path)
    assert wanted is not None
    qtbot.waitUntil(
        lambda: plot.chart is not None and plot.chart.series[0].mean == wanted.statistics.mean
    )
    window.close()


def test_a_corpus_without_its_model(
    window: MainWindow,
    corpus: tuple[Path, Corpus],
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        "bertviewer.ui.corpus.opening.show_error", lambda _window, text: told.append(text)
    )
    window.opening.open_named(str(corpus[0]))
    qtbot.waitUntil(lambda: bool(told))
    assert told[0].endswith("is a corpus, which is shown beside its model: open that first")


def test_many_sentences_are_run_stopped_and_gone_on_with(
    demo_window: MainWindow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    window, folder = demo_window, tmp_path / "out"
    window.show()
    data = tmp_path / "lines.txt"
    data.write_text(LINES * 60, encoding="utf-8")
    folder.mkdir()
    chosen = ([str(data)], "")
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: chosen)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    scheduler = window.workspace.scheduler

    def cancel(done: int, _total: int, label: str) -> None:
        if scheduler.activity == "corpus" and label.startswith("Sentence"):
            scheduler.cancel()

    scheduler.progressed.connect(cancel)
    with qtbot.waitSignal(scheduler.cancelled) as stopped:
        find(window, QAction, "runCorpus").trigger()
    assert stopped.args == ["corpus"]
    scheduler.progressed.disconnect(cancel)
    assert not window.findChildren(CorpusWindow)

    find(window, QAction, "runCorpus").trigger()
    qtbot.waitUntil(lambda: bool(window.findChildren(CorpusWindow)))
    head = find(find(window, CorpusWindow), ElidedLabel, "corpusHead")
    assert head.text().startswith("180 sentences")
    assert sorted(file.name for file in folder.iterdir()) == [
        *("features.safetensors", "manifest.json", "statistics.parquet")
    ]
    find(window, CorpusWindow).close()
