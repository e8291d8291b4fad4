"""Formula with numbers below it, in columns."""

from collections.abc import Callable
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.count_steps import CountTerm
from bertviewer.ui.module.count_view import CountView


@pytest.fixture
def view(qtbot: QtBot) -> CountView:
    terms = (
        CountTerm("V·D", "30522·384", 11_720_448),
        CountTerm("+ N·(4·D² + 2·D·I + 9·D + I)", "+ 6·(4·384² + 2·384·1536)", 10_646_784),
        CountTerm("− D", "− 384", -384),
    )
    view = CountView(terms, "22,366,848 ✓")
    qtbot.addWidget(view)
    return view


def test_the_text_that_is_copied_and_read_aloud(view: CountView) -> None:
    assert view.text() == (
        "V·D + N·(4·D² + 2·D·I + 9·D + I) − D\n"
        "= 30522·384 + 6·(4·384² + 2·384·1536) − 384\n"
        "= 11,720,448 + 10,646,784 − 384\n"
        "= 22,366,848 ✓"
    )
    assert view.accessibleDescription() == view.text()


def test_terms_in_rows(view: CountView, image: Callable[[str, Any], None]) -> None:
    heights = []
    for width in (300, 250, 110):
        heights.append(view.heightForWidth(width))
        view.resize(width, heights[-1])
        image(f"count_{width}", view)
    assert heights == sorted(heights)
