"""Names of tokens as Qt draws them."""

import pytest
from PySide6.QtGui import QTextLayout
from PySide6.QtWidgets import QApplication

from bertviewer.core.util.text import isolated


@pytest.mark.parametrize("piece", ["##م", "##ום", "▁م"])
def test_the_mark_of_a_piece_is_drawn_before_it_and_its_place_after_it(
    qapp: QApplication, piece: str
) -> None:
    """From left to right, as in a cell of the tokens: the mark, the letters, the number."""
    line = f"first  ·  {isolated(piece)} (3)"
    layout = QTextLayout(line)
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()

    def left(part: str) -> float:
        # Where it is drawn; a cursor between two directions has two places.
        [glyphs] = layout.glyphRuns(line.index(part), 1)
        return min(place.x() for place in glyphs.positions())

    mark, letter = piece[0], piece[-1]
    assert left("·") < left(mark) < left(letter) < left("(") < left("3") < left(")")
