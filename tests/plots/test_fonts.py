"""Fonts: bundled families, weights, sizes, and letters that a PDF keeps."""

import io

import pypdf
import pytest
from PySide6.QtCore import QBuffer, QIODevice, QPointF
from PySide6.QtGui import QFontInfo, QFontMetricsF, QPainter, QPdfWriter
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import STRONG
from bertviewer.plots.fonts import (
    load_fonts,
    monospaced,
    sized,
    tabular,
    weighted,
    window_font,
)


@pytest.fixture(autouse=True)
def _fonts(qapp: QApplication) -> None:
    load_fonts()


def test_the_families_are_bundled() -> None:
    assert set(load_fonts()) == {"Inter", "JetBrains Mono"}
    assert QFontInfo(window_font()).family() == "Inter"
    assert QFontInfo(monospaced(window_font())).family() == "JetBrains Mono"


def test_a_heavier_weight_is_wider_in_the_same_family() -> None:
    plain, strong = window_font(), weighted(window_font(), STRONG)
    assert QFontInfo(strong).family() == "Inter"
    widths = [QFontMetricsF(font).horizontalAdvance("parameters") for font in (plain, strong)]
    assert widths[0] < widths[1] < 1.2 * widths[0]


def test_tabular_digits_are_equally_wide() -> None:
    metrics = QFontMetricsF(tabular(window_font()))
    assert len({metrics.horizontalAdvance(digit) for digit in "0123456789"}) == 1


def test_sizes_follow_the_font_of_the_application(qapp: QApplication) -> None:
    before = qapp.font()
    try:
        large = window_font()
        large.setPixelSize(26)
        qapp.setFont(large)
        assert sized(window_font(), 12).pixelSize() == 24
    finally:
        qapp.setFont(before)


@pytest.mark.parametrize("is_mono", [False, True])
def test_a_pdf_keeps_the_letters(is_mono: bool) -> None:
    text = "[CLS] 3x3 -> (512) <s> 0:1 ##ing"
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    painter = QPainter(writer)
    painter.setFont(monospaced(window_font()) if is_mono else window_font())
    painter.drawText(QPointF(100, 300), text)
    painter.end()
    (page,) = pypdf.PdfReader(io.BytesIO(bytes(buffer.data().data()))).pages
    assert " ".join(page.extract_text().split()) == text
