"""Back and forward: two buttons, and the two of a mouse."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QMouseEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from bertviewer.ui.actions.action import tip_of
from bertviewer.ui.shell.action_table import action_of
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import hbox

_PRESSES = (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick)


class HistoryButtons(QWidget):
    """The window that it stands in also goes back by a mouse's fourth button, and forward."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._history = workspace.history
        self._back = flat_button("backButton", "", tip_of(action_of("goBack")), "back")
        self._forward = flat_button("forwardButton", "", tip_of(action_of("goForward")), "forward")
        self._back.clicked.connect(self._history.back)
        self._forward.clicked.connect(self._history.forward)
        hbox(self._back, self._forward, parent=self, spacing=0)
        self._history.changed.connect(self._update)
        self._update()

    def showEvent(self, event: QShowEvent) -> None:
        """Watch the window's mouse, whose presses tables and plots would keep; Qt calls it."""
        super().showEvent(event)
        if (handle := self.window().windowHandle()) is not None:
            handle.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go back or forward by the mouse; Qt calls it."""
        if event.type() in _PRESSES and isinstance(event, QMouseEvent):
            if event.button() == Qt.MouseButton.BackButton:
                self._history.back()
                return True
            if event.button() == Qt.MouseButton.ForwardButton:
                self._history.forward()
                return True
        return super().eventFilter(watched, event)

    def _update(self) -> None:
        # What is disabled loses the focus, which would go elsewhere by itself.
        self._back.setEnabled(self._history.can_go_back or self._back.hasFocus())
        self._forward.setEnabled(self._history.can_go_forward or self._forward.hasFocus())
