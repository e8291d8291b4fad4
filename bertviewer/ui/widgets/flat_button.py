"""A small button of a sign or a word, without a frame until the mouse is over it."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QToolButton

from bertviewer.ui.theme.icons import SIZE, put_icon
from bertviewer.ui.widgets.layouts import tool_button


def flat_button(name: str, text: str, tip: str, icon: str = "") -> QToolButton:
    """Return a button of that object name; its tip is also what a screen reader says of it.

    Raises:
        FileNotFoundError: there is no line icon of that name.
    """
    button = tool_button(name, text, tip)
    button.setAccessibleName(tip)
    button.setAutoRaise(True)
    if icon:
        put_icon(button, icon)
        button.setIconSize(QSize(SIZE, SIZE))
    return button
