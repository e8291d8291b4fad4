"""A plot's menu: its picture or its data, taken along, and the numbers behind a point."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget

from bertviewer.charts.chart import Chart
from bertviewer.charts.file_names import file_name
from bertviewer.charts.table import Tabular, csv_text, tabbed_text
from bertviewer.core.saving import atomic_files as files
from bertviewer.core.util.errors import UserError
from bertviewer.plots import export
from bertviewer.plots.paper import ChartWidget
from bertviewer.plots.plot import Plot
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import show_values
from bertviewer.ui.widgets.layouts import named
from bertviewer.ui.widgets.messages import show_error


class _Entry(Struct, frozen=True):
    """A line of the menu, by its object name."""

    name: str
    title: str
    call: Callable[[ChartWidget, Chart, str, Workspace], None]


def _no_title() -> str:
    return ""


def fill_menu(
    menu: QMenu,
    plot: ChartWidget,
    chart: Callable[[], Chart | None],
    workspace: Workspace,
    title: Callable[[], str] = _no_title,
) -> None:
    """Put all ways to take a plot along into a menu; without a chart there are none.

    Files are proposed to be called after the title above the plot and what its chart shows; none
    of the workspace's models' is replaced.
    """
    for entry in _ENTRIES:
        action = named(menu.addAction(translate("chart_menu", entry.title)), entry.name)

        def carry_out(_checked: bool = False, call: Callable[..., None] = entry.call) -> None:
            if (shown := chart()) is not None:
                call(plot, shown, title(), workspace)

        action.triggered.connect(carry_out)

    def enable() -> None:
        for action in menu.actions():
            action.setEnabled(chart() is not None)

    menu.aboutToShow.connect(enable)


def save(parent: QWidget, path: Path, content: Callable[[], bytes], workspace: Workspace) -> None:
    """Write a file, or tell why that was not possible."""
    try:
        files.check_writable(path, workspace.models)
        files.save(path, content(), workspace.models)
    except UserError as error:
        show_error(parent, str(error))


def save_picture(plot: ChartWidget, path: Path, workspace: Workspace, title: str = "") -> None:
    """Write the plot's picture; the file's name says of what kind, PNG if it says nothing.

    With a title it is drawn as a figure.
    """
    suffix = path.suffix.lower()
    kind = next((kind for kind in export.PICTURES if kind.suffix == suffix), None)
    if kind is None:
        kind = export.PICTURES[0]
        path = path.with_name(f"{path.name}{kind.suffix}")
    save(plot, path, partial(kind.content, plot, title), workspace)


def save_data(parent: QWidget, data: Tabular, path: Path, workspace: Workspace) -> None:
    """Write the data of a chart or a table as CSV."""
    save(parent, path, lambda: csv_text(data).encode(), workspace)


def _copy_picture(plot: ChartWidget, _chart: Chart, title: str, _workspace: Workspace) -> None:
    copy_picture(plot, title or plot.accessibleName())


def copy_picture(plot: ChartWidget, title: str = "") -> None:
    """Put the plot's picture on the clipboard, drawn as a figure if it has a title."""
    QApplication.clipboard().setImage(QImage.fromData(export.png(plot, title)))


def _copy_data(_plot: ChartWidget, chart: Chart, _title: str, _workspace: Workspace) -> None:
    QApplication.clipboard().setText(tabbed_text(chart))


def _choose_picture(plot: ChartWidget, chart: Chart, title: str, workspace: Workspace) -> None:
    proposal = _proposal(plot, chart, title, export.PICTURES[0].suffix)
    choose_picture(plot, proposal, workspace, title or plot.accessibleName())


def choose_picture(plot: ChartWidget, proposal: str, workspace: Workspace, title: str = "") -> None:
    """Ask for a file and write the plot's picture to it."""
    name, chosen = QFileDialog.getSaveFileName(
        plot,
        translate("chart_menu", "Save image"),
        proposal,
        ";;".join(kind.file_filter for kind in export.PICTURES),
    )
    if name:
        path = Path(name)
        if not path.suffix:
            suffixes = {kind.file_filter: kind.suffix for kind in export.PICTURES}
            path = path.with_name(f"{path.name}{suffixes.get(chosen, '')}")
        save_picture(plot, path, workspace, title)


def _choose_data(plot: ChartWidget, chart: Chart, title: str, workspace: Workspace) -> None:
    choose_data(plot, chart, _proposal(plot, chart, title, ".csv"), workspace)


def _proposal(plot: ChartWidget, chart: Chart, title: str, ending: str) -> str:
    # A title in another script leaves the name that the plot has in the program: layerPlot.
    name = re.sub(r"(?=[A-Z])", " ", plot.objectName())
    return file_name(chart, title, ending, name)


def choose_data(parent: QWidget, data: Tabular, proposal: str, workspace: Workspace) -> None:
    """Ask for a file and write data to it as CSV."""
    name, _ = QFileDialog.getSaveFileName(
        parent, translate("chart_menu", "Save data"), proposal, "CSV (*.csv)"
    )
    if name:
        save_data(parent, data, Path(name), workspace)


_ENTRIES = (
    _Entry("copyPicture", QT_TRANSLATE_NOOP("chart_menu", "&Copy image"), _copy_picture),
    _Entry("savePicture", QT_TRANSLATE_NOOP("chart_menu", "&Save image…"), _choose_picture),
    _Entry("copyData", QT_TRANSLATE_NOOP("chart_menu", "Copy &data"), _copy_data),
    _Entry("saveData", QT_TRANSLATE_NOOP("chart_menu", "Save data as CS&V…"), _choose_data),
)


_TITLE = QT_TRANSLATE_NOOP("chart_menu", "Show &values")


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
