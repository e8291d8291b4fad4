"""Qt's application in a process that has no window: fonts and plots need one, and no display."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtCore import QCoreApplication


def windowless_application() -> "QCoreApplication":
    """Return the application that there is, or a new one; it ends when nothing holds it."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtWidgets import QApplication

    return QApplication.instance() or QApplication(["bertviewer"])
