"""The report's dialog: what can be chosen, and the pages beside it."""

import gc
import weakref

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.export.pages_view import PagesView
from bertviewer.ui.export.settings import omitted_sections
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.export.reporting import (
    SENTENCE,
    chapter,
    open_report,
    outcome,
    pages,
    run,
    wait_for_pages,
)
from tests.ui.finding import find

_ENABLED = Qt.ItemFlag.ItemIsEnabled


def test_the_model_alone(demo_window: MainWindow, qtbot: QtBot) -> None:
    dialog = open_report(demo_window, qtbot)
    assert pages(dialog) > 3
    assert outcome(dialog).startswith(f"{pages(dialog)} pages, ")
    sentence = chapter(dialog, "The sentence")
    assert sentence.text() == "The sentence – no run yet"
    assert not sentence.flags() & _ENABLED
    assert chapter(dialog, "The model").checkState() == Qt.CheckState.Checked
    assert not find(dialog, QLineEdit, "reportLayers").isEnabled()
    assert find(dialog, QLineEdit, "reportTitle").placeholderText() == "demo"


def test_a_run_has_chapters_of_its_own(demo_window: MainWindow, qtbot: QtBot) -> None:
    run(demo_window, SENTENCE, qtbot)
    dialog = open_report(demo_window, qtbot)
    for title in ("The sentence", "Attention", "Token similarity", "Predictions"):
        assert chapter(dialog, title).checkState() == Qt.CheckState.Checked
    assert chapter(dialog, "Comparison of two runs").text() == "Comparison of two runs – no run A"
    assert chapter(dialog, "Checks").text() == "Checks – nothing verified"
    assert (
        chapter(dialog, "Comparison of two models").text()
        == "Comparison of two models – no comparison"
    )
    assert find(dialog, QLineEdit, "reportLayers").isEnabled()
    # A model without a head predicts nothing.
    assert chapter(dialog, "Predictions").text() == "Predictions – not available"
    assert chapter(dialog, "Attention").text() == "Attention"


def test_a_model_beside_another_one(demo_window: MainWindow, qtbot: QtBot) -> None:
    demo_window.comparing.compare_with("demo")
    qtbot.waitUntil(lambda: bool(demo_window.workspace.comparison.other), timeout=OPEN_TIMEOUT)
    dialog = open_report(demo_window, qtbot)
    assert chapter(dialog, "Comparison of two models").checkState() == Qt.CheckState.Checked
    assert chapter(dialog, "Comparison of two models").text() == "Comparison of two models"
    find(demo_window, QDialog, "comparisonWindow").close()


def test_run_a_and_all_checks_are_told_of(demo_window: MainWindow, qtbot: QtBot) -> None:
    run(demo_window, SENTENCE, qtbot)
    demo_window.workspace.runs.keep()
    run(demo_window, "a dog", qtbot)
    watched = demo_window.workspace.runs.current
    assert watched is not None
    for path in ("pooler", "embeddings"):
        step = CheckStep(path, "output", 1e-7, 1e-6, ok=True)
        demo_window.workspace.runs.set_check(watched, path, Check((step,)))
    dialog = open_report(demo_window, qtbot)
    assert chapter(dialog, "Comparison of two runs").checkState() == Qt.CheckState.Checked
    assert chapter(dialog, "Checks").checkState() == Qt.CheckState.Checked
    reported = dialog.builder.inputs.run
    assert reported is not None
    assert reported.run.check is not None
    assert [step.path for step in reported.run.check.steps] == ["embeddings", "pooler"]


def test_a_chapter_that_is_cleared_takes_its_pages(demo_window: MainWindow, qtbot: QtBot) -> None:
    dialog = open_report(demo_window, qtbot)
    whole = pages(dialog)
    chapters = find(dialog, QListWidget, "reportChapters")
    chapters.setCurrentItem(chapter(dialog, "All parameters"))
    qtbot.keyClick(chapters, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: pages(dialog) < whole, timeout=OPEN_TIMEOUT)
    assert omitted_sections(dialog.options.sections) == ("tensors",)
    find(dialog, QToolButton, "reportNone").click()
    qtbot.waitUntil(lambda: pages(dialog) < 4, timeout=OPEN_TIMEOUT)
    find(dialog, QToolButton, "reportAll").click()
    qtbot.waitUntil(lambda: pages(dialog) == whole, timeout=OPEN_TIMEOUT)
    assert dialog.options.sections is None


def test_what_a_run_lacks_stays_left_out(demo_window: MainWindow, qtbot: QtBot) -> None:
    run(demo_window, SENTENCE, qtbot)
    dialog = open_report(demo_window, qtbot)
    chapter(dialog, "Attention").setCheckState(Qt.CheckState.Unchecked)
    dialog.close()
    qtbot.waitUntil(lambda: not demo_window.findChildren(ReportDialog))
    demo_window.workspace.runs.clear()
    again = open_report(demo_window, qtbot)
    assert not chapter(again, "Attention").flags() & _ENABLED
    assert omitted_sections(again.options.sections) == ("attention",)


