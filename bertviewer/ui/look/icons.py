"""The program's own line icons, always in the colour of the words beside them."""

from functools import cache

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QIconEngine, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer

from bertviewer.core.system.resources import resources_folder

SIZE = 16
"""Pixels of an icon's side, at which its lines are sharp."""


def line_icon(name: str) -> QIcon:
    """Return the icon of that name in ``resources/icons/lines``.

    It is drawn in the palette's colours of the moment, so that it follows the theme.

    Raises:
        FileNotFoundError: there is none.
    """
    return QIcon(_LineIcon(name))


class _LineIcon(QIconEngine):
    """Draws an SVG whose lines are of the current colour."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        _source(name)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Draw it into a rectangle; Qt calls it."""
        del state
        group = (
            QPalette.ColorGroup.Disabled
            if mode == QIcon.Mode.Disabled
            else QPalette.ColorGroup.Active
        )
        color = QGuiApplication.palette().color(group, QPalette.ColorRole.ButtonText).name()
        _renderer(self._name, color).render(painter, QRectF(rect))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """Return it as a picture of that size; Qt calls it."""
        made = QPixmap(size)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        painter.end()
        return made

    def clone(self) -> QIconEngine:
        """Return another one of the same icon; Qt calls it."""
        return _LineIcon(self._name)


@cache
def _source(name: str) -> str:
    return (resources_folder() / "icons" / "lines" / f"{name}.svg").read_text(encoding="utf-8")


@cache
def _renderer(name: str, color: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_source(name).replace("currentColor", color).encode()))
