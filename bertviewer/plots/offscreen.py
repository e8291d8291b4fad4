"""QApplication without a window, for fonts and plots of commands and scripts."""

import os

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication

from bertviewer.plots.fonts import load_fonts, window_font


def offscreen_application() -> QCoreApplication:
    """Return the current application, or a new one that needs no display.

    The caller keeps the reference: a new application ends with its last reference.
    """
    application = QApplication.instance()
    if application is None:
        before = os.environ.get("QT_QPA_PLATFORM")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        try:
            application = QApplication(["bertviewer"])
        finally:
            del os.environ["QT_QPA_PLATFORM"]
            if before is not None:
                os.environ["QT_QPA_PLATFORM"] = before
        load_fonts()
        application.setFont(window_font())
    return application
