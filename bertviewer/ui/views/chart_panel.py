"""Chart with a title line, controls, a menu to copy or save it, and the value under the mouse."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QCursor, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.chart import Chart
from bertviewer.charts.comparison import Alignment, compared_charts
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID, NORMAL
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.views.chart_menu import add_chart_actions, add_values_action
from bertviewer.ui.views.empty_state import CallToAction, ContentStack
from bertviewer.ui.views.side_by_side import Column, SideBySide
from bertviewer.ui.views.value_tooltip import ValueTooltip
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, vbox
from bertviewer.ui.widgets.progress_bar import thin_bar

MIN_TITLE_WIDTH = 120
"""Pixels; a longer title is hidden if it would get fewer."""

CONTROL_STRETCH = 100
"""Stretch factor of a control that takes all the room, against 1 of the stretch at the end."""


class ChartPanel(QWidget):
    """Chart of the current run, and of the baseline as the workspace wants them compared.

    A click on the chart selects what it shows, and the selection is marked in it. Axes have no
    titles (``has_axis_titles``) where the panel's title says what they are.
    """

    def __init__(
        self,
        workspace: Workspace,
        title: str,
        make_plot: Callable[[], CanvasPlot],
        controls: Sequence[QWidget] = (),
        *,
        has_axis_titles: bool = True,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._has_axis_titles = has_axis_titles
        self._partners = Alignment()
        self._line = _TitleLine()
        self._line.set_title(title)
        self._line.add_controls(*controls)
        self._make_plot = make_plot
        self._progress = thin_bar("chartProgress", self.tr("Computing"))
        # The first column is the current run's; the baseline's is added when it is needed.
        self._plots = SideBySide()
        self._columns = self._plots.columns
        self._add_column("B", self._select)
        self._fill_menu(is_double=False)
        self._content = ContentStack(self._plots, "chartMessage")
        vbox(self._line, self._progress, (self._content, 1), parent=self, spacing=2)
        self._tooltip = ValueTooltip(self)
        for signal in (
            workspace.selection.row_changed,
            workspace.selection.token_changed,
            workspace.selection.head_changed,
            workspace.selection.feature_changed,
        ):
            signal.connect(self._mark)
        self.show_charts(None)

    @property
    def plot(self) -> CanvasPlot:
        """The plot of the current run, or of both."""
        return self._columns[0].plot

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts that are shown: one, or the current run's and the baseline's."""
        return tuple(column.plot.chart for column in self._columns if column.plot.chart is not None)

    def set_title(self, title: str, tooltip: str = "") -> None:
        """Set the title and its tooltip."""
        self._line.set_title(title, tooltip)
        self._name_plots()

    def add_controls(self, *controls: QWidget) -> None:
        """Insert controls after the title; they may be another panel's."""
        self._line.add_controls(*controls)

    def show_charts(
        self, b: Chart | None, a: Chart | None = None, partners: Alignment | None = None
    ) -> None:
        """Show the chart of the current run, and that of the baseline if there is one."""
        self._partners = partners or Alignment()
        comparison = self._workspace.runs.comparison
        charts = [] if b is None else compared_charts(b, a, comparison, self._partners)
        is_double = len(charts) > 1
        if is_double and len(self._columns) == 1:
            self._add_column("A", self._select_from_a)
        if is_double != self._is_double:
            self._fill_menu(is_double)
        first, second, *_ = [*charts, None, None]
        had_tooltip = self._tooltip.isVisible()
        self._plots.show_charts(first, second)
        self._line.show_menu(first is not None)
        self._tooltip.hide()
        self._progress.hide()
        self._content.show_content()
        self._name_plots()
        self._mark_all()
        if had_tooltip:
            self._describe_focused_point()

    def show_message(self, text: str, *actions: CallToAction) -> None:
        """Show a message instead of the chart."""
        self.show_charts(None)
        self._content.show_message(text, *actions)

    def show_busy(self, text: str = "", cancel: CallToAction | None = None) -> None:
        """Show that a chart is being computed, as the title of the one before."""
        del cancel
        self.set_title(text or self.tr("Computing…"))
        self.show_progress(0, 0)
        self._progress.show()

    def show_progress(self, done: int, total: int) -> None:
        """Show the progress of the work, which has no known length if ``total`` is 0."""
        self._progress.setRange(0, total)
        self._progress.setValue(done)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._mark_all()  # what was selected while the panel was hidden

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        changes = QEvent.Type.PaletteChange, QEvent.Type.FontChange
        if event.type() in changes and hasattr(self, "_columns"):
            for column in self._columns:
                column.plot.set_theme(theme_of(self))

    def _add_column(self, name: str, select: Callable[[SelectionKey], None]) -> None:
        plot = self._make_plot()
        plot.is_titled = self._has_axis_titles
        plot.reached.connect(partial(self._show_focused_value, plot))
        plot.set_theme(theme_of(self))
        plot.show_chart(None)
        plot.clicked.connect(select)
        plot.hovered.connect(partial(self._show_hovered_value, plot))
        plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        plot.customContextMenuRequested.connect(partial(self._open_menu, plot))
        self._plots.add(Column(plot, name))

    def _name_plots(self) -> None:
        """Set the accessible names: the title, with the run's name if there are two."""
        if not self._line.title:
            return
        for column in self._columns:
            run = column.name.text() if self._is_double else ""
            names = filter(None, (self._line.title, run))
            column.plot.setAccessibleName(", ".join(names))

    def _fill_menu(self, is_double: bool) -> None:
        """Fill the title line's menu, with a submenu for each of two plots."""
        self._is_double = is_double
        menu = self._line.reset_menu()
        for column in reversed(self._columns) if is_double else self._columns[:1]:
            target = menu.addMenu(column.name.text()) if is_double else menu
            add_chart_actions(target, column.plot, self._workspace, self._get_title)

    def _get_title(self) -> str:
        return self._line.title

    def _open_menu(self, plot: CanvasPlot, position: QPoint) -> None:
        menu = QMenu(plot)
        if plot is self.plot:
            add_values_action(menu, plot, position, self._workspace)
        add_chart_actions(menu, plot, self._workspace, self._get_title)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(plot.mapToGlobal(position))

    def _show_hovered_value(self, plot: CanvasPlot, text: str) -> None:
        self._show_value(plot, text, self.mapFromGlobal(QCursor.pos()))

    def _show_focused_value(self, plot: CanvasPlot, text: str, position: QPoint) -> None:
        self._show_value(plot, text, plot.mapTo(self, position))

    def _show_value(self, plot: CanvasPlot, text: str, position: QPoint) -> None:
        self._tooltip.show_text(text, position)
        plot.setAccessibleDescription(text)

    def _describe_focused_point(self) -> None:
        """Show the value at the keyboard's point again: moving it may have redrawn the chart."""
        for column in self._columns:
            if column.plot.hasFocus():
                column.plot.describe_focused()

    def _select(self, place: SelectionKey) -> None:
        self._workspace.selection.go(place)

    def _select_from_a(self, place: SelectionKey) -> None:
        """Select what was clicked in the baseline's chart, where tokens have other positions."""
        self._workspace.selection.go(_with_token(place, self._partners.in_b))

    def _mark(self) -> None:
        if self.isVisible():
            self._mark_all()

    def _mark_all(self) -> None:
        place = self._workspace.selection.place
        self.plot.mark(place)
        for column in self._columns[1:]:
            column.plot.mark(_with_token(place, self._partners.in_a))


