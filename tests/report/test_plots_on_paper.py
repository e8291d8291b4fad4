"""Plots set by Typst: an archive's PDF takes each kind, and their words are words in it."""

import io
from collections.abc import Sequence

import pypdf
import pytest
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.charts.theme import GREY, PAPER, Theme
from bertviewer.plots.export import plot_svg
from bertviewer.plots.fonts import load_fonts
from bertviewer.report.script_fonts import choose_fonts
from bertviewer.report.typst_compiler import compiled
from tests.plots.kinds import HEIGHT, KINDS, WIDTH, Show

PAGE = b"""
#set document(title: "plot", date: datetime(year: 2026, month: 1, day: 2))
#set page(width: auto, height: auto, margin: 0pt)
#set text(font: "Inter")
#image("plot.svg", alt: "a plot")
"""


@pytest.mark.parametrize("theme", [PAPER, GREY], ids=["paper", "grey"])
@pytest.mark.parametrize(("show", "words"), KINDS.values(), ids=KINDS)
def test_each_kind_is_taken(
    qapp: QApplication, theme: Theme, show: Show, words: Sequence[str]
) -> None:
    load_fonts()
    window = QWidget()
    svg = plot_svg(show(window), WIDTH, HEIGHT, theme)
    fonts = choose_fonts(svg)
    files = {"main.typ": PAGE, "plot.svg": fonts.printable(svg).encode()}
    (pdf,) = compiled(files, with_system=fonts.with_system, format="pdf", pdf_standards=["a-2a"])
    (page,) = pypdf.PdfReader(io.BytesIO(pdf)).pages
    found = " ".join(page.extract_text(orientations=(0, 90)).split())
    for word in words:
        # Another script may have no font here, and reads in another order.
        if word.isascii():
            assert word in found, word
    assert bool(page.images) == (show is KINDS["large"][0])
