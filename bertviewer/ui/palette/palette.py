"""Command palette: the field in the top bar, and what opens the popup below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QApplication, QPushButton, QSizePolicy, QWidget
from shiboken6 import isValid
from typing_extensions import override

from bertviewer.charts.theme import GRID, RADIUS, SMALL
from bertviewer.plots.fonts import sized

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bertviewer.ui.actions.action import Entry
    from bertviewer.ui.palette.popup import PalettePopup
    from bertviewer.ui.palette.sources import TopicSources
    from bertviewer.ui.state.workspace import Workspace

TOP = 60
"""Distance of the popup from the window's upper edge in pixels, if the field is hidden."""

MAX_WIDTH, WIDTH, MIN_WIDTH = 380, 220, 80
LENS = 5
"""The radius of the magnifying glass in pixels."""


class Palette(QObject):
    """Opens the palette over the window; it is built when it is first opened.

    Args:
        workspace: the state that is searched.
        entries: returns the table of actions.
        show_guide: shows the user guide at an address.
        window: the window.
    """

    def __init__(
        self,
        workspace: Workspace,
        entries: Callable[[], Sequence[Entry]],
        show_guide: Callable[[str], None],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self.field: PaletteField | None = None
        """The field that it opens over."""
        self._workspace, self._entries, self._show_guide = workspace, entries, show_guide
        self._window = window
        self._popup: PalettePopup | None = None
        self._topics: TopicSources | None = None
        self._focused: QWidget | None = None

    def open(self, typed: str = "") -> None:
        """Show the palette with this text, and give it the focus."""
        from bertviewer.ui.palette.sources import TopicSources, first_sources, sources_of

        popup = self._popup = self._popup or self._build()
        if popup.isHidden():
            self._focused = QApplication.focusWidget()
        place, field = QPoint(self._window.width() // 2, TOP), self.field
        if field is not None and field.isVisible():
            # Over it, edit over button, so that one field is seen and not two.
            place = field.mapTo(self._window, QPoint(field.width() // 2, -2 * GRID))
            place.setY(max(0, place.y()))
        self._topics = self._topics or TopicSources()
        entries = self._entries()
        sources = sources_of(entries, self._workspace, self._show_guide, self._topics)
        popup.open_at(place, sources, first_sources(entries, self._workspace), typed)

    def _build(self) -> PalettePopup:
        from bertviewer.ui.palette.popup import PalettePopup

        popup = PalettePopup(self._window)
        popup.chosen.connect(lambda item: item.choose())
        popup.left.connect(self._on_left)
        return popup

    def _on_left(self, restores_focus: bool) -> None:
        focused, self._focused = self._focused, None
        # It may have been deleted meanwhile, with its window.
        if restores_focus and focused is not None and isValid(focused) and focused.isVisible():
            focused.setFocus(Qt.FocusReason.PopupFocusReason)


class PaletteField(QPushButton):
    """A button that looks like a field: a click, Enter or any letter opens the palette.

    Args:
        palette: what it opens.
        keys: the palette's shortcut, which is drawn at the right.
    """

    def __init__(self, palette: Palette, keys: str) -> None:
        super().__init__()
        self._palette = palette
        palette.field = self
        self._keys = keys.replace("+", " ")
        self.setObjectName("paletteField")
        self.setText(self.tr("Search modules, tensors, commands"))
        self.setAccessibleName(self.text())
        self.setToolTip(self.tr("Find modules, tensors, commands ({0})").format(keys))
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(MAX_WIDTH)
        self.clicked.connect(self._open)

    def _open(self) -> None:
        self._palette.open()

    @override
    def sizeHint(self) -> QSize:
        return QSize(WIDTH, self.fontMetrics().height() + 3 * GRID)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(MIN_WIDTH, self.sizeHint().height())

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open()
        elif event.text().strip() and event.text().isprintable():
            self._palette.open(event.text())
        else:
            super().keyPressEvent(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        colors, role = self.palette(), QPalette.ColorRole
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colors.color(role.Accent if self.hasFocus() else role.Mid), 1))
        painter.setBrush(colors.color(role.Base if self.underMouse() else role.Window))
        whole = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(whole, RADIUS, RADIUS)
        painter.setPen(QPen(colors.color(role.PlaceholderText), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        middle = QPointF(4.5 * GRID, whole.center().y() - 1)
        painter.drawEllipse(middle, LENS, LENS)
        edge = middle + QPointF(LENS, LENS) * 0.75
        painter.drawLine(edge, edge + QPointF(4, 4))
        room = self.rect().adjusted(8 * GRID, 0, -self._draw_keys(painter) - 4 * GRID, 0)
        painter.setPen(colors.color(role.PlaceholderText))
        right = Qt.TextElideMode.ElideRight
        text = self.fontMetrics().elidedText(self.text(), right, room.width())
        painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter), text)
        painter.end()

    def _draw_keys(self, painter: QPainter) -> int:
        """Draw the shortcut in a frame at the right, and return its width."""
        font = painter.font()
        painter.setFont(sized(font, SMALL))
        metrics = painter.fontMetrics()
        width, height = metrics.horizontalAdvance(self._keys) + 2 * GRID, metrics.height() + 2
        key = QRectF(self.width() - width - 2 * GRID, (self.height() - height) / 2, width, height)
        painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Mid), 1))
        painter.drawRoundedRect(key, GRID, GRID)
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        painter.drawText(key, int(Qt.AlignmentFlag.AlignCenter), self._keys)
        painter.setFont(font)
        return width
