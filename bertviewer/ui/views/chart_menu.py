"""Menu of a chart: copy or save its image or its data, and show the values at a point."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget

from bertviewer.charts.chart import Chart
from bertviewer.charts.file_names import file_name
from bertviewer.charts.table import Tabular, csv_text, tabbed_text
from bertviewer.core.saving import atomic_files as files
from bertviewer.core.util.errors import UserError
from bertviewer.plots import export
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import show_values
from bertviewer.ui.widgets.layouts import named
from bertviewer.ui.widgets.messages import show_error

_COPY_IMAGE = QT_TRANSLATE_NOOP("chart_menu", "&Copy image")
_SAVE_IMAGE = QT_TRANSLATE_NOOP("chart_menu", "&Save image…")
_COPY_DATA = QT_TRANSLATE_NOOP("chart_menu", "Copy &data")
_SAVE_DATA = QT_TRANSLATE_NOOP("chart_menu", "Save data as CS&V…")
_SHOW_VALUES = QT_TRANSLATE_NOOP("chart_menu", "Show &values")


def add_chart_actions(
    menu: QMenu, plot: CanvasPlot, workspace: Workspace, title: Callable[[], str]
) -> None:
    """Add actions that copy or save a plot; they are disabled while it has no chart.

    Files are named after the title and the chart, and never replace the workspace's models.
    """

    def figure_title() -> str:
        return title() or plot.accessibleName()

    def proposal(chart: Chart, suffix: str) -> str:
        # A title in another script is replaced by the plot's object name: "layer Plot".
        name = re.sub(r"(?=[A-Z])", " ", plot.objectName())
        return file_name(chart, title(), suffix, name)

    def save_image(chart: Chart) -> None:
        name = proposal(chart, export.IMAGE_FORMATS[0].suffix)
        choose_picture(plot, name, workspace, figure_title())

    actions: tuple[tuple[str, str, Callable[[Chart], None]], ...] = (
        ("copyPicture", _COPY_IMAGE, lambda _chart: copy_picture(plot, figure_title())),
        ("savePicture", _SAVE_IMAGE, save_image),
        ("copyData", _COPY_DATA, _copy_data),
        (
            "saveData",
            _SAVE_DATA,
            lambda chart: choose_data(plot, chart, proposal(chart, ".csv"), workspace),
        ),
    )
    for name, text, run in actions:
        action = named(menu.addAction(translate("chart_menu", text)), name)

        def trigger(_checked: bool = False, run: Callable[[Chart], None] = run) -> None:
            if plot.chart is not None:
                run(plot.chart)

        action.triggered.connect(trigger)

    def enable() -> None:
        for action in menu.actions():
            action.setEnabled(plot.chart is not None)

    menu.aboutToShow.connect(enable)


def add_values_action(
    menu: QMenu, plot: CanvasPlot, position: QPoint, workspace: Workspace
) -> None:
    """Add an action that shows the output of the module at a point of the current run's plot."""
    run = workspace.runs.run
    if run is None:
        return
    place = plot.key_at(QPointF(position))
    activation = None if place is None or place.path is None else run.activation(place.path)
    # A point does not tell the calls of a module apart.
    if place is None or activation is None or len(activation.calls) > 1:
        return
    action = named(menu.addAction(translate("chart_menu", _SHOW_VALUES)), "pointedValues")
    action.triggered.connect(lambda: show_values(workspace, place))


def save(parent: QWidget, path: Path, content: Callable[[], bytes], workspace: Workspace) -> None:
    """Write a file, or show why that failed."""
    try:
        files.check_writable(path, workspace.models)
        files.save(path, content(), workspace.models)
    except UserError as error:
        show_error(parent, str(error))


def save_picture(plot: CanvasPlot, path: Path, workspace: Workspace, title: str = "") -> None:
    """Write an image in the format of the file's suffix, or PNG; with a title, as a figure."""
    suffix = path.suffix.lower()
    kind = next((kind for kind in export.IMAGE_FORMATS if kind.suffix == suffix), None)
    if kind is None:
        kind = export.IMAGE_FORMATS[0]
        path = path.with_name(f"{path.name}{kind.suffix}")
    save(plot, path, partial(kind.content, plot, title), workspace)


def save_data(parent: QWidget, data: Tabular, path: Path, workspace: Workspace) -> None:
    """Write the data of a chart or a table as CSV."""
    save(parent, path, lambda: csv_text(data).encode(), workspace)


def copy_picture(plot: CanvasPlot, title: str = "") -> None:
    """Copy an image of the plot to the clipboard; with a title, as a figure."""
    QApplication.clipboard().setImage(QImage.fromData(export.png(plot, title)))


def choose_picture(plot: CanvasPlot, proposal: str, workspace: Workspace, title: str = "") -> None:
    """Ask for a file name and write an image of the plot."""
    name, chosen = QFileDialog.getSaveFileName(
        plot,
        translate("chart_menu", "Save image"),
        proposal,
        ";;".join(kind.file_filter for kind in export.IMAGE_FORMATS),
    )
    if name:
        path = Path(name)
        if not path.suffix:
            suffixes = {kind.file_filter: kind.suffix for kind in export.IMAGE_FORMATS}
            path = path.with_name(f"{path.name}{suffixes.get(chosen, '')}")
        save_picture(plot, path, workspace, title)


def choose_data(parent: QWidget, data: Tabular, proposal: str, workspace: Workspace) -> None:
    """Ask for a file name and write data as CSV."""
    name, _ = QFileDialog.getSaveFileName(
        parent, translate("chart_menu", "Save data"), proposal, "CSV (*.csv)"
    )
    if name:
        save_data(parent, data, Path(name), workspace)


def _copy_data(chart: Chart) -> None:
    QApplication.clipboard().setText(tabbed_text(chart))
