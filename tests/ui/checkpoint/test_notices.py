"""The window says what qualifies a model's figures for as long as it is open."""

import json
import shutil
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtWidgets import QDialog, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.checkpoint.banner import NoticeBanner
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn


def opened(window: MainWindow, worker: Worker, qtbot: QtBot, path: Path) -> NoticeBanner:
    with qtbot.waitSignal(window.workspace.architecture_changed, timeout=OPEN_TIMEOUT):
        window.open_source(parse_source(str(path)))
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    return find(window, NoticeBanner, "noticeBanner")


def test_notices_are_shown_for_as_long_as_the_model_is_open(
    window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    own = {"position_embedding_type": "alibi", "auto_map": {"AutoModel": "own.<b>Own</b>"}}
    (folder / "config.json").write_text(json.dumps(config | own))
    banner = opened(window, worker, qtbot, folder)
    assert banner.isVisible()
    text = find(window, QLabel, "noticeBannerText").text()
    assert text.startswith("1 more: The configuration's auto_map names")
    find(window, QPushButton, "noticeBannerButton").click()
    dialog = find(window, QDialog, "noticeDialog")
    said = find(dialog, QLabel, "notices").text()
    assert "own.<b>Own</b>" in said
    assert 'position_embedding_type = "alibi"' in said
    dialog.reject()
    assert "alibi" in find(window, QLabel, "statusWeights").toolTip()
    window.panes.maximize("run")
    assert banner.isVisible()
    window.panes.maximize(None)
    banner = opened(window, worker, qtbot, tiny_bert_folder)
    assert not banner.isVisible()
    window.set_sentence("the cat", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)
    runs = window.workspace.runs
    assert runs.current is not None
    assert not banner.isVisible()
    source = replace(runs.current.run.source, notices=("Too long.",))
    runs.set_run(replace(runs.current, run=replace(runs.current.run, source=source)))
    runs.run_changed.emit()
    assert banner.isVisible()
    assert find(window, QLabel, "noticeBannerText").text() == "Too long."


def test_what_deriving_skips_is_said_when_it_is_known(demo_window: MainWindow) -> None:
    workspace, banner = demo_window.workspace, find(demo_window, NoticeBanner, "noticeBanner")
    assert workspace.architecture is not None
    assert not banner.isVisible()
    source = replace(workspace.architecture.source, notices=("No formulas: out of time.",))
    workspace.architecture = replace(workspace.architecture, source=source)
    workspace.formulas_changed.emit()
    assert banner.isVisible()
    assert find(demo_window, QLabel, "noticeBannerText").text() == "No formulas: out of time."
