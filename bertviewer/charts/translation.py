"""The words of figures, in the language of the program: English, unless it has another one.

Charts know nothing of Qt, and Qt's lupdate finds texts by the name of this function: the window
gives it the way to its catalogue.
"""

from collections.abc import Callable

Translate = Callable[[str, str], str]
"""Gives a text in another language, from its context and the English text."""

_catalogue: Translate | None = None


def translate(context: str, text: str) -> str:
    """Return a text in the language of the program, as ``translate("charts", "Layer")``."""
    return text if _catalogue is None else _catalogue(context, text)


def speak(catalogue: Translate | None) -> None:
    """Have figures speak the language of a catalogue, English without one."""
    global _catalogue  # noqa: PLW0603 - a program has one language
    _catalogue = catalogue
