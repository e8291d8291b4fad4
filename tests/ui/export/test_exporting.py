"""A report on its way into a file: asked for, written, opened; given up, failed."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.util.errors import UserError
from bertviewer.report import analysis, drawing, typesetting
from bertviewer.report.run_details import RunContext
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.export.drawer import Drawer
from bertviewer.ui.export.pages_view import PagesView
from bertviewer.ui.export.preview import Preview
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.tools.pdf_text import text_of
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.export.reporting import SENTENCE, answer, open_report, outcome, run
from tests.ui.finding import find, has_error, shown_error

OLD = b"what was there before"


def press(dialog: ReportDialog, name: str) -> None:
    button = find(dialog, QPushButton, name)
    assert button.isVisible()
    assert button.isEnabled()
    button.click()


def write(dialog: ReportDialog, qtbot: QtBot) -> None:
    press(dialog, "reportExport")
    qtbot.waitUntil(find(dialog, QPushButton, "reportOpen").isVisible, timeout=OPEN_TIMEOUT)


def test_what_was_chosen_is_written(
    demo_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(demo_window, SENTENCE, qtbot)
    dialog = open_report(demo_window, qtbot)
    title = find(dialog, QLineEdit, "reportTitle")
    title.setFocus()
    qtbot.keyClicks(title, "#let x = 1 <b>")
    asked = answer(monkeypatch, tmp_path / "ours.pdf")
    write(dialog, qtbot)
    assert asked[0][2] == "demo.pdf"
    text = text_of(tmp_path / "ours.pdf")
    assert "#let x = 1 <b>" in text
    assert "22,713,216" in text
    # What makes it again names the file that was chosen.
    assert "bertviewer report demo -o ours.pdf" in text
    asked = answer(monkeypatch, "")
    press(dialog, "reportExport")
    assert asked[0][2] == str(tmp_path / "demo.pdf")


def test_what_was_written_is_opened(
    demo_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    is_there = True

    def open_url(url: QUrl) -> bool:
        opened.append(url.toLocalFile())
        return is_there

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    dialog = open_report(demo_window, qtbot)
    answer(monkeypatch, tmp_path / "demo")
    write(dialog, qtbot)
    assert outcome(dialog) == "demo.pdf was written"
    press(dialog, "reportOpen")
    press(dialog, "reportShowFolder")
    assert opened == [str(tmp_path / "demo.pdf"), str(tmp_path)]
    is_there = False
    press(dialog, "reportOpen")
    assert outcome(dialog) == "No application found to open demo.pdf"
    press(dialog, "reportShowFolder")
    assert outcome(dialog) == f"No file manager found to show {tmp_path}"
    (tmp_path / "demo.pdf").unlink()
    is_there = True
    press(dialog, "reportOpen")
    assert outcome(dialog) == "No application found to open demo.pdf"


class Reached:
    """Whether an export, and not the pages beside it, has come to a stage."""

    def __init__(self, window: MainWindow) -> None:
        self._jobs = window.workspace.jobs
        self._reached = threading.Event()

    def mark(self) -> None:
        if self._jobs.activity == "export":
            self._reached.set()

    def __call__(self) -> bool:
        return self._reached.is_set()


Stage = Callable[[pytest.MonkeyPatch, Reached], None]
_GO_ON = threading.Event()
"""What Typst waits for, which cannot be stopped."""


def while_analysing(monkeypatch: pytest.MonkeyPatch, reached: Reached) -> None:
    def analyse(context: RunContext, **_choices: object) -> None:
        while True:
            reached.mark()
            context.progress(0, 0, "Analysing")

    monkeypatch.setattr(analysis, "analyse_run", analyse)


def while_drawing(monkeypatch: pytest.MonkeyPatch, reached: Reached) -> None:
    # It is drawn by nobody.
    monkeypatch.setattr(Drawer, "_draw", lambda _self, _wish: reached.mark())


def while_typesetting(monkeypatch: pytest.MonkeyPatch, reached: Reached) -> None:
    def set_slowly(*_: object) -> bytes:
        reached.mark()
        if reached():
            _GO_ON.wait(OPEN_TIMEOUT / 1000)
        return b"%PDF"

    _GO_ON.clear()
    monkeypatch.setattr(typesetting, "report_pdf", set_slowly)


def by_its_button(dialog: ReportDialog, _qtbot: QtBot) -> None:
    press(dialog, "reportCancel")


def by_escape(dialog: ReportDialog, qtbot: QtBot) -> None:
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)


def by_the_cross(dialog: ReportDialog, _qtbot: QtBot) -> None:
    dialog.close()


@pytest.mark.parametrize(
    ("stage", "cancel"),
    [
        (while_analysing, by_its_button),
        (while_drawing, by_escape),
        (while_drawing, by_the_cross),
        (while_typesetting, by_its_button),
        (while_typesetting, by_escape),
    ],
)
def test_one_that_is_cancelled_leaves_the_old_file(  # noqa: PLR0917
    stage: Stage,
    cancel: Callable[[ReportDialog, QtBot], None],
    demo_window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(demo_window, SENTENCE, qtbot)
    path = tmp_path / "report.pdf"
    path.write_bytes(OLD)
    with monkeypatch.context() as patch:
        reached = Reached(demo_window)
        stage(patch, reached)
        demo_window.exporting.choose_report()
        dialog = find(demo_window, ReportDialog)
        answer(patch, path)
        press(dialog, "reportExport")
        qtbot.waitUntil(reached, timeout=OPEN_TIMEOUT)
        assert not find(dialog, QPushButton, "reportClose").isEnabled()
        cancel(dialog, qtbot)
        _GO_ON.set()
        qtbot.waitUntil(lambda: outcome(dialog).startswith("Cancelled"), timeout=OPEN_TIMEOUT)
        # That the pages take a while is told at any time, and is no news of the file.
        find(dialog, Preview).late.emit()
        assert outcome(dialog).startswith("Cancelled")
        assert path.read_bytes() == OLD
        assert [each.name for each in tmp_path.glob("*report*")] == ["report.pdf"]
    # It can be used as before.
    answer(monkeypatch, path)
    qtbot.waitUntil(find(dialog, QPushButton, "reportExport").isEnabled)
    write(dialog, qtbot)
    assert "22,713,216" in text_of(path)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not demo_window.findChildren(ReportDialog))
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def test_one_that_fails_gets_one_dialog_and_leaves_the_old_file(
    demo_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(OLD)
    dialog = open_report(demo_window, qtbot)

    def fail(*_: object) -> bytes:
        raise UserError("cannot typeset the report: no room")

    monkeypatch.setattr(typesetting, "report_pdf", fail)
    answer(monkeypatch, path)
    press(dialog, "reportExport")
    qtbot.waitUntil(lambda: has_error(dialog), timeout=OPEN_TIMEOUT)
    box = shown_error(dialog)
    assert box.text() == "Cannot typeset the report: no room"
    box.close()
    assert path.read_bytes() == OLD
    qtbot.waitUntil(find(dialog, QPushButton, "reportExport").isVisible)


def test_pages_that_cannot_be_made_say_why(
    demo_window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise UserError("there is no room for the picture")

    monkeypatch.setattr(drawing, "draw_pictures", fail)
    monkeypatch.setattr(typesetting.TypesetReport, "pages", fail)
    demo_window.exporting.choose_report()
    dialog = find(demo_window, ReportDialog)
    view = find(dialog, PagesView)
    qtbot.waitUntil(
        lambda: "here is no room for the picture" in view.accessibleDescription(),
        timeout=OPEN_TIMEOUT,
    )


def test_a_file_that_cannot_be_written_is_told_at_once(
    demo_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = open_report(demo_window, qtbot)
    answer(monkeypatch, tmp_path / "missing" / "report.pdf")
    press(dialog, "reportExport")
    box = shown_error(dialog)
    assert "no such folder:" in box.text()
    box.close()
    assert demo_window.workspace.jobs.activity == ""


def test_an_ending_picks_the_format(
    demo_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = open_report(demo_window, qtbot)
    form = find(dialog, QComboBox, "reportFormat")
    assert form.currentText() == "PDF"
    answer(monkeypatch, tmp_path / "ours.htm")
    write(dialog, qtbot)
    assert form.currentText() == "Web page"
    assert "22,713,216" in (tmp_path / "ours.htm").read_text(encoding="utf-8")
    asked = answer(monkeypatch, tmp_path / "ours")
    form.setCurrentText("Markdown")
    write(dialog, qtbot)
    assert asked[0][2] == str(tmp_path / "demo.md")
    assert list((tmp_path / "ours-figures").glob("*.svg"))
    assert (tmp_path / "ours.md").is_file()
