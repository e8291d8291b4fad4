"""Line icons in the colour of the text."""

from functools import cache
from math import ceil

from PySide6.QtCore import QByteArray, QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QImage, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton
from typing_extensions import override

from bertviewer.core.util.files import resources_folder

SIZE = 16
"""Width and height in pixels, at which the lines are sharp."""

_NAME = "lineIcon"


def put_icon(button: QAbstractButton, name: str) -> None:
    """Give a button an icon that follows the theme.

    Raises:
        FileNotFoundError: ``resources/icons/lines`` has no icon of that name.
    """
    # Not a QIconEngine in Python: Qt would call it after Python has ended.
    if button.property(_NAME) is None:
        button.installEventFilter(_PaletteFilter(button))
    button.setProperty(_NAME, name)
    button.setIcon(line_icon(name))


def line_icon(name: str) -> QIcon:
    """Return the icon of that name in the present colours.

    Raises:
        FileNotFoundError: there is no icon of that name.
    """
    icon = QIcon()
    palette = QGuiApplication.palette()
    for mode, group in (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Active),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    ):
        color = palette.color(group, QPalette.ColorRole.ButtonText).name()
        for scale in {1, ceil(QGuiApplication.primaryScreen().devicePixelRatio())}:
            icon.addPixmap(QPixmap.fromImage(_render(name, color, scale)), mode)
    return icon


@cache
def _render(name: str, color: str, scale: int) -> QImage:
    source = (resources_folder() / "icons" / "lines" / f"{name}.svg").read_text(encoding="utf-8")
    renderer = QSvgRenderer(QByteArray(source.replace("currentColor", color).encode()))
    made = QImage(SIZE * scale, SIZE * scale, QImage.Format.Format_ARGB32_Premultiplied)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    renderer.render(painter, QRectF(made.rect()))
    painter.end()
    made.setDevicePixelRatio(scale)
    return made


class _PaletteFilter(QObject):
    """Replaces a button's icon when the palette changes."""

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.PaletteChange and isinstance(watched, QAbstractButton):
            watched.setIcon(line_icon(str(watched.property(_NAME))))
        return super().eventFilter(watched, event)
