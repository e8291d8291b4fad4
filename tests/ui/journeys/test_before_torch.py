"""The window with a model that was seen before, while torch is still being imported."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QLabel, QPushButton, QStatusBar, QTableView, QToolButton, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.cached_models import ModelSpec, store_spec
from bertviewer.core.loading.opening import open_model
from bertviewer.core.saving import disk_cache
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util import libraries
from bertviewer.core.util.libraries import Import
from bertviewer.core.util.progress import no_progress
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.source_view import SourceView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.heatmap_page import HeatmapPage
from bertviewer.ui.tensors.plot_pages import HistogramPage
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn, last_run, show_tab
from tests.ui.tensors.tensor_tab import HEATMAP, HISTOGRAM, QUERY, choose, show_view

FOLLOWS = "Loading torch and transformers… Your run will follow."


@pytest.fixture
def seen(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a model that was seen before, with its formulas."""
    monkeypatch.setattr(disk_cache, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    open_model(parse_source(str(tiny_bert_folder))).with_formulas()
    return tiny_bert_folder


@pytest.fixture
def may_import(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Have the import of the libraries, which the tests have done, wait for this."""
    may_import = threading.Event()

    def held() -> None:
        assert may_import.wait(OPEN_TIMEOUT / 1000)

    monkeypatch.setattr(libraries, "shared_import", Import(held))
    yield may_import
    may_import.set()
    if libraries.are_loading():
        libraries.shared_import.wait(no_progress)


@pytest.fixture
def opened(
    seen: Path, may_import: threading.Event, window: MainWindow, worker: Worker, qtbot: QtBot
) -> MainWindow:
    """Return the window with the model in it, waiting for the libraries."""
    window.open_named(str(seen))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    assert not libraries.are_loaded()
    return window


def loaded(window: MainWindow, may_import: threading.Event, worker: Worker, qtbot: QtBot) -> None:
    """Let the libraries come, and wait for all that follows; each test ends with it."""
    may_import.set()
    qtbot.waitUntil(lambda: bool(window.workspace.devices), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: is_at_rest(window, worker), timeout=OPEN_TIMEOUT)
    assert libraries.are_loaded()


def is_at_rest(window: MainWindow, worker: Worker) -> bool:
    return (
        not worker.busy
        and not window.workspace.jobs.activity
        and not window.workspace.deferred.pending
    )


def texts(window: MainWindow) -> list[str]:
    return [label.text() for label in window.findChildren(QLabel)]


def message(window: MainWindow) -> str:
    return find(window, QStatusBar).currentMessage()


def test_the_tree_its_formulas_and_its_overview_are_there(
    opened: MainWindow, may_import: threading.Event, worker: Worker, qtbot: QtBot
) -> None:
    architecture = opened.workspace.architecture
    assert architecture is not None
    assert architecture.costs is not None
    assert not opened.workspace.is_deriving
    tree = find(opened, QTreeView, "moduleTree").model()
    assert tree.index(0, 0).data() == "BertModel"
    # What describes a module comes when the tree has been drawn.
    qtbot.waitUntil(lambda: "Parameter count" in texts(opened))
    assert "deriving…" not in texts(opened)
    assert not libraries.are_loaded()
    loaded(opened, may_import, worker, qtbot)
    assert opened.workspace.architecture is architecture


def test_values_are_read_at_once_and_what_torch_computes_comes_later(
    opened: MainWindow, may_import: threading.Event, worker: Worker, qtbot: QtBot
) -> None:
    show_tab(opened, "Tensors")
    opened.workspace.selection.select(QUERY.rpartition(".")[0])
    table = find(opened, QTableView, "tensorTable")
    table.selectRow(0)
    qtbot.waitUntil(lambda: bool(opened.findChildren(QTableView, "valuesTable")))
    values = find(opened, QTableView, "valuesTable")
    qtbot.waitUntil(lambda: values.model() is not None and values.model().rowCount() == 32)
    assert values.model().index(0, 0).data()
    assert not libraries.are_loaded()
    find(opened, QToolButton, f"tensorView{HEATMAP}").click()
    qtbot.waitUntil(lambda: find(opened, HeatmapPage).request.result is not None)
    assert not libraries.are_loaded()
    find(opened, QToolButton, f"tensorView{HISTOGRAM}").click()
    find(opened, QToolButton, "tensorView0").click()  # nothing of it holds up what needs no torch
    table.selectRow(1)
    title = find(opened, QLabel, "tensorTitle")
    qtbot.waitUntil(lambda: "query.bias" in title.text())
    assert values.model().index(0, 0).data()
    assert not libraries.are_loaded()
    loaded(opened, may_import, worker, qtbot)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    choose(opened, worker, qtbot, QUERY)
    show_view(opened, worker, qtbot, HISTOGRAM)
    result = find(opened, HistogramPage).request.result
    assert result is not None
    assert result[0].count == 32 * 32


def test_a_run_waits_is_announced_and_comes(
    opened: MainWindow, may_import: threading.Event, worker: Worker, qtbot: QtBot
) -> None:
    opened.set_sentence("the cat", None)
    find(opened, QPushButton, "runButton").click()
    assert message(opened) == FOLLOWS
    # What the worker tells of its waiting does not take its place.
    labels: list[str] = []
    opened.workspace.jobs.progressed.connect(lambda _done, _total, label: labels.append(label))
    qtbot.waitUntil(lambda: libraries.LABEL in labels, timeout=OPEN_TIMEOUT)
    assert message(opened) == FOLLOWS
    assert opened.workspace.runs.run is None
    may_import.set()
    qtbot.waitUntil(lambda: is_drawn(opened), timeout=OPEN_TIMEOUT)
    assert len(last_run(opened).tokens) == 4
    assert message(opened) == ""
    loaded(opened, may_import, worker, qtbot)


def test_waiting_can_be_cancelled(
    opened: MainWindow, may_import: threading.Event, worker: Worker, qtbot: QtBot
) -> None:
    opened.set_sentence("the cat", None)
    find(opened, QPushButton, "runButton").click()
    find(opened, QPushButton, "cancelButton").click()
    qtbot.waitUntil(lambda: not opened.workspace.jobs.activity, timeout=OPEN_TIMEOUT)
    assert not libraries.are_loaded()
    assert message(opened) == ""
    find(opened, QPushButton, "runButton").click()
    may_import.set()
    qtbot.waitUntil(lambda: is_drawn(opened), timeout=OPEN_TIMEOUT)
    loaded(opened, may_import, worker, qtbot)


def test_the_source_of_a_class_comes_with_the_libraries(
    opened: MainWindow,
    may_import: threading.Event,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("bertviewer.ui.module.source_tab.source_of", lambda *_: ())
        show_tab(opened, "Source")
    texts = [label.text() for label in opened.findChildren(QLabel)]
    assert "The source will be shown once torch and transformers are loaded." in texts
    loaded(opened, may_import, worker, qtbot)
    assert find(opened, SourceView, "sourceView").toPlainText().count("class BertModel(") == 1


def test_what_was_remembered_wrongly_is_put_right(
    seen: Path, window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    source = parse_source(str(seen), "base")
    model = open_model(source)
    lie = tuple(replace(node, class_name="Another") for node in model.architecture.modules)
    lying = ModelSpec(source, replace(model.architecture, modules=lie), model.tasks)
    assert source.config_file is not None
    store_spec(lying, read_configuration(source.config_file))
    shown: list[str] = []
    workspace = window.workspace

    def note() -> None:
        assert workspace.architecture is not None
        shown.append(workspace.architecture.root.class_name)

    workspace.architecture_changed.connect(note)
    confirmed: list[bool] = []
    workspace.confirmed.connect(lambda: confirmed.append(True))
    window.open_named(str(seen))
    qtbot.waitUntil(lambda: bool(confirmed), timeout=OPEN_TIMEOUT)
    assert shown == ["Another", "BertModel"]
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert workspace.architecture is not None
    assert workspace.architecture.costs is not None  # derived anew
    assert open_model(source).architecture.root.class_name == "BertModel"


@pytest.fixture
def no_import(seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the import of the libraries fail, once the model has been seen."""

    def fail() -> None:
        raise ImportError("libtorch_cpu.so: cannot open shared object file")

    monkeypatch.setattr(libraries, "shared_import", Import(fail))


@pytest.mark.usefixtures("no_import")
def test_libraries_that_cannot_be_imported_are_told_and_the_rest_stays(
    seen: Path, window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    failures: list[BaseException] = []
    window.workspace.jobs.errored.connect(failures.append)
    window.open_named(str(seen))
    qtbot.waitUntil(lambda: bool(failures), timeout=OPEN_TIMEOUT)
    assert "cannot open shared object file" in str(failures[0])
    assert window.workspace.architecture is not None
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    show_tab(window, "Tensors")
    choose(window, worker, qtbot, QUERY)
    assert find(window, QTableView, "valuesTable").model().index(0, 0).data()
    show_view(window, worker, qtbot, HISTOGRAM)
    assert not find(window, HistogramPage).request.error
