"""Pages as pictures: the letters of all figures are there."""

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtGui import QImage

from bertviewer.report.blocks import Figure, Section
from bertviewer.report.document import ReportDocument
from bertviewer.report.typesetting import TypesetReport, page_png
from tests.report.reading import with_texts

PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="120" viewBox="0 0 400 120" '
    'font-family="Inter"><clipPath id="a"><path d="M0 0H{0}V120H0Z"/></clipPath>'
    '<g clip-path="url(#a)"><text x="40" y="80" font-size="50" fill="#ff0000">Letters</text></g>'
    "</svg>"
)
WIDTHS = {"whole": 400, "half": 140}
"""How much of each picture is not clipped off."""


def red_of(document: ReportDocument, *names: str) -> int:
    """Return how many pixels of the page with these figures are red."""
    figures = tuple(Figure(name, f"figure:{name}", (name,), name) for name in names)
    pictures = {name: PICTURE.format(WIDTHS[name]) for name in names}
    found = with_texts(document, Section("a", "A", figures))
    page = TypesetReport(replace(found, pictures=pictures)).pages()[2]
    image = QImage.fromData(page_png(page, 72)).convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    pixels = rows[:, : 3 * image.width()].reshape(image.height(), -1, 3).astype(int)
    return int(((pixels[..., 0] > 200) & (pixels[..., 1] < 100)).sum())


@pytest.mark.usefixtures("qapp")
def test_each_picture_has_its_letters_and_its_clips(document: ReportDocument) -> None:
    whole, half = red_of(document, "whole"), red_of(document, "half")
    assert 0 < half < whole
    assert red_of(document, "whole", "half") == pytest.approx(whole + half, rel=0.02)
