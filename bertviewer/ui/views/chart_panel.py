"""A chart with its title, its controls, the value under the mouse, and a menu to take it along."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QCursor, QShowEvent
from PySide6.QtWidgets import (
    QMenu,
    QStackedWidget,
    QWidget,
)

from bertviewer.charts.chart import Chart
from bertviewer.charts.comparison import Alignment, compared_charts
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.plot import Plot
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.views.chart_line import ChartLine
from bertviewer.ui.views.chart_menu import fill_menu, offer_values
from bertviewer.ui.views.message import Message, Offer
from bertviewer.ui.views.readout import Readout
from bertviewer.ui.views.side_by_side import ChartPlot, Column, SideBySide
from bertviewer.ui.widgets.layouts import vbox
from bertviewer.ui.widgets.progress_bar import thin_bar


class ChartPanel(QWidget):
    """Shows a chart of the last run, and of run A as the workspace wants them compared.

    What is clicked becomes the window's selection, and what is selected is marked. Where its title
    tells what the axes are, they have none (``has_axis_titles``).
    """

    def __init__(
        self,
        workspace: Workspace,
        title: str,
        make_plot: Callable[[], ChartPlot],
        controls: Sequence[QWidget] = (),
        *,
        has_axis_titles: bool = True,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._has_axis_titles = has_axis_titles
        self._partners = Alignment()
        self._line = ChartLine()
        self._line.set_title(title)
        self._line.take_controls(*controls)
        self._make_plot = make_plot
        self._message = Message("chartMessage")
        self._busy = thin_bar("chartProgress", self.tr("Computing"))
        # B's is the first; A's is made when there is something to show beside B.
        self._plots = SideBySide()
        self._columns = self._plots.columns
        self._add_column("B", self._go)
        self._fill_menu(is_double=False)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._plots)
        self._pages.addWidget(self._message)
        vbox(self._line, self._busy, (self._pages, 1), parent=self, spacing=2)
        self._value = Readout(self)
        for signal in (
            workspace.selection.row_changed,
            workspace.selection.token_changed,
            workspace.selection.head_changed,
            workspace.selection.feature_changed,
        ):
            signal.connect(self._mark)
        self.show_charts(None)

    @property
    def plot(self) -> ChartPlot:
        """The plot of the last run, or of both."""
        return self._columns[0].plot

    @property
    def charts(self) -> tuple[Chart, ...]:
        """What is shown: one chart, or B's and A's."""
        return tuple(column.plot.chart for column in self._columns if column.plot.chart is not None)

    def set_title(self, title: str, tip: str = "") -> None:
        """Write another title, and what it tells under the mouse."""
        self._line.set_title(title, tip)
        self._name_plots()

    def take_controls(self, *controls: QWidget) -> None:
        """Have controls behind the title, before those that are there; they may be another's."""
        self._line.take_controls(*controls)

    def show_charts(
        self, b: Chart | None, a: Chart | None = None, partners: Alignment | None = None
    ) -> None:
        """Show the last run's chart, and run A's if there is one, in place of those before."""
        self._partners = partners or Alignment()
        comparison = self._workspace.runs.comparison
        charts = [] if b is None else compared_charts(b, a, comparison, self._partners)
        is_double = len(charts) > 1
        if is_double and len(self._columns) == 1:
            self._add_column("A", self._go_from_a)
        if is_double != self._is_double:
            self._fill_menu(is_double)
        shown, other, *_ = [*charts, None, None]
        was_told = self._value.isVisible()
        self._plots.show_charts(shown, other)
        self._line.show_menu(shown is not None)
        self._value.hide()
        self._busy.hide()
        self._pages.setCurrentIndex(0)
        self._name_plots()
        self._mark_all()
        if was_told:
            self._tell_reached()

    def show_message(self, text: str, offer: Offer | None = None) -> None:
        """Say why there is no chart, in place of it, and what can be done about that."""
        self.show_charts(None)
        self._message.show_text(text, offer)
        self._pages.setCurrentIndex(1)

    def show_wait(self, title: str = "", done: int = 0, total: int = 0) -> None:
        """Say that what is wanted is being computed; what was shown before stays until then."""
        self.set_title(title or self.tr("Computing…"))
        self._busy.setRange(0, total)
        self._busy.setValue(done)
        self._busy.show()

    def showEvent(self, event: QShowEvent) -> None:
        """Mark what was selected while this was out of sight; Qt calls it."""
        super().showEvent(event)
        self._mark_all()

    def changeEvent(self, event: QEvent) -> None:
        """Draw in the window's colours and type; Qt calls it."""
        super().changeEvent(event)
        changes = QEvent.Type.PaletteChange, QEvent.Type.FontChange
        if event.type() in changes and hasattr(self, "_columns"):
            for column in self._columns:
                column.plot.set_theme(theme_of(self))

    def _add_column(self, name: str, follow: Callable[[SelectionKey], None]) -> None:
        plot = self._make_plot()
        if isinstance(plot, Plot):
            plot.is_titled = self._has_axis_titles
        plot.reached.connect(partial(self._show_reached, plot))
        plot.set_theme(theme_of(self))
        plot.show_chart(None)
        plot.clicked.connect(follow)
        plot.hovered.connect(partial(self._show_value, plot))
        plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        plot.customContextMenuRequested.connect(partial(self._open_menu, plot))
        self._plots.add(Column(plot, name))

    def _name_plots(self) -> None:
        """Tell readers of the screen what the plots are, of two each with its run."""
        if not self._line.title:
            return
        for column in self._columns:
            run = column.name.text() if self._is_double else ""
            names = filter(None, (self._line.title, run))
            column.plot.setAccessibleName(", ".join(names))

    def _fill_menu(self, is_double: bool) -> None:
        """Offer to take the plot along; of two, each by its name."""
        self._is_double = is_double
        menu = self._line.new_menu()
        for column in reversed(self._columns) if is_double else self._columns[:1]:
            fill_menu(
                menu.addMenu(column.name.text()) if is_double else menu,
                column.plot,
                partial(_chart_of, column.plot),
                self._workspace,
                self._get_title,
            )

    def _get_title(self) -> str:
        return self._line.title

    def _open_menu(self, plot: ChartPlot, position: QPoint) -> None:
        menu = QMenu(plot)
        if plot is self.plot:
            offer_values(menu, plot, position, self._workspace)
        fill_menu(menu, plot, lambda: plot.chart, self._workspace, self._get_title)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(plot.mapToGlobal(position))

    def _show_value(self, plot: ChartPlot, text: str) -> None:
        """Show the value under the mouse beside it, and tell it to readers of the screen."""
        self._value.show_text(text, self.mapFromGlobal(QCursor.pos()))
        plot.setAccessibleDescription(text)

    def _show_reached(self, plot: ChartPlot, text: str, position: QPoint) -> None:
        """Show the value that a key has led to, beside it, and tell readers of the screen."""
        self._value.show_text(text, plot.mapTo(self, position))
        plot.setAccessibleDescription(text)

    def _tell_reached(self) -> None:
        """Tell again what a key has led to: to go there may have drawn the chart anew."""
        for column in self._columns:
            if isinstance(column.plot, Plot) and column.plot.hasFocus():
                column.plot.tell_reached()

    def _go(self, place: SelectionKey) -> None:
        self._workspace.selection.go(place)

    def _go_from_a(self, place: SelectionKey) -> None:
        """Follow a click on A: its tokens are others than B's."""
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
    """Return the same place with the token's partner in the other run, if there is one."""
    return replace(place, token=None if place.token is None else partners.get(place.token))


def _chart_of(plot: ChartPlot) -> Chart | None:
    return plot.chart
