"""Tooltips say literally what they were given."""

import pytest
from PySide6.QtGui import QTextDocumentFragment

from bertviewer.ui.tips import plain_tip


@pytest.mark.parametrize(
    "text", ["token 0: <s>, id 0", "<img src=x> & more", "&lt;b>", "a & b", "plain"]
)
def test_what_looks_like_html_is_shown_as_it_is(text: str) -> None:
    tip = plain_tip(text)
    shown = QTextDocumentFragment.fromHtml(tip).toPlainText() if tip.startswith("<p>") else tip
    assert shown == text


def test_lines_stay_lines() -> None:
    tip = plain_tip("<s>\nsecond")
    assert QTextDocumentFragment.fromHtml(tip).toPlainText().splitlines() == ["<s>", "second"]
