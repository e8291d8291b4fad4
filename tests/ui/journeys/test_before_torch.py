"""Journeys with a known model while torch is still being imported, or cannot be."""

import shutil
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


@pytest.fixture(scope="module")
def filled_cache(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache with the structure and formulas of the tiny BERT."""
    cache = tmp_path_factory.mktemp("filled") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_cache, "user_cache_path", lambda *_, **__: cache)
        open_model(parse_source(str(tiny_bert_folder))).with_formulas()
    return cache


@pytest.fixture
def known(
    tiny_bert_folder: Path, filled_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return the folder of a model whose structure and formulas are cached."""
    cache = shutil.copytree(filled_cache, tmp_path / "cache")
    monkeypatch.setattr(disk_cache, "user_cache_path", lambda *_, **__: cache)
    return tiny_bert_folder


@pytest.fixture
def may_import(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Return an event that the import of torch and transformers waits for."""
    may_import = threading.Event()

    def wait() -> None:
        assert may_import.wait(OPEN_TIMEOUT / 1000)

    monkeypatch.setattr(libraries, "shared_import", Import(wait))
    yield may_import
    may_import.set()
    if libraries.are_loading():
        libraries.shared_import.wait(no_progress)


@pytest.fixture
def opened(
    known: Path, may_import: threading.Event, window: MainWindow, qtbot: QtBot
) -> MainWindow:
    """Return the window with the model, waiting for torch."""
    window.open_named(str(known))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    assert not libraries.are_loaded()
    return window


def finish(window: MainWindow, may_import: threading.Event, worker: Worker, qtbot: QtBot) -> None:
    """Let torch be imported, and wait for everything that follows; each test ends with it."""
    workspace = window.workspace
    may_import.set()
    qtbot.waitUntil(lambda: bool(workspace.devices), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(
        lambda: not (worker.busy or workspace.jobs.activity or workspace.deferred.pending),
        timeout=OPEN_TIMEOUT,
    )
    assert libraries.are_loaded()


def texts(window: MainWindow) -> list[str]:
    return [label.text() for label in window.findChildren(QLabel)]


def test_structure_formulas_and_values_need_no_torch(
    opened: MainWindow,
    may_import: threading.Event,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    architecture = opened.workspace.architecture
    assert architecture is not None
    assert architecture.costs is not None
    assert not opened.workspace.is_deriving
    assert find(opened, QTreeView, "moduleTree").model().index(0, 0).data() == "BertModel"
    qtbot.waitUntil(lambda: "Parameter count" in texts(opened), timeout=OPEN_TIMEOUT)
    assert "deriving…" not in texts(opened)
    with monkeypatch.context() as patch:
        patch.setattr("bertviewer.ui.module.source_tab.source_of", lambda *_: ())
        show_tab(opened, "Source")
    message = "The source will be shown once torch and transformers are loaded."
    assert message in texts(opened)
    show_tab(opened, "Tensors")
    opened.workspace.selection.select(QUERY.rpartition(".")[0])
    table = find(opened, QTableView, "tensorTable")
    table.selectRow(0)
    qtbot.waitUntil(lambda: bool(opened.findChildren(QTableView, "valuesTable")))
    values = find(opened, QTableView, "valuesTable")
    qtbot.waitUntil(lambda: values.model() is not None and values.model().rowCount() == 32)
    assert values.model().index(0, 0).data()
    find(opened, QToolButton, f"tensorView{HEATMAP}").click()
    qtbot.waitUntil(lambda: find(opened, HeatmapPage).request.result is not None)
    # A histogram waits for torch, and what comes after it does not wait for that.
    find(opened, QToolButton, f"tensorView{HISTOGRAM}").click()
    find(opened, QToolButton, "tensorView0").click()
    table.selectRow(1)
    title = find(opened, QLabel, "tensorTitle")
    qtbot.waitUntil(lambda: "query.bias" in title.text())
    assert values.model().index(0, 0).data()
    assert not libraries.are_loaded()
    finish(opened, may_import, worker, qtbot)
    assert opened.workspace.architecture is architecture
    choose(opened, worker, qtbot, QUERY)
    show_view(opened, worker, qtbot, HISTOGRAM)
    result = find(opened, HistogramPage).request.result
    assert result is not None
    assert result[0].count == 32 * 32
    show_tab(opened, "Source")
    opened.workspace.selection.select("")
    assert find(opened, SourceView, "sourceView").toPlainText().count("class BertModel(") == 1


def test_a_run_is_announced_and_follows_unless_it_is_cancelled(
    opened: MainWindow, may_import: threading.Event, worker: Worker, qtbot: QtBot
) -> None:
    status, workspace = find(opened, QStatusBar), opened.workspace
    run, cancel = (find(opened, QPushButton, name) for name in ("runButton", "cancelButton"))
    opened.set_sentence("the cat", None)
    run.click()
    assert status.currentMessage() == FOLLOWS
    cancel.click()
    qtbot.waitUntil(lambda: not workspace.jobs.activity, timeout=OPEN_TIMEOUT)
    assert (status.currentMessage(), libraries.are_loaded()) == ("", False)
    run.click()
    labels: list[str] = []
    workspace.jobs.progressed.connect(lambda _done, _total, label: labels.append(label))
    qtbot.waitUntil(lambda: libraries.LABEL in labels, timeout=OPEN_TIMEOUT)
    assert status.currentMessage() == FOLLOWS  # not replaced by the worker's progress
    assert workspace.runs.run is None
    may_import.set()
    qtbot.waitUntil(lambda: is_drawn(opened), timeout=OPEN_TIMEOUT)
    assert len(last_run(opened).tokens) == 4
    assert status.currentMessage() == ""
    finish(opened, may_import, worker, qtbot)


def test_a_wrong_structure_in_the_cache_is_corrected(
    known: Path, window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    source = parse_source(str(known), "base")
    model = open_model(source)
    wrong = tuple(replace(node, class_name="Another") for node in model.architecture.modules)
    spec = ModelSpec(source, replace(model.architecture, modules=wrong), model.tasks)
    assert source.config_file is not None
    store_spec(spec, read_configuration(source.config_file))
    workspace = window.workspace
    shown: list[str] = []
    workspace.architecture_changed.connect(lambda found: shown.append(found.root.class_name))
    with qtbot.waitSignal(workspace.confirmed, timeout=OPEN_TIMEOUT):
        window.open_named(str(known))
    assert shown == ["Another", "BertModel"]
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert workspace.architecture is not None
    assert workspace.architecture.costs is not None  # derived again
    assert open_model(source).architecture.root.class_name == "BertModel"


def test_without_torch_the_rest_works(
    known: Path, window: MainWindow, worker: Worker, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    def fail() -> None:
        raise ImportError("libtorch_cpu.so: cannot open shared object file")

    monkeypatch.setattr(libraries, "shared_import", Import(fail))
    failures: list[BaseException] = []
    window.workspace.jobs.errored.connect(failures.append)
    window.open_named(str(known))
    qtbot.waitUntil(lambda: bool(failures), timeout=OPEN_TIMEOUT)
    assert "cannot open shared object file" in str(failures[0])
    assert window.workspace.architecture is not None
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    show_tab(window, "Tensors")
    choose(window, worker, qtbot, QUERY)
    assert find(window, QTableView, "valuesTable").model().index(0, 0).data()
    show_view(window, worker, qtbot, HISTOGRAM)
    assert not find(window, HistogramPage).request.error
