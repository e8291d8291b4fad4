"""Where the ink is on a page."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

SIZE = 0.25
"""Pixels for each point."""
_NO_INK = 235


def inked(page: bytes) -> NDArray[np.bool_]:
    """Return which pixels of one of ``TypesetReport.pages`` have ink, row by row."""
    renderer = QSvgRenderer(QByteArray(page))
    image = QImage(renderer.defaultSize() * SIZE, QImage.Format.Format_Grayscale8)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), -1)
    return rows[:, : image.width()] < _NO_INK
