"""The words of figures: whoever asks for one says in which language.

What makes a figure takes a ``translate``, and calls it as ``translate("charts", "Layer")``: Qt's
lupdate finds texts by that name. Without one they are English.
"""

from collections.abc import Callable

Translate = Callable[[str, str], str]
"""Gives a text in another language, from its context and the English text."""


def english(context: str, text: str) -> str:
    """Return the text as it is, whatever it is about."""
    return text
