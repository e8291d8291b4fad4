"""The line above a pane: what it is, and the buttons that move it, which the pointer brings."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QEnterEvent, QPalette
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from bertviewer.charts.theme import GRID, SMALL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.theme.icons import SIZE, put_icon
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import STRETCH, hbox

HEIGHT = 32


class PaneTitle(QWidget):
    """A caption, room for a widget of the pane's own, and ``tear_off``, ``maximise``, ``close``.

    A press beside the buttons moves the pane: nothing here takes it. One that does not stay is
    there only while the pane is a window of its own.
    """

    def __init__(
        self, title: str, name: str, extra: QWidget | None = None, *, stays: bool = True
    ) -> None:
        super().__init__()
        self._stays, self._is_floating = stays, False
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        caption = QLabel(title.upper())
        caption.setTextFormat(Qt.TextFormat.PlainText)
        caption.setFont(weighted(sized(caption.font(), SMALL)))
        caption.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.tear_off = _button(
            f"{name}TearOff", "tear-off", self.tr("Open this panel in its own window")
        )
        self.maximise = _button(f"{name}Maximise", "maximise", self.tr("Maximize this panel"))
        self.close_button = _button(f"{name}Close", "close", self.tr("Close this panel"))
        self._buttons: tuple[QToolButton, ...] = (
            self.tear_off,
            self.maximise,
            self.close_button,
        )
        layout = hbox(caption, STRETCH, parent=self, margins=(3 * GRID, GRID, GRID, 0), spacing=0)
        if extra is not None:
            layout.addWidget(extra)
            layout.addSpacing(GRID)
        for button in self._buttons:
            layout.addWidget(button)
        self._show_buttons(False)

    def sizeHint(self) -> QSize:
        """Return the line's height; Qt's docks go by it and not by a fixed height."""
        return QSize(super().sizeHint().width(), self._height)

    def minimumSizeHint(self) -> QSize:
        """Return the same height for the narrowest pane; Qt calls it."""
        return QSize(0, self._height)

    @property
    def _height(self) -> int:
        return HEIGHT if self._stays or self._is_floating else 0

    def show_maximised(self, is_maximised: bool) -> None:
        """Have the button undo what it did, and stay in sight until then."""
        put_icon(self.maximise, "restore" if is_maximised else "maximise")
        tip = (
            self.tr("Restore the other panels") if is_maximised else self.tr("Maximize this panel")
        )
        self.maximise.setToolTip(tip)
        self.maximise.setAccessibleName(tip)
        self.maximise.setProperty("stays", is_maximised)
        self._show_buttons(self.underMouse())

    def show_floating(self, is_floating: bool) -> None:
        """Have the buttons of a pane that is a window of its own: put back and close."""
        self._is_floating = is_floating
        self.updateGeometry()
        put_icon(self.tear_off, "restore" if is_floating else "tear-off")
        tip = (
            self.tr("Put this panel back")
            if is_floating
            else self.tr("Open this panel in its own window")
        )
        self.tear_off.setToolTip(tip)
        self.tear_off.setAccessibleName(tip)
        self._buttons = (
            (self.tear_off, self.close_button)
            if is_floating
            else (self.tear_off, self.maximise, self.close_button)
        )
        self.maximise.setVisible(False)
        for button in self._buttons:
            button.setProperty("stays", is_floating)
        self._show_buttons(self.underMouse())

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the buttons; Qt calls it."""
        super().enterEvent(event)
        self._show_buttons(True)

    def leaveEvent(self, event: QEvent) -> None:
        """Take the buttons out of sight; Qt calls it."""
        super().leaveEvent(event)
        self._show_buttons(False)

    def _show_buttons(self, shown: bool) -> None:
        for button in self._buttons:
            button.setVisible(shown or bool(button.property("stays")))


def _button(name: str, icon: str, tip: str) -> QToolButton:
    button = flat_button(name, "", tip, icon)
    button.setIconSize(QSize(SIZE - 2, SIZE - 2))
    # Panes are moved by keys from the menu; the buttons would be three more stops on each way.
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return button
