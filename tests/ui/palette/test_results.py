"""What a line of the palette shows of a text that is longer than the line."""

from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QApplication

from bertviewer.ui.palette.matching import match, words_of
from bertviewer.ui.palette.results import _lay_out
from bertviewer.ui.palette.search_index import Hit
from bertviewer.ui.palette.sources import SEPARATOR


def shown(text: str, query: str) -> str:
    found = match(words_of(query), text)
    assert found is not None
    return _lay_out(Hit(0, text, found), QFont(), QColor(), QColor(), 400).text()


def test_what_matches_far_behind_comes_into_sight(qapp: QApplication) -> None:
    text = f"Views{SEPARATOR}{'many other words ' * 40}and token norms by layer"
    line = shown(text, "token norms")
    assert line.startswith(f"Views{SEPARATOR}…")
    assert "token norms" in line


def test_what_is_in_sight_is_shown_from_its_beginning(qapp: QApplication) -> None:
    text = f"Views{SEPARATOR}a few words and token norms {'and many other words ' * 40}"
    for query in ("token norms", "views"):
        assert shown(text, query).startswith(f"Views{SEPARATOR}a few words")
