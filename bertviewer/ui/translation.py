"""The window's language: what translates texts, and what marks those in tables for it."""

from PySide6.QtCore import QCoreApplication


def translate(context: str, text: str) -> str:
    """Return a text in the language of the program, English if nothing translates it."""
    return QCoreApplication.translate(context, text)


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """Return ``text``; Qt's lupdate finds it by this function's name.

    PySide6's own function is declared to return any object.
    """
    return text
