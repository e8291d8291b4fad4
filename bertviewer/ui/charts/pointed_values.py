"""Goes from a point of a chart to the numbers behind it."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QWidget

from bertviewer.plots.plot import Plot
from bertviewer.ui.layouts import named
from bertviewer.ui.links import show_values
from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.workspace import Workspace

_TITLE = QT_TRANSLATE_NOOP("chart_menu", "Show the &values")


def offer_values(menu: QMenu, plot: QWidget, position: QPoint, workspace: Workspace) -> None:
    """Offer what a module of the last run gave, number by number, where that is pointed at."""
    run = workspace.runs.run
    if run is None or not isinstance(plot, Plot):
        return
    place = plot.place_at(plot.mapToScene(position))
    activation = None if place is None or place.path is None else run.activation(place.path)
    # Which of several calls it is a point does not tell.
    if place is None or activation is None or len(activation.calls) > 1:
        return
    action = named(menu.addAction(translate("chart_menu", _TITLE)), "pointedValues")
    action.triggered.connect(lambda: show_values(workspace, place))
