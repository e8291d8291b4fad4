"""The options of the report dialog, and its preview."""

import gc
import weakref
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.comparison.comparison import compare_architectures
from bertviewer.core.corpus.making import CorpusRequest, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.core.util.progress import no_progress
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.export.pages_view import PagesView, page_size
from bertviewer.ui.export.preview import Preview
from bertviewer.ui.export.settings import omitted_sections
from tests.ui.export.conftest import ReportHarness, chapter, outcome
from tests.ui.finding import find

RUN_CHAPTERS = ("The sentence", "Inside a layer", "Attention", "Token similarity")
CHECKED, ENABLED = Qt.CheckState.Checked, Qt.ItemFlag.ItemIsEnabled


def pages(dialog: ReportDialog) -> int:
    return find(dialog, PagesView).count


def paper(dialog: ReportDialog) -> tuple[float, float]:
    shown = find(dialog, Preview).pages
    assert shown is not None
    return page_size(shown.svgs[0])


def test_chapters_that_do_not_apply_say_why(report: ReportHarness) -> None:
    dialog = report.open()
    assert outcome(dialog) == f"{pages(dialog)} pages, 1.5 MB"
    for title, reason in (
        *((title, "no run yet") for title in RUN_CHAPTERS),
        ("Corpus statistics", "no corpus"),
        ("Comparison of two models", "no comparison"),
    ):
        assert chapter(dialog, title).text() == f"{title} – {reason}"
        assert not chapter(dialog, title).flags() & ENABLED
    assert chapter(dialog, "The model").checkState() == CHECKED
    assert not find(dialog, QLineEdit, "reportLayers").isEnabled()
    name = report.workspace.source.name if report.workspace.source else ""
    assert find(dialog, QLineEdit, "reportTitle").placeholderText() == name


def test_chapters_of_runs_and_comparisons(report: ReportHarness) -> None:
    report.run()
    dialog = report.open()
    for title in RUN_CHAPTERS:
        assert chapter(dialog, title).text() == title
        assert chapter(dialog, title).checkState() == CHECKED
    assert chapter(dialog, "Comparison of two runs").text() == "Comparison of two runs – no run A"
    assert chapter(dialog, "Checks").text() == "Checks – nothing verified"
    # A model without a head has no predictions.
    assert chapter(dialog, "Predictions").text() == "Predictions – not available"
    assert find(dialog, QLineEdit, "reportLayers").isEnabled()
    report.close(dialog)

    architecture, runs = report.workspace.architecture, report.workspace.runs
    assert architecture is not None
    comparison = compare_architectures(architecture, architecture)
    report.workspace.comparison.keep(comparison, "another")
    report.run(is_baseline=True)
    report.run("a dog")
    dialog = report.open()
    for title in ("Comparison of two models", "Comparison of two runs"):
        assert (chapter(dialog, title).text(), chapter(dialog, title).checkState()) == (
            title,
            CHECKED,
        )
    assert runs.current is not None
    for path in ("pooler", "embeddings"):
        # The dialog follows the workspace.
        step = CheckStep(path, "output", 1e-7, 1e-6, ok=True)
        runs.set_check(runs.current, path, Check((step,)))
    report.wait_for_pages(dialog)
    assert chapter(dialog, "Checks").text() == "Checks"
    reported = dialog.builder.inputs.run
    assert reported is not None
    assert reported.run.check is not None
    assert [step.path for step in reported.run.check.steps] == ["embeddings", "pooler"]


def test_omitted_chapters(report: ReportHarness, qtbot: QtBot) -> None:
    report.run()
    dialog = report.open()
    whole = pages(dialog)
    chapters = find(dialog, QListWidget, "reportChapters")
    chapters.setCurrentItem(chapter(dialog, "All parameters"))
    qtbot.keyClick(chapters, Qt.Key.Key_Space)
    report.wait_for_pages(dialog)
    assert pages(dialog) == whole - 1
    assert omitted_sections(dialog.options.sections) == ("tensors",)
    find(dialog, QToolButton, "reportNone").click()
    qtbot.waitUntil(lambda: pages(dialog) == 0)
    find(dialog, QToolButton, "reportAll").click()
    report.wait_for_pages(dialog)
    assert pages(dialog) == whole
    assert dialog.options.sections is None
    # A chapter that does not apply stays omitted.
    chapter(dialog, "Attention").setCheckState(Qt.CheckState.Unchecked)
    report.close(dialog)
    report.workspace.runs.clear()
    dialog = report.open()
    assert not chapter(dialog, "Attention").flags() & ENABLED
    assert omitted_sections(dialog.options.sections) == ("attention",)


