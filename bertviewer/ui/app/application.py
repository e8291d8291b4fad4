"""Start of the window, and the end of its process."""

import argparse
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QLocale, QObject, QSettings, QSocketNotifier
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from bertviewer import __version__
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.sentence import optional_sentence
from bertviewer.core.util import libraries
from bertviewer.core.util.errors import TooLongError, UserError
from bertviewer.core.util.files import remove_unfinished, resources_folder
from bertviewer.core.util.helper_process import end_helpers
from bertviewer.core.util.log import write_log
from bertviewer.ui.app.crash_log import CrashLog, open_crash_log
from bertviewer.ui.app.display import checked_display
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.sentence_bar import EXAMPLE
from bertviewer.ui.settings.settings import exists, note_start, quarantine_bad_settings
from bertviewer.ui.settings.translation import install_translations, translate
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.session import Session
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import apply_appearance, stored_appearance
from bertviewer.ui.widgets.messages import Remedy, show_error, show_failure

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class EndSignals(QObject):
    """Calls ``end`` in the GUI thread at the first SIGINT or SIGTERM; a second ends the process.

    While Qt waits for events, Python cannot handle a signal. But it writes the signal's number to a
    socket (``signal.set_wakeup_fd``), and that is an event for Qt.
    """

    def __init__(self, end: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._end = end
        self._read, self._written = socket.socketpair()
        for one in (self._read, self._written):
            one.setblocking(False)
        self._before_fd = signal.set_wakeup_fd(self._written.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _leave_to_the_socket) for number in SIGNALS}
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_activated)

    def close(self) -> None:
        """Restore the signal handlers."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._before_fd)
        for number, before in self._before.items():
            signal.signal(number, before)
        self._read.close()
        self._written.close()

    def _on_activated(self) -> None:
        if not set(self._read.recv(4096)) & set(SIGNALS):
            return
        self._notifier.setEnabled(False)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self._end()


def _leave_to_the_socket(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: Python writes only signals that have a Python handler to the socket."""


STOP_SECONDS = 1.0  # that the worker has to stop after the window is closed


def run_window(options: argparse.Namespace) -> int:
    """Open the window with the given model, and return the exit status.

    Raises:
        UserError: the model is unknown, or there is no display.
    """
    given = None if options.model is None else _given_source(options)
    sentence = optional_sentence(options.sentence, options.pair)
    with checked_display():
        application = QApplication([sys.argv[0]])
    # Qt's own quit is revoked if a widget is shown in the same turn, by a deferred call.
    application.lastWindowClosed.connect(lambda: application.exit(0))
    configure(application)
    install_translations(application, QLocale.system().uiLanguages())
    crash_log = open_crash_log()
    damaged = quarantine_bad_settings()
    worker = Worker()
    window = make_window(worker)
    sys.excepthook = _Excepthook(window)
    end_signals = EndSignals(application.closeAllWindows, window)
    session = Session(window, window.workspace)
    session.restore()
    source = given or _last_source(session, window)
    shown, is_run = first_sentence(given, sentence, session.last.sentence)
    window.set_sentence(shown.text, shown.pair)
    if is_run:
        window.run_area.run_when_open()
    if source is not None:
        window.welcome.expect(source.name, by_itself=given is None)
        # torch takes seconds to import: the window is painted before.
        window.painted.connect(lambda: window.open_source(source))
    window.painted.connect(lambda: _report_last_session(window, crash_log, damaged))
    window.show()
    status = application.exec()
    end_signals.close()
    in_time = (
        worker.stop(STOP_SECONDS)
        and window.run_area.bar.stop(STOP_SECONDS)
        and not libraries.are_loading()
    )
    if crash_log is not None:
        crash_log.close()
    if not session.is_saved and sys.stderr is not None:
        sys.stderr.write(f"bertviewer: {QSettings().fileName()} could not be written\n")
    if not in_time:
        # The worker is inside a library. The user's files are written by rename, so nothing is
        # lost.
        leave(status)
    return status


