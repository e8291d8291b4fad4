"""Elided labels, and tooltips that show plain text literally."""

import pytest
from PySide6.QtGui import QTextDocumentFragment
from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip

TEXT = "bank looks most at <s> & the river"


@pytest.mark.parametrize(
    ("tip", "wide", "cut"),
    [
        ("", "", TEXT),
        ("what it means", "what it means", f"{TEXT}\nwhat it means"),
        ("1 < 2", "1 < 2", f"{TEXT}\n1 < 2"),
        (TEXT, TEXT, TEXT),
    ],
)
def test_a_text_that_is_cut_is_told_whole_before_its_tip(
    qtbot: QtBot, tip: str, wide: str, cut: str
) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText(TEXT)
    label.setToolTip(plain_tooltip(tip))
    label.resize(600, 20)
    assert label.shown_text == TEXT
    assert read(label.shown_tooltip) == wide
    label.resize(60, 20)
    assert label.shown_text.endswith("…")
    assert read(label.shown_tooltip) == cut


def read(tip: str) -> str:
    """Return what a person reads of a tip."""
    return QTextDocumentFragment.fromHtml(tip).toPlainText() if tip.startswith("<p>") else tip


@pytest.mark.parametrize(
    "text", ["token 0: <s>, id 0", "<img src=x> & more", "&lt;b>", "a & b", "plain"]
)
def test_what_looks_like_html_is_shown_as_it_is(text: str) -> None:
    tip = plain_tooltip(text)
    shown = QTextDocumentFragment.fromHtml(tip).toPlainText() if tip.startswith("<p>") else tip
    assert shown == text


def test_lines_stay_lines() -> None:
    tip = plain_tooltip("<s>\nsecond")
    assert QTextDocumentFragment.fromHtml(tip).toPlainText().splitlines() == ["<s>", "second"]
