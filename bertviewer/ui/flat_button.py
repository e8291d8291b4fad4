"""A small button of a sign or a word, without a frame until the mouse is over it."""

from PySide6.QtWidgets import QToolButton


def flat_button(name: str, text: str, tip: str) -> QToolButton:
    """Return a button of that object name; its tip is also what a screen reader says of it."""
    button = QToolButton()
    button.setObjectName(name)
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setAutoRaise(True)
    return button
