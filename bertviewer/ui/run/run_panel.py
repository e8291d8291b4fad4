"""What is below the sentence once it has been run: its tokens, what the views are of, the views."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.run.shown_run_line import ShownLine
from bertviewer.ui.run.token_line import TokenLine
from bertviewer.ui.run.views import RunViews
from bertviewer.ui.run.why_button import WhyButton
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.staleness import paint_stripe
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, stacked, vbox


class RunPanel(QWidget):
    """Hidden until there is a run, and again when the model is another one.

    ``opened`` says that it has come or gone.
    """

    opened = Signal(bool)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._tokens = TokenLine(workspace)
        self._shown = ShownLine(workspace)
        self._views = RunViews(workspace)
        self._why = WhyButton(workspace, self._views.in_sight)
        self._views.currentChanged.connect(self._why.follow)
        self._wait = named(plain_label(self.tr("Running…")), "runWait")
        self._wait.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._wait.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._content = QWidget()
        self._rows = vbox(parent=self._content, spacing=0)
        above = hbox((self._tokens, 1), margins=(0, 0, 3 * GRID, 0))
        beside = QVBoxLayout()  # on a line with what colours the chips
        beside.setContentsMargins(0, GRID, 0, 0)
        beside.addWidget(self._why, 0, Qt.AlignmentFlag.AlignTop)
        above.addLayout(beside)
        self._rows.addLayout(above)
        self._rows.addWidget(self._shown)
        self._rows.addWidget(_inset(self._views), 1)
        self._pages = stacked(self._content, self._wait)
        vbox(self._pages, parent=self)
        self.hide()
        self._views.installEventFilter(self)
        self._views.tabBar().installEventFilter(self)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.runs.comparison_changed.connect(self._place_line)
        workspace.scheduler.activity_changed.connect(self._on_activity)
        self._shown.stale_changed.connect(self._on_stale)

    @property
    def statistic(self) -> str:
        """The statistic that is plotted per layer."""
        return self._views.layers.statistic

    def paintEvent(self, event: QPaintEvent) -> None:
        """Mark all results that are stale along their edge; Qt calls it."""
        super().paintEvent(event)
        if self._shown.is_stale:
            painter = QPainter(self)
            paint_stripe(painter, self)
            painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Find the place of the line; Qt calls it."""
        super().resizeEvent(event)
        self._place_line()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the views' own place, and the height of their tabs; Qt calls it."""
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize):
            if watched is self._views:
                self._place_line()
            else:
                self._workspace.draw_queue.later(self._place_line)
        return super().eventFilter(watched, event)

    def _on_run(self) -> None:
        if self._workspace.runs.run is not None:
            self._pages.setCurrentIndex(0)
            self._place_line()
            if self.isHidden():
                self.show()
                self.opened.emit(True)
            return
        self._views.clear()
        if not self.isHidden():
            # The same sentence may be run again at once, as with another head.
            self._workspace.draw_queue.later(self._close)

    def _on_stale(self) -> None:
        self._views.setAccessibleDescription(self._shown.stale)
        self.update()
        self._workspace.draw_queue.later(self._place_line)

    def _on_activity(self) -> None:
        if self._pages.currentIndex() == 1 and not self.isHidden():
            self._workspace.draw_queue.later(self._close)

    def changeEvent(self, event: QEvent) -> None:
        """Make room for larger titles of tabs; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._workspace.draw_queue.later(self._place_line)

    def _close(self) -> None:
        """Leave no dead space where there is no run, unless one is about to come."""
        if self._workspace.runs.run is not None or self.isHidden():
            return
        if self._workspace.scheduler.activity == "run":
            self._pages.setCurrentIndex(1)
            return
        self._pages.setCurrentIndex(0)
        self.hide()
        self.opened.emit(False)

    def _place_line(self) -> None:
        """Put the line beside the tabs where it has room there, and else above them."""
        bar = self._views.tabBar()
        taken = bar.sizeHint().width() + 2 * GRID
        is_beside = self.width() - taken >= self._shown.least
        place = self._rows.indexOf(self._shown)
        if not is_beside:
            if place < 0:
                self._rows.insertWidget(1, self._shown)
            return
        if place >= 0:
            self._rows.removeWidget(self._shown)
            self._rows.activate()
        top = self._views.mapTo(self._content, bar.pos()).y()
        self._shown.setGeometry(taken, top, self.width() - taken, bar.height() - 1)
        self._shown.raise_()


def _inset(views: QWidget) -> QWidget:
    """Return the views with room at both sides: titles of tabs begin where the sentence does."""
    place = QWidget()
    vbox(views, parent=place, margins=(2 * GRID, 0, 2 * GRID, GRID))
    return place