def test_the_last_wish_wins(demo_window: MainWindow, qtbot: QtBot) -> None:
    dialog = open_report(demo_window, qtbot)
    view, paper = find(dialog, PagesView), find(dialog, QComboBox, "reportPaper")
    shapes: list[float] = []

    def shape() -> float:
        # A page is as wide as there is room.
        rect = view.page_rect(0)
        return rect.height() / rect.width()

    before = shape()
    paper.setCurrentText("Letter")
    paper.setCurrentText("A4")
    paper.setCurrentText("Letter")
    wait_for_pages(dialog, qtbot)
    shapes.append(shape())
    assert before == pytest.approx(297 / 210, abs=0.01)
    assert shapes == [pytest.approx(11 / 8.5, abs=0.01)]


def test_layers_that_are_not_there_are_said(demo_window: MainWindow, qtbot: QtBot) -> None:
    run(demo_window, SENTENCE, qtbot)
    dialog = open_report(demo_window, qtbot)
    usual = pages(dialog)
    layers, trouble = (
        find(dialog, QLineEdit, "reportLayers"),
        find(dialog, QLabel, "reportLayersTrouble"),
    )
    layers.setFocus()
    qtbot.keyClicks(layers, "7")
    assert trouble.isVisibleTo(dialog)
    assert trouble.text() == "This model has layers 0 to 5"
    layers.clear()
    qtbot.keyClicks(layers, "all")
    assert not trouble.isVisibleTo(dialog)
    qtbot.waitUntil(lambda: pages(dialog) > usual, timeout=OPEN_TIMEOUT)


def test_what_was_chosen_is_chosen_again(demo_window: MainWindow, qtbot: QtBot) -> None:
    dialog = open_report(demo_window, qtbot)
    for name, words in (("reportTitle", "My model"), ("reportAuthor", "Ada")):
        field = find(dialog, QLineEdit, name)
        field.setFocus()
        qtbot.keyClicks(field, words)
    find(dialog, QComboBox, "reportPaper").setCurrentText("Letter")
    dialog.close()
    qtbot.waitUntil(lambda: not demo_window.findChildren(ReportDialog))
    again = open_report(demo_window, qtbot)
    assert find(again, QLineEdit, "reportTitle").text() == "My model"
    assert find(again, QLineEdit, "reportAuthor").text() == "Ada"
    assert find(again, QComboBox, "reportPaper").currentText() == "Letter"


def test_pages_are_gone_through_by_keys(demo_window: MainWindow, qtbot: QtBot) -> None:
    dialog = open_report(demo_window, qtbot)
    view = find(dialog, PagesView)
    view.setFocus()
    said = []
    for key in (Qt.Key.Key_PageDown, Qt.Key.Key_End, Qt.Key.Key_Home):
        qtbot.keyClick(view, key)
        qtbot.waitUntil(lambda: view.is_drawn, timeout=OPEN_TIMEOUT)
        interface = QAccessible.queryAccessibleInterface(view)
        said.append(interface.text(QAccessible.Text.Description))
    total = pages(dialog)
    assert said == [f"Page {n} of {total}" for n in (2, total, 1)]


def test_nothing_goes_on_once_it_is_closed(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    run(demo_window, SENTENCE, qtbot)
    demo_window.exporting.choose_report()
    dialog = find(demo_window, ReportDialog)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not demo_window.findChildren(ReportDialog))
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert not demo_window.workspace.jobs.has_requests


def test_nothing_is_kept_once_it_is_closed(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    run(demo_window, SENTENCE, qtbot)
    builder = weakref.ref(open_report(demo_window, qtbot).builder)
    find(demo_window, ReportDialog).close()
    qtbot.waitUntil(lambda: not demo_window.findChildren(ReportDialog))
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    gc.collect()
    assert builder() is None


def test_all_controls_have_names_tips_and_keys(demo_window: MainWindow, qtbot: QtBot) -> None:
    run(demo_window, SENTENCE, qtbot)
    dialog = open_report(demo_window, qtbot)
    kinds = (QAbstractButton, QLineEdit, QComboBox, QListWidget, PagesView)
    shown = [w for w in dialog.findChildren(QWidget) if isinstance(w, kinds)]
    shown = [w for w in shown if w.isVisibleTo(dialog) and w.objectName().startswith("report")]
    assert len(shown) == 14
    for widget in shown:
        words = widget.text() if isinstance(widget, QAbstractButton) else ""
        assert widget.accessibleName() or words, widget.objectName()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.objectName()
        assert widget.toolTip() or isinstance(widget, PagesView), widget.objectName()
    assert find(dialog, QPushButton, "reportExport").isDefault()
