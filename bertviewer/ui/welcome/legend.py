"""What the colours of the models' pictures mean."""

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.charts.theme import GRID, SMALL, Part
from bertviewer.plots.fonts import sized
from bertviewer.plots.stack_picture import STRENGTH
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.widgets.labels import muted
from bertviewer.ui.widgets.layouts import hbox

PARTS: tuple[tuple[Part, str], ...] = (
    ("embeddings", QT_TRANSLATE_NOOP("legend", "embeddings")),
    ("attention", QT_TRANSLATE_NOOP("legend", "attention")),
    ("feed-forward", QT_TRANSLATE_NOOP("legend", "feed-forward")),
    ("head", QT_TRANSLATE_NOOP("legend", "head")),
)


class _Swatch(QWidget):
    """A square of a part's colour."""

    def __init__(self, part: Part) -> None:
        super().__init__()
        self._part = part
        self.setFixedSize(QSize(2 * GRID, 2 * GRID))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it; Qt calls it."""
        painter = QPainter(self)
        theme = theme_of(self)
        painter.fillRect(QRectF(self.rect()), QColor(theme.shade(self._part, STRENGTH)))
        painter.end()


class Legend(QWidget):
    """A square and a name for each part, and what an area is."""

    def __init__(self) -> None:
        super().__init__()
        line = hbox(parent=self, spacing=GRID)
        for part, name in PARTS:
            line.addWidget(_Swatch(part))
            line.addWidget(_small(translate("legend", name)))
            line.addSpacing(GRID)
        line.addWidget(_small(translate("legend", "area = parameters")))


def _small(text: str) -> QLabel:
    label = muted(QLabel(text))
    label.setFont(sized(label.font(), SMALL))
    return label
