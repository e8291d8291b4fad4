"""Text from untrusted files, made safe for one line, a sentence, Markdown and Python code."""

import json
import keyword
import re
import unicodedata
from collections.abc import Iterable, Sequence

MAX_SHOWN = 80  # characters of a name in a message

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
"""Indents a cell of a Markdown table, where leading spaces are dropped."""

FIRST_STRONG_ISOLATE, LEFT_TO_RIGHT_ISOLATE, POP_ISOLATE = "\u2068", "\u2066", "\u2069"
"""Invisible characters that delimit a part of a line with its own writing direction (Unicode
Standard Annex 9)."""

# Patterns are compiled when they are first used: every start imports this module.
_MARKDOWN = r"[\\`*_{}\[\]<>#|$&~]"
_LINK = r"(?i)(?<=:)/|(?<=www)\."
_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_STARTS = FIRST_STRONG_ISOLATE + LEFT_TO_RIGHT_ISOLATE
_ISOLATED = f"[{_STARTS}]([^{_STARTS}{POP_ISOLATE}]*){POP_ISOLATE}"
_ISOLATE = "[\u2066-\u2069]"
_MARKED_PIECE = r"(?s)##|▁|.*(?:@@|</w>)$"
"""A piece of a word with the vocabulary's mark at its start or end."""


def printable(text: str) -> str:
    """Return a text with escapes for the characters that are not printable.

    They move a terminal's cursor, change its colours or reverse the writing direction.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def printable_json(line: str) -> str:
    """Return a line of JSON with JSON escapes for the characters that are not printable."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def shortened(text: str, most: int) -> str:
    """Return ``printable(text)``, cut to ``most`` characters with an ellipsis."""
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown_name(name: str) -> str:
    """Return a name in quotes for a message, on one line and shortened."""
    text = repr(name)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…'"


def listed(names: Sequence[str], most: int) -> str:
    """Return the first ``most`` names, separated by commas, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def joined(words: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"; "" of no words."""
    *others, last = words or ("",)
    return f"{', '.join(others)} and {last}" if others else last


def upper_first(text: str) -> str:
    """Return a text with its first letter in upper case; the others are unchanged."""
    return f"{text[:1].upper()}{text[1:]}"


def lower_first(text: str) -> str:
    """Return a text with its first letter in lower case; the others are unchanged."""
    return f"{text[:1].lower()}{text[1:]}"


def as_sentence(message: str) -> str:
    """Return a message that follows a colon in the terminal with a capital first letter.

    A name or path at its start is left unchanged.
    """
    first, space, rest = message.partition(" ")
    return f"{first.capitalize()}{space}{rest}" if first.isalpha() and first.islower() else message


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; markup is escaped in the cells, not in the header."""
    lines = [header, ["---" for _ in header], *(list(map(markdown_cell, row)) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def markdown_cell(text: str) -> str:
    """Return a text escaped for a cell of a Markdown table."""
    parts = text.replace("\n", " ").split(NO_BREAK_SPACE)
    return "&nbsp;".join(printable(markdown_text(part)) for part in parts)


def markdown_text(text: str) -> str:
    """Escape Markdown's markup and links, except markup that only counts at a line's start."""
    return re.sub(_LINK, r"\\\g<0>", re.sub(_MARKDOWN, r"\\\g<0>", text))


def python_expression(path: str, root: str = "model") -> str:
    """Return the Python expression for a module's path: ``model.encoder.layer[3].query``.

    Numbers are items of a list. Names that are no identifiers are read with ``getattr``.
    """
    expression = root
    for name in path.split(".") if path else ():
        if name.isascii() and name.isdecimal() and str(int(name)) == name:
            expression = f"{expression}[{name}]"
        elif _is_identifier(name):
            expression = f"{expression}.{name}"
        else:
            expression = f"getattr({expression}, {name!r})"
    return expression


def _is_identifier(name: str) -> bool:
    # Python normalizes identifiers, which may change them.
    is_normal = unicodedata.normalize("NFKC", name) == name
    return name.isidentifier() and not keyword.iskeyword(name) and is_normal


def isolated(text: str) -> str:
    """Return a text for use in a sentence: in directional isolates if it has right-to-left letters.

    Without them "(12)" after Hebrew or Arabic letters would be drawn before these. The mark of a
    word piece, such as "##", is drawn at its left, as where the piece is alone in a cell.
    """
    if text.isascii() or not any(map(_is_right_to_left, text)):
        return text
    start = LEFT_TO_RIGHT_ISOLATE if re.match(_MARKED_PIECE, text) else FIRST_STRONG_ISOLATE
    return f"{start}{text}{POP_ISOLATE}"


def without_isolates(text: str) -> str:
    """Return a text as data: without the isolates that ``isolated`` adds.

    Paired isolates that were in the text before are removed too.
    """
    return re.sub(_ISOLATED, r"\1", text) if POP_ISOLATE in text else text


def has_paired_isolates(text: str) -> bool:
    """Return whether every isolate is closed, so that none affects what follows the text."""
    depth = 0
    for isolate in re.findall(_ISOLATE, text):
        depth += -1 if isolate == POP_ISOLATE else 1
        if depth < 0:
            return False
    return depth == 0


def _is_right_to_left(char: str) -> bool:
    return unicodedata.bidirectional(char) in _RIGHT_TO_LEFT
