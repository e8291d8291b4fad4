"""Translation of the texts of charts, without Qt.

Qt's lupdate finds texts by the name of the function ``translate``. The window provides the
catalogue; without one, texts are in English.
"""

from collections.abc import Callable

Translate = Callable[[str, str], str]
"""Returns the translation of a text, from its context and the English text."""

_catalogue: Translate | None = None


def translate(context: str, text: str) -> str:
    """Return a text in the language of the program: ``translate("charts", "Layer")``."""
    return text if _catalogue is None else _catalogue(context, text)


def speak(catalogue: Translate | None) -> None:
    """Set the catalogue of the language, ``None`` for English."""
    global _catalogue  # noqa: PLW0603 - a program has one language
    _catalogue = catalogue
