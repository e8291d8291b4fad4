"""The program's own line icons, always in the colour of the words beside them."""

from functools import cache
from math import ceil

from PySide6.QtCore import QByteArray, QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QImage, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton

from bertviewer.core.util.files import resources_folder

SIZE = 16
"""Pixels of an icon's side, at which its lines are sharp."""

_NAME = "lineIcon"


def put_icon(button: QAbstractButton, name: str) -> None:
    """Give a button an icon that follows the theme.

    Raises:
        FileNotFoundError: there is none of that name in ``resources/icons/lines``.
    """
    # No icon engine of Python's own: Qt would still ask for it when Python has ended.
    if button.property(_NAME) is None:
        button.installEventFilter(_Follower(button))
    button.setProperty(_NAME, name)
    button.setIcon(line_icon(name))


def line_icon(name: str) -> QIcon:
    """Return the icon of that name in the colours of this moment.

    Raises:
        FileNotFoundError: there is none.
    """
    icon = QIcon()
    palette = QGuiApplication.palette()
    for mode, group in (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Active),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    ):
        color = palette.color(group, QPalette.ColorRole.ButtonText).name()
        for scale in {1, ceil(QGuiApplication.primaryScreen().devicePixelRatio())}:
            icon.addPixmap(QPixmap.fromImage(_drawn(name, color, scale)), mode)
    return icon


@cache
def _drawn(name: str, color: str, scale: int) -> QImage:
    source = (resources_folder() / "icons" / "lines" / f"{name}.svg").read_text(encoding="utf-8")
    renderer = QSvgRenderer(QByteArray(source.replace("currentColor", color).encode()))
    made = QImage(SIZE * scale, SIZE * scale, QImage.Format.Format_ARGB32_Premultiplied)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    renderer.render(painter, QRectF(made.rect()))
    painter.end()
    made.setDevicePixelRatio(scale)
    return made


class _Follower(QObject):
    """Draws a button's icon anew when colours change."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the palette; Qt calls it."""
        if event.type() == QEvent.Type.PaletteChange and isinstance(watched, QAbstractButton):
            watched.setIcon(line_icon(str(watched.property(_NAME))))
        return super().eventFilter(watched, event)
