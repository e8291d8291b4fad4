"""Marks texts in tables for translation."""


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """Return ``text``; Qt's lupdate finds it by this function's name.

    PySide6's own function is declared to return any object.
    """
    return text