def _with_token(place: SelectionKey, partners: Mapping[int, int]) -> SelectionKey:
    """Return the same place with the token's partner in the other run, if it has one."""
    return replace(place, token=None if place.token is None else partners.get(place.token))


class _TitleLine(QWidget):
    """Title that is elided or hidden in favour of the controls, and a menu button at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._title = ElidedLabel()
        self._title.setFont(weighted(sized(self._title.font(), NORMAL)))
        self._button: QToolButton = flat_button(
            "chartMenu", "⋯", self.tr("Copy or save this chart")
        )
        # Without an arrow next to the dots.
        self._button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._row = hbox(self._title, STRETCH, self._button, parent=self, spacing=2 * GRID)

    @property
    def title(self) -> str:
        """The chart's title, "" if it has none."""
        return self._title.text()

    def set_title(self, title: str, tooltip: str = "") -> None:
        """Set the title and its tooltip."""
        self._title.setText(title)
        self._title.setToolTip(plain_tooltip(tooltip))
        self._fit_title()

    def add_controls(self, *controls: QWidget) -> None:
        """Insert controls after the title."""
        focused = next((widget for widget in controls if widget.hasFocus()), None)
        for place, widget in enumerate(controls, start=1):
            self._row.insertWidget(place, widget, CONTROL_STRETCH * _is_elastic(widget))
        if focused is not None:
            focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def reset_menu(self) -> QMenu:
        """Return an empty menu, which replaces the previous one."""
        if (previous := self._button.menu()) is not None:
            previous.deleteLater()
        menu = QMenu(self._button)
        self._button.setMenu(menu)
        return menu

    def show_menu(self, is_shown: bool) -> None:
        """Show the menu button, or hide it where there is nothing to copy."""
        self._button.setVisible(is_shown)
        self._fit_title()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_title()

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit_title()
        return super().event(event)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit_title()

    def _fit_title(self) -> None:
        """Hide the title if its controls leave too little room."""
        taken = 0
        for number in range(self._row.count()):
            item = self._row.itemAt(number)
            widget = None if item is None else item.widget()
            if widget is None or widget is self._title or widget.isHidden():
                continue
            if not _is_elastic(widget):
                taken += widget.sizeHint().width() + self._row.spacing()
        needed = min(MIN_TITLE_WIDTH, self._title.sizeHint().width())
        # A title with a tooltip stays in any case.
        has_room = bool(self._title.toolTip()) or self.width() - taken >= needed
        self._title.setVisible(bool(self._title.text()) and has_room)
        # Otherwise the layout would shrink the controls as much as the title.
        self._title.setMaximumWidth(max(self.width() - taken, 0))


def _is_elastic(widget: QWidget) -> bool:
    return widget.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Ignored
