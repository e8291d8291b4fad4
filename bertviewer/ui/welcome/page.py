"""The window's first page: what there is to open, or how far what is opened is."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QStackedWidget

from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.welcome.asking import Asking
from bertviewer.ui.welcome.drop_place import Opens
from bertviewer.ui.welcome.loading import LoadingPage

if TYPE_CHECKING:
    from bertviewer.ui.welcome.choices import Choices


class WelcomePage(QStackedWidget):
    """Follows the workspace. The choices are built when they are first seen.

    ``left`` says that a person wants to see the model that is open.
    """

    left = Signal()

    def __init__(self, workspace: Workspace, opening: Opens, asking: Asking, icon: QIcon) -> None:
        super().__init__()
        self.setObjectName("welcomePage")
        self._workspace = workspace
        self._opening, self._asking, self._icon = opening, asking, icon
        self._loading = LoadingPage(workspace.scheduler)
        self._choices: Choices | None = None
        self._note = ""
        self._is_expecting = False
        self.opens_by_itself = False
        """Whether nobody asked for what is opened: that it fails is no reason for a dialog."""
        self.addWidget(self._loading)
        opening.began.connect(self._loading.set_name)
        workspace.scheduler.activity_changed.connect(self._on_activity)
        asking.changed.connect(self._on_question)

    def expect(self, name: str, *, by_itself: bool = False) -> None:
        """Show that this model is being opened before that begins."""
        self._is_expecting, self.opens_by_itself = True, by_itself
        self._loading.set_name(name)

    def say(self, text: str) -> None:
        """Say something above the choices; nothing for an empty text."""
        self._note = text
        if self._choices is not None:
            self._choices.say(text)

    def event(self, event: QEvent) -> bool:
        """Notice that it comes into sight; Qt calls it."""
        if event.type() == QEvent.Type.Show:
            self._show()
        elif event.type() == QEvent.Type.Hide:
            self.opens_by_itself = False
        return super().event(event)

    def _on_activity(self) -> None:
        self._is_expecting = False
        if self._workspace.scheduler.activity:
            self._show_in_sight()
        else:
            # A model that has come is shown first, and then this page is out of sight.
            QTimer.singleShot(0, self, self._show_in_sight)

    def _show_in_sight(self) -> None:
        if self.isVisible():
            self._show()

    def _on_question(self) -> None:
        # Of a model that is open already nothing else is heard.
        if self._asking.is_of_open_model:
            self.left.emit()

    def _show(self) -> None:
        if self._is_expecting or self._workspace.scheduler.activity:
            if self.isAncestorOf(QApplication.focusWidget() or self._loading):
                # Not on to Cancel, which the next key would press.
                self.setFocus(Qt.FocusReason.OtherFocusReason)
            self.setCurrentWidget(self._loading)
            return
        if self._choices is None:
            from bertviewer.ui.welcome.choices import Choices  # not for a model that is named

            self._choices = Choices(self._opening, self._asking, self._icon)
            self._choices.left.connect(self.left)
            self._choices.say(self._note)
            self.addWidget(self._choices)
        architecture = self._workspace.architecture
        self._choices.show_open("" if architecture is None else architecture.source.name)
        self._choices.show_recent()
        self.setCurrentWidget(self._choices)
