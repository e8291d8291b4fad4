"""Elided labels, and tooltips of plain text."""

import pytest
from PySide6.QtGui import QTextDocumentFragment
from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip

TEXT = "bank looks most at <s> & the river"


def plain_text(tooltip: str) -> str:
    """Return the text that a tooltip shows."""
    is_html = tooltip.startswith("<p>")
    return QTextDocumentFragment.fromHtml(tooltip).toPlainText() if is_html else tooltip


@pytest.mark.parametrize(
    ("tooltip", "whole", "elided"),
    [
        ("", "", TEXT),
        ("what it means", "what it means", f"{TEXT}\nwhat it means"),
        ("1 < 2", "1 < 2", f"{TEXT}\n1 < 2"),
        (TEXT, TEXT, TEXT),
    ],
)
def test_an_elided_text_is_in_the_tooltip(
    qtbot: QtBot, tooltip: str, whole: str, elided: str
) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText(TEXT)
    label.setToolTip(plain_tooltip(tooltip))
    label.resize(600, 20)
    assert label.shown_text == TEXT
    assert plain_text(label.shown_tooltip) == whole
    picture = label.grab().toImage()
    label.resize(60, 20)
    assert label.shown_text.endswith("…")
    assert plain_text(label.shown_tooltip) == elided
    assert label.grab().toImage() != picture.copy(0, 0, 60, 20)
    assert label.minimumSizeHint().width() == 0


@pytest.mark.parametrize(
    "text",
    ["token 0: <s>, id 0", "<img src=x> & more", "&lt;b>", "a & b", "plain", "<s>\nsecond"],
)
def test_tooltips_show_their_text_literally(text: str) -> None:
    assert plain_text(plain_tooltip(text)) == text
