"""A report is exported, cancelled, or fails; the old file stays until the new one is complete."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.util.errors import UserError
from bertviewer.report import analysis, typesetting
from bertviewer.report.run_details import RunContext, RunDetails
from bertviewer.ui.export import preview
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.export.pages_view import PagesView
from bertviewer.ui.export.preview import Preview
from tests.tools.pdf_text import text_of
from tests.ui.export.conftest import BlankDrawer, ReportHarness, answer, outcome, press
from tests.ui.finding import find, has_error, shown_error

OLD = b"the old report"


def export(report: ReportHarness, dialog: ReportDialog) -> None:
    press(dialog, "reportExport")
    report.wait()
    assert find(dialog, QPushButton, "reportOpen").isVisible()


def test_the_file_has_the_chosen_options(
    report: ReportHarness, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = report.open()
    title = find(dialog, QLineEdit, "reportTitle")
    title.setFocus()
    qtbot.keyClicks(title, "#let x = 1 <b>")
    calls = answer(monkeypatch, tmp_path / "ours.pdf")
    export(report, dialog)
    name = Path(report.workspace.source.name).name if report.workspace.source else ""
    assert calls[0][2] == f"{name}.pdf"
    text = text_of(tmp_path / "ours.pdf")
    assert "#let x = 1 <b>" in text
    assert "-o ours.pdf" in text
    # The folder is that of the last report.
    calls = answer(monkeypatch, "")
    press(dialog, "reportExport")
    assert calls[0][2] == str(tmp_path / f"{name}.pdf")


def test_the_extension_determines_the_format(
    report: ReportHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = report.open()
    form = find(dialog, QComboBox, "reportFormat")
    assert form.currentText() == "PDF"
    answer(monkeypatch, tmp_path / "ours.htm")
    export(report, dialog)
    assert form.currentText() == "Web page"
    assert (tmp_path / "ours.htm").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    calls = answer(monkeypatch, tmp_path / "ours")
    form.setCurrentText("Markdown")
    report.wait()
    export(report, dialog)
    assert calls[0][2].endswith(".md")
    assert list((tmp_path / "ours-figures").glob("*.svg"))
    assert (tmp_path / "ours.md").is_file()


def test_the_file_can_be_opened(
    report: ReportHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    succeeds = True

    def open_url(url: QUrl) -> bool:
        opened.append(url.toLocalFile())
        return succeeds

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    dialog = report.open()
    answer(monkeypatch, tmp_path / "demo.json")
    export(report, dialog)
    assert outcome(dialog) == "demo.json was written"
    press(dialog, "reportOpen")
    press(dialog, "reportShowFolder")
    assert opened == [str(tmp_path / "demo.json"), str(tmp_path)]
    succeeds = False
    press(dialog, "reportOpen")
    assert outcome(dialog) == "No application found to open demo.json"
    press(dialog, "reportShowFolder")
    assert outcome(dialog) == f"No file manager found to show {tmp_path}"
    # A file that was deleted is not passed to another program.
    succeeds, opened = True, []
    (tmp_path / "demo.json").unlink()
    press(dialog, "reportOpen")
    assert outcome(dialog) == "No application found to open demo.json"
    assert opened == []


Cancel = Callable[[ReportDialog, QtBot], object]


@pytest.mark.parametrize(
    ("stage", "cancel"),
    [
        ("analysing", lambda dialog, _: press(dialog, "reportCancel")),
        ("drawing", lambda dialog, qtbot: qtbot.keyClick(dialog, Qt.Key.Key_Escape)),
        ("typesetting", lambda dialog, _: dialog.close()),
    ],
)
def test_a_cancelled_export_leaves_the_old_file(  # noqa: PLR0917
    stage: str,
    cancel: Cancel,
    report: ReportHarness,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report.run()
    dialog = report.open()
    path = tmp_path / "report.pdf"
    path.write_bytes(OLD)
    reached: list[str] = []

    def cancel_here(*_: Any) -> bytes:
        if not reached:  # the preview comes here, too
            reached.append(stage)
            assert not find(dialog, QPushButton, "reportClose").isEnabled()
            cancel(dialog, qtbot)
        return b"%PDF"

    def analyse(details: RunDetails, context: RunContext, _: object) -> RunDetails:
        cancel_here()
        context.progress(0, 0, "Analysing the run")
        return details

    with monkeypatch.context() as patch:
        # The options differ from those of the preview, so that each stage is needed.
        if stage == "analysing":
            patch.setattr(analysis, "analyse_layers", analyse)
            find(dialog, QLineEdit, "reportLayers").setText("all")
        elif stage == "drawing":
            patch.setattr(BlankDrawer, "before_each", staticmethod(cancel_here))
            find(dialog, QCheckBox, "reportGrey").setChecked(True)
        else:
            patch.setattr(typesetting, "report_pdf", cancel_here)
        answer(patch, path)
        press(dialog, "reportExport")
        report.wait()
    assert reached == [stage]
    assert outcome(dialog).startswith("Cancelled")
    # A late preview does not replace the result.
    find(dialog, Preview).late.emit()
    assert outcome(dialog).startswith("Cancelled")
    assert path.read_bytes() == OLD
    assert [each.name for each in tmp_path.glob("*report*")] == ["report.pdf"]


def test_a_failed_export_shows_one_error_and_leaves_the_old_file(
    report: ReportHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(OLD)
    dialog = report.open()

    def fail(*_: object) -> bytes:
        raise UserError("cannot typeset the report: no room")

    monkeypatch.setattr(typesetting, "report_pdf", fail)
    errors: list[str] = []
    report.workspace.jobs.errored.connect(lambda error: errors.append(str(error)))
    answer(monkeypatch, path)
    press(dialog, "reportExport")
    report.wait()
    assert errors == ["cannot typeset the report: no room"]
    assert path.read_bytes() == OLD
    assert find(dialog, QPushButton, "reportExport").isVisible()
    answer(monkeypatch, tmp_path / "missing" / "report.pdf")
    press(dialog, "reportExport")
    assert has_error(dialog)
    assert "no such folder:" in shown_error(dialog).text()
    assert report.workspace.jobs.activity == ""


def test_a_failed_preview_says_why(report: ReportHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise UserError("there is no room for the picture")

    dialog = report.open()
    monkeypatch.setattr(preview, "typeset_pages", fail)
    find(dialog, QComboBox, "reportPaper").setCurrentText("Letter")
    report.wait()
    description = find(dialog, PagesView).accessibleDescription()
    assert description == "There is no room for the picture"
