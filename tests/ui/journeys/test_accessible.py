"""Every control has a name for who does not see it, and can be reached by keys."""

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QScrollBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.docks.dock import PaneTitle
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.pages import MODULE_PAGES, RUN_PAGES
from tests.ui.finding import find, is_drawn

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
)


def controls(window: MainWindow) -> Iterator[QWidget]:
    """What can be used in the window as it is, without what controls are made of."""
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, CONTROLS) or not widget.isVisibleTo(window):
            continue
        within = widget.parentWidget()
        is_part = isinstance(within, QComboBox | QAbstractSpinBox | QLineEdit | QAbstractItemView)
        # A view's titles and the bars that it scrolls by are its own.
        if not (is_part or isinstance(widget, QScrollBar) or "Header" in type(widget).__name__):
            yield widget


def nameless(window: MainWindow) -> set[str]:
    def has_name(widget: QWidget) -> bool:
        words = widget.text() if isinstance(widget, QAbstractButton) else ""
        return bool(widget.accessibleName().strip() or any(map(str.isalnum, words)))

    return {_told(widget) for widget in controls(window) if not has_name(widget)}


def out_of_reach(window: MainWindow) -> set[str]:
    """Controls that no key gets to; what moves a pane stands in the menu too."""

    def is_reached(widget: QWidget) -> bool:
        return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) or isinstance(
            widget.parentWidget(), PaneTitle
        )

    return {_told(widget) for widget in controls(window) if not is_reached(widget)}


def _told(widget: QWidget) -> str:
    within = widget.parentWidget()
    return f"{type(widget).__name__} {widget.objectName()!r} in {type(within).__name__}"


def test_without_a_model(window: MainWindow) -> None:
    assert nameless(window) == set()
    assert out_of_reach(window) == set()


def test_every_tab_and_view(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    demo_window.set_sentence("The bank by the river.", "Another.")
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    demo_window.workspace.runs.keep()
    without_name, unreached = nameless(demo_window), out_of_reach(demo_window)
    for page in (*MODULE_PAGES, *RUN_PAGES):
        demo_window.workspace.show_page(page)
        qtbot.waitUntil(lambda: is_drawn(demo_window) and not worker.busy)
        without_name |= nameless(demo_window)
        unreached |= out_of_reach(demo_window)
    assert without_name == set()
    assert unreached == set()


def test_plots_say_the_value_that_is_pointed_at(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    demo_window.set_sentence("The bank by the river.", None)
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window) and not worker.busy)
    plot = find(demo_window, LinePlot, "layerPlot")
    for text in ("layer 3: 0.2539", ""):
        plot.hovered.emit(text)
        interface = QAccessible.queryAccessibleInterface(plot)
        assert interface.text(QAccessible.Text.Description) == text
