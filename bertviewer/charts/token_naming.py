"""What tokens are called: in titles, in lists, in the legends of charts."""

import unicodedata

from bertviewer.charts.translation import Translate, english
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.words import words_of
from bertviewer.core.text.text_direction import isolated

LONGEST = 16  # letters of a token in a list or a legend


def visible(text: str) -> str:
    """Return a token's text on one line: its control characters by name, spaces alone as ␣."""
    if text and not text.strip(" "):
        return "␣" * len(text)
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter
        for letter in text
    )


def shortened(text: str, length: int) -> str:
    """Return at most so many characters, and a sign that there are more."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def token_title(run: ActivationRun, token: int, translate: Translate = english) -> str:
    """Return a token's text and place, and those of its word: "river (token 5, word 4)"."""
    text = isolated(visible(run.tokens[token].text))
    word = next((word for word in words_of(run) if token in word.tokens), None)
    if word is None:
        return translate("charts", "{0} (token {1})").format(text, token)
    if len(word.tokens) == 1:
        return translate("charts", "{0} (token {1}, word {2})").format(text, token, word.number)
    says = translate("charts", "{0} (token {1}, in word {2}: {3})")
    return says.format(text, token, word.number, isolated(visible(word.text)))


def token_name(run: ActivationRun, token: int, partner: int | None = None) -> str:
    """Return a token's text and place, as "bank (2)".

    Where the same token of run A is at another place, that is told too: "bank (2, A 3)".
    """
    places = str(token) if partner in (None, token) else f"{token}, A {partner}"
    return f"{isolated(shortened(visible(run.tokens[token].text), LONGEST))} ({places})"
