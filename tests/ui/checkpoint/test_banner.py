"""Banners about random tensors and other notices of the open model and its run."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file, save_file

from bertviewer.core.schema.architecture import Architecture
from bertviewer.report.summary import random_weights_warning
from bertviewer.ui.checkpoint.banner import NoticeBanner, RandomBanner
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.ui.finding import find
from tests.ui.run.view_harness import RunHarness


def with_notices(architecture: Architecture, *notices: str) -> Architecture:
    return replace(architecture, source=replace(architecture.source, notices=notices))


@pytest.fixture
def damaged(tiny_bert_folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that copies the tiny BERT without some tensors."""

    def damaged(*missing: str) -> Path:
        folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / f"without-{len(missing)}"))
        tensors = load_file(folder / "model.safetensors")
        kept = {name: tensor for name, tensor in tensors.items() if name not in missing}
        save_file(kept, folder / "model.safetensors")
        return folder

    return damaged


def test_random_tensors_are_reported_as_in_the_report(
    open_model: Callable[..., object],
    damaged: Callable[..., Path],
    workspace: Workspace,
    qtbot: QtBot,
    tiny_bert_folder: Path,
) -> None:
    banner = RunHarness(RandomBanner(workspace), workspace, qtbot)
    names = ("pooler.dense.bias", "pooler.dense.weight")
    for missing, verb in ((names[:1], "is"), (names, "are")):
        open_model(damaged(*missing))
        assert f"{verb} missing from the checkpoint and will be" in banner.text("randomBannerText")
        banner.run("the cat sat")
        architecture = workspace.architecture
        assert architecture is not None
        assert len(architecture.source.random_tensors) == len(missing)
        warning = random_weights_warning(architecture.source, architecture.tensor_count)
        assert warning is not None
        assert banner.text("randomBannerText") == warning.text
    for complete in (tiny_bert_folder, tiny_bert_folder / "config.json"):
        open_model(complete)
        assert not banner.widget.isVisible()


def test_notices_of_the_model_and_of_its_run(workspace: Workspace, qtbot: QtBot) -> None:
    banner = RunHarness(NoticeBanner(workspace), workspace, qtbot)
    bert = plain("bert-base-uncased")
    workspace.architecture = with_notices(bert, "First.", "<b>Second</b>.")
    workspace.architecture_changed.emit(workspace.architecture)
    assert banner.text("noticeBannerText") == "1 more: First."
    banner.click("noticeBannerButton")
    dialog = find(banner.window, QDialog, "noticeDialog")
    assert banner.text("notices") == "First.\n\n<b>Second</b>."
    dialog.reject()
    # A step of deriving may add one.
    workspace.architecture = with_notices(bert, "No formulas: out of time.")
    workspace.formulas_changed.emit()
    assert banner.text("noticeBannerText") == "No formulas: out of time."
    workspace.architecture = bert
    workspace.architecture_changed.emit(bert)
    assert not banner.widget.isVisible()


def test_notices_of_a_run(
    open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot
) -> None:
    open_model("demo")
    banner = RunHarness(NoticeBanner(workspace), workspace, qtbot)
    run = banner.run("the cat").run
    assert not banner.widget.isVisible()
    banner.show_run(replace(run, source=replace(run.source, notices=("Too long.",))))
    assert banner.text("noticeBannerText") == "Too long."


def test_banners_of_the_window_stay_when_a_pane_is_maximized(demo_window: MainWindow) -> None:
    workspace = demo_window.workspace
    assert workspace.architecture is not None
    source = replace(
        workspace.architecture.source, notices=("Too long.",), random_tensors=("pooler.dense.bias",)
    )
    workspace.architecture = replace(workspace.architecture, source=source)
    workspace.formulas_changed.emit()
    for pane in (None, "run"):
        demo_window.panes.maximize(pane)
        for kind in (NoticeBanner, RandomBanner):
            assert find(demo_window, kind).isVisible()
