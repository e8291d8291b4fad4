"""Strangers' texts, made fit to be shown on one line anywhere."""

import json


def printable(text: str) -> str:
    """Return a text with an escape for each character that is none to see.

    Such characters move a terminal's cursor, change its colours or turn the direction of writing.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def printable_json(line: str) -> str:
    """Return a line of JSON with JSON's own escapes for the same characters."""
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in line)


def shortened(text: str, most: int) -> str:
    """Return a text as ``printable``, with an ellipsis if it is longer than ``most`` characters."""
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def as_sentence(message: str) -> str:
    """Return what stands behind a colon in the terminal as a sentence of its own.

    A name or path that it begins with stays as it is.
    """
    first, space, rest = message.partition(" ")
    return f"{first.capitalize()}{space}{rest}" if first.isalpha() and first.islower() else message
