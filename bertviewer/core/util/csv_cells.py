"""Texts of strangers as cells of CSV."""

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins so for something to calculate."""
_QUOTED = frozenset(',"\r\n')


def text_cell(text: str) -> str:
    """Return a text as a cell after RFC 4180 that is a text for spreadsheets too.

    One that would be a formula, as the token ``=``, gets an apostrophe before it.
    """
    safe = f"'{text}" if text.startswith(_FORMULAS) else text
    if _QUOTED.isdisjoint(safe):
        return safe
    doubled = safe.replace('"', '""')
    return f'"{doubled}"'