def test_options_are_stored_and_the_last_request_wins(report: ReportHarness, qtbot: QtBot) -> None:
    dialog = report.open()
    assert paper(dialog) == (595, 842)
    for name, words in (("reportTitle", "My model"), ("reportAuthor", "Ada")):
        field = find(dialog, QLineEdit, name)
        field.setFocus()
        qtbot.keyClicks(field, words)
    for name in ("Letter", "A4", "Letter"):
        find(dialog, QComboBox, "reportPaper").setCurrentText(name)
    report.wait_for_pages(dialog)
    assert paper(dialog) == (612, 792)
    report.close(dialog)
    dialog = report.open()
    assert find(dialog, QLineEdit, "reportTitle").text() == "My model"
    assert find(dialog, QLineEdit, "reportAuthor").text() == "Ada"
    assert find(dialog, QComboBox, "reportPaper").currentText() == "Letter"


def test_wrong_layers_are_reported(report: ReportHarness, qtbot: QtBot) -> None:
    report.run()
    dialog = report.open()
    layers = find(dialog, QLineEdit, "reportLayers")
    problem = find(dialog, QLabel, "reportLayersTrouble")
    layers.setFocus()
    qtbot.keyClicks(layers, "7")
    assert problem.isVisibleTo(dialog)
    assert problem.text() == "This model has layers 0 to 1"
    assert dialog.options.layers == ""
    layers.clear()
    qtbot.keyClicks(layers, "all")
    assert not problem.isVisibleTo(dialog)
    assert dialog.options.layers == "all"


def test_a_corpus_can_be_chosen(
    report: ReportHarness,
    opened_tiny: LoadedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    data, folder = tmp_path / "lines.txt", tmp_path / "out"
    data.write_text("this is a test\nthe cat sat\n", encoding="utf-8")
    make_corpus(opened_tiny, CorpusRequest((data,), CorpusOptions(), folder, ""), no_progress)
    dialog = report.open()
    before, title = pages(dialog), "Corpus statistics"
    field, problem = (
        find(dialog, QLineEdit, "reportCorpus"),
        find(dialog, QLabel, "reportCorpusTrouble"),
    )
    field.setText(str(tmp_path))
    qtbot.waitUntil(lambda: problem.isVisibleTo(dialog))
    assert str(tmp_path / "manifest.json") in problem.text()
    report.wait_for_pages(dialog)
    assert pages(dialog) == before
    field.clear()
    assert not problem.isVisibleTo(dialog)
    assert chapter(dialog, title).text() == f"{title} – no corpus"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    find(dialog, QToolButton, "reportChooseCorpus").click()
    qtbot.waitUntil(lambda: pages(dialog) == before + 1)
    assert chapter(dialog, title).text() == title
    assert chapter(dialog, title).checkState() == CHECKED
    report.close(dialog)
    # It is stored; the corpus that the window shows comes first.
    dialog = report.open()
    assert dialog.options.corpus == str(folder)
    find(dialog, QLineEdit, "reportCorpus").clear()
    report.close(dialog)
    report.corpus = str(folder)
    assert report.open().options.corpus == str(folder)


def test_nothing_remains_of_a_closed_dialog(report: ReportHarness) -> None:
    report.run()
    dialog = report.open()
    builder = weakref.ref(dialog.builder)
    find(dialog, QComboBox, "reportPaper").setCurrentText("Letter")
    waiting = [report.workspace.jobs.has_requests]
    report.close(dialog)
    waiting.append(report.workspace.jobs.has_requests)
    assert waiting == [True, False]
    report.wait()
    del dialog
    gc.collect()
    assert builder() is None


def test_controls_are_accessible(report: ReportHarness) -> None:
    report.run()
    dialog = report.open()
    kinds = (QAbstractButton, QLineEdit, QComboBox, QListWidget, PagesView)
    shown = [w for w in dialog.findChildren(QWidget) if isinstance(w, kinds)]
    shown = [w for w in shown if w.isVisibleTo(dialog) and w.objectName().startswith("report")]
    assert len(shown) == 15
    for widget in shown:
        words = widget.text() if isinstance(widget, QAbstractButton) else ""
        assert widget.accessibleName() or words, widget.objectName()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.objectName()
        assert widget.toolTip() or isinstance(widget, PagesView), widget.objectName()
    assert find(dialog, QPushButton, "reportExport").isDefault()
