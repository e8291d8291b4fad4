"""Panel below the sentence bar: the current run's tokens, its description, and the views."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.ui.run.explanation import ExplainButton
from bertviewer.ui.run.shown_run_line import ShownRunLine
from bertviewer.ui.run.token_line import TokenLine
from bertviewer.ui.run.views import RunViews
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.staleness import paint_stripe
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, stacked, vbox


class RunPanel(QWidget):
    """Hidden until there is a run, and again when the model has changed.

    ``opened`` says whether it is shown.
    """

    opened = Signal(bool)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._line = ShownRunLine(workspace)
        self._views = RunViews(workspace)
        explain = ExplainButton(workspace, self._views.topic)
        self._views.currentChanged.connect(explain.follow)
        waiting = named(plain_label(self.tr("Running…")), "runWait")
        waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        waiting.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        # The button is aligned with the choice of what colours the chips.
        button = vbox((explain, Qt.AlignmentFlag.AlignTop), margins=(0, GRID, 0, 0))
        tokens = hbox((TokenLine(workspace), 1), button, margins=(0, 0, 3 * GRID, 0))
        # Titles of tabs begin where the sentence does.
        views = vbox(self._views, margins=(2 * GRID, 0, 2 * GRID, GRID))
        self._content = QWidget()
        self._rows = vbox(tokens, self._line, (views, 1), parent=self._content, spacing=0)
        self._pages = stacked(self._content, waiting)
        vbox(self._pages, parent=self)
        self.hide()
        self._views.installEventFilter(self)
        self._views.tabBar().installEventFilter(self)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.runs.comparison_changed.connect(self._place_line)
        workspace.jobs.activity_changed.connect(self._on_activity)
        self._line.stale_changed.connect(self._on_stale)

    @property
    def statistic(self) -> str:
        """The statistic that is plotted per layer."""
        return self._views.layers.statistic

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._line.stale:
            painter = QPainter(self)
            paint_stripe(painter, self)
            painter.end()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_line()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Place the line when the views or their tab bar have moved."""
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize):
            if watched is self._views:
                self._place_line()
            else:
                self._workspace.deferred.add(self._place_line)
        return super().eventFilter(watched, event)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._workspace.deferred.add(self._place_line)

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
            self._workspace.deferred.add(self._close)

    def _on_stale(self) -> None:
        self._views.setAccessibleDescription(self._line.stale)
        self.update()
        self._workspace.deferred.add(self._place_line)

    def _on_activity(self) -> None:
        if self._pages.currentIndex() == 1 and not self.isHidden():
            self._workspace.deferred.add(self._close)

    def _close(self) -> None:
        """Hide the panel if there is no run, or show that one has been started."""
        if self._workspace.runs.run is not None or self.isHidden():
            return
        if self._workspace.jobs.activity == "run":
            self._pages.setCurrentIndex(1)
            return
        self._pages.setCurrentIndex(0)
        self.hide()
        self.opened.emit(False)

    def _place_line(self) -> None:
        """Put the line to the right of the tabs if it fits there, else above them."""
        bar = self._views.tabBar()
        taken = bar.sizeHint().width() + 2 * GRID
        is_next_to_tabs = self.width() - taken >= self._line.min_width
        place = self._rows.indexOf(self._line)
        if not is_next_to_tabs:
            if place < 0:
                self._rows.insertWidget(1, self._line)
            return
        if place >= 0:
            self._rows.removeWidget(self._line)
            self._rows.activate()
        top = self._views.mapTo(self._content, bar.pos()).y()
        self._line.setGeometry(taken, top, self.width() - taken, bar.height() - 1)
        self._line.raise_()