def first_sentence(
    model: ModelSource | None, given: Sentence | None, last: Sentence
) -> tuple[Sentence, bool]:
    """Return the sentence at the start, and whether it is run at once.

    The demo runs an example if there is no other sentence.

    Args:
        model: the model of the command line, if any.
        given: the sentence of the command line.
        last: the sentence of the last session.
    """
    if given is None and not last.text and model is not None and model.kind == "demo":
        return EXAMPLE, True
    return given or last, given is not None


def _given_source(options: argparse.Namespace) -> ModelSource:
    source = parse_source(options.model, options.task)
    return replace(source, pickle_allowed=options.allow_pickle, offload=options.offload)


def _last_source(session: Session, window: MainWindow) -> ModelSource | None:
    """Return the last session's model; if it is gone, the start page says so."""
    try:
        return session.source
    except UserError as error:
        name = "" if session.last.model is None else session.last.model.name
        text = translate("Application", "The model opened last, {0}, no longer exists.")
        window.welcome.say(str(error) if exists(name) or name == "demo" else text.format(name))
        return None


def leave(status: int) -> NoReturn:
    """End the process without Python's finalization.

    It would destroy objects of torch and Qt in an untested order, which sometimes crashes.
    """
    QSettings().sync()
    remove_unfinished()
    end_helpers()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)


def configure(application: QApplication) -> None:
    """Set the application's names, under which settings are stored."""
    QCoreApplication.setOrganizationName("bertviewer")
    QCoreApplication.setApplicationName("bertviewer")
    QCoreApplication.setApplicationVersion(__version__)
    application.setDesktopFileName("io.github.bertviewer.Bertviewer")


def make_window(worker: Worker) -> MainWindow:
    """Return a main window with its workspace."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    # First: existing widgets would not all get the font.
    apply_appearance(application, stored_appearance())
    icon = QIcon(str(resources_folder() / "icons" / "bertviewer.svg"))
    workspace = Workspace(worker)
    window = MainWindow(workspace, icon)
    workspace.setParent(window)
    workspace.jobs.errored.connect(lambda error: report_error(window, error))
    return window


def report_error(window: MainWindow, error: BaseException) -> None:
    """Show an error: the message of a ``UserError``, else the path of the log."""
    if isinstance(error, UserError):
        if window.welcome.opens_by_itself:
            window.welcome.say(str(error))
        else:
            # A modal dialog would hide what is shown in the window.
            place = QApplication.activeModalWidget() or window
            show_error(place, str(error), *_remedies(window, error))
        return
    trace = "".join(traceback.format_exception(error))
    message = translate(
        "Application", "An internal error occurred in bertviewer. You can keep working."
    )
    title = translate("Application", "Internal error")
    details = translate("Application", "Details were saved to {0}").format(write_log(trace))
    show_failure(window, title, message, details)


def _remedies(window: MainWindow, error: UserError) -> list[Remedy]:
    """Return the buttons for the error of a job."""
    if isinstance(error, TooLongError):
        cut = translate("Application", "Truncate the sentence and run it")
        return [(cut, window.run_area.bar.run_truncated)]
    retry = window.workspace.jobs.retry
    return [] if retry is None else [(translate("Application", "Try again"), retry)]


def _report_last_session(
    window: MainWindow, crash_log: CrashLog | None, damaged: Path | None
) -> None:
    """Show that the program crashed last time, or that its settings were damaged."""
    note_start()
    if damaged is not None:
        message = translate(
            "Application",
            "The settings file was damaged, so the default settings are used. The old file is {0}",
        )
        show_error(window, message.format(damaged), is_persistent=True)
    if crash_log is not None and crash_log.last_crash:
        title = translate("Application", "Unexpected exit")
        message = translate("Application", "The program quit unexpectedly last time.")
        details = translate("Application", "Details were saved to {0}").format(
            write_log(crash_log.last_crash)
        )
        show_failure(window, title, message, details).setDetailedText(crash_log.last_crash)


class _Excepthook:
    """Shows exceptions in slots in a dialog and logs them."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def __call__(
        self,
        _kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        report_error(self._window, error.with_traceback(trace))
