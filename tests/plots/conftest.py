"""A window for plots to live in."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """Return a shown window; a plot in it lives and ends as in the program."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(2000, 320)
    with qtbot.waitExposed(window):
        window.show()
    return window
