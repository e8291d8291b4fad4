"""Steps of the gallery's table."""

import resource
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QScrollArea,
    QTabBar,
    QTableView,
    QTabWidget,
    QToolButton,
    QWidget,
)

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.progress import Progress
from bertviewer.ui.docks.dock import PaneName
from bertviewer.ui.export.pages_view import PagesView
from bertviewer.ui.export.settings import SETTING
from bertviewer.ui.state.pages import Page
from tests.screenshots.chapter import Size, Step, step
from tests.screenshots.guide import Guide


@step
def opened(guide: Guide, name: str) -> None:
    """Open a model, and wait until its formulas are derived."""
    before = guide.workspace.architecture
    guide.window.open_named(name)
    guide.wait(lambda: guide.workspace.architecture not in (None, before))
    guide.rest()


@step
def made(guide: Guide, make: Callable[[Path], Path]) -> None:
    """Open a model that ``make`` writes into a folder."""
    opened(str(make(guide.folder / "models")))(guide)


@step
def typed(guide: Guide, text: str, pair: str | None = None) -> None:
    """Fill a sentence in."""
    guide.window.set_sentence(text, pair)
    guide.rest()


@step
def ran(guide: Guide, text: str, pair: str | None = None) -> None:
    """Run a sentence, on random weights if the model is not trained."""
    before = guide.workspace.runs.current
    typed(text, pair)(guide)
    guide.workspace.run_input.set_random_weights(True)
    guide.window.run()
    guide.wait(lambda: guide.workspace.runs.current not in (None, before))
    guide.rest()


@step
def at(guide: Guide, path: str, token: int | None = None, head: int | None = None) -> None:
    """Select a module, a token and a head."""
    guide.workspace.selection.go(SelectionKey(path, token=token, head=head))


@step
def shown(guide: Guide, title: str) -> None:
    """Show a tab or a view."""
    guide.workspace.show_page(Page(title))


@step
def does(guide: Guide, name: str) -> None:
    """Trigger an action."""
    guide.window.action_set.entry(name).call()


@step
def toggled(guide: Guide, name: str) -> None:
    """Trigger an action that toggles something, and again after the picture."""
    does(name)(guide)
    guide.ends.append(lambda: does(name)(guide))


def unfocused(guide: Guide) -> None:
    """Take the keyboard focus from the field that has it."""
    guide.window.setFocus()


@step
def clicked(guide: Guide, name: str) -> None:
    """Click a button."""
    button = guide.find(QAbstractButton, name)
    guide.wait(button.isEnabled)
    button.click()


@step
def asked(guide: Guide, name: str) -> None:
    """Open the answer to a question about the selected module, and scroll to it."""
    guide.rest()
    question = guide.find(QAbstractButton, f"question-{name}")
    question.setChecked(True)
    guide.rest()
    pane = guide.find(QScrollArea, "inspectorPage")
    pane.ensureWidgetVisible(question, 0, pane.height() // 2)


@step
def why(guide: Guide, view: str) -> None:
    """Show the questions about a view of the run until the picture is taken."""
    shown(view)(guide)
    guide.rest()
    clicked("whyButton")(guide)
    guide.ends.append(lambda: clicked("whyButton")(guide))


@step
def chosen(guide: Guide, table: str, row: int) -> None:
    """Select a row of a table."""
    guide.find(QTableView, table).selectRow(row)


@step
def item_of(guide: Guide, choice: str, number: int) -> None:
    """Choose an item of a box, once it has that many."""
    box = guide.find(QComboBox, choice)
    guide.wait(lambda: box.count() > number)
    box.setCurrentIndex(number)
    guide.rest()


@step
def listed(guide: Guide, table: str, text: str) -> None:
    """Wait until a table has a row that begins so, and select it."""
    view = guide.find(QTableView, table)

    def row() -> int | None:
        model = view.model()
        rows = range(model.rowCount())
        found = (n for n in rows if str(model.index(n, 0).data()).startswith(text))
        return next(found, None)

    guide.wait(lambda: row() is not None)
    view.selectRow(row() or 0)
    guide.rest()


@step
def pressed(guide: Guide, *keys: Qt.Key) -> None:
    """Press keys in the menu or widget with the focus."""
    for key in keys:
        widget = guide.application.activePopupWidget() or guide.application.focusWidget()
        QTest.keyClick(widget or guide.window, key)


@step
def written(guide: Guide, text: str) -> None:
    """Type into the widget with the focus."""
    widget = guide.application.focusWidget()
    assert widget is not None
    QTest.keyClicks(widget, text)


@step
def menu_of(guide: Guide, button: str, number: int | None = None) -> None:
    """Open the menu of a button, and its submenu of a number."""
    widget = guide.find(QToolButton, button)
    menu = widget.menu()
    menu.popup(widget.mapToGlobal(QPoint(0, widget.height())))
    if number is not None:
        menu.setActiveAction(menu.actions()[number])
        pressed(Qt.Key.Key_Right)(guide)


@step
def right_clicked(guide: Guide, name: str) -> None:
    """Open the menu of the selected row of a tree or table."""
    view = guide.find(QAbstractItemView, name)
    place = view.visualRect(view.currentIndex()).center()
    view.customContextMenuRequested.emit(place)


@step
def keys_in(guide: Guide, name: str, *keys: Qt.Key) -> None:
    """Focus a widget, and press keys."""
    guide.find(QWidget, name).setFocus()
    pressed(*keys)(guide)


@step
def tab_of(guide: Guide, name: str, number: int) -> None:
    """Show a tab of a tab widget."""
    guide.find(QTabWidget, name).setCurrentIndex(number)


@step
def turned(guide: Guide, name: str, number: int) -> None:
    """Select a tab of a tab bar."""
    guide.find(QTabBar, name).setCurrentIndex(number)


@step
def torn_off(guide: Guide, name: PaneName, place: tuple[int, int], size: Size) -> None:
    """Undock a pane."""
    guide.window.panes.undock(name)
    dock = guide.window.panes.dock(name)
    dock.move(guide.window.pos() + QPoint(*place))
    dock.resize(*size)
    guide.ends.append(guide.window.panes.reset)


@step
def comparing(guide: Guide, name: str) -> None:
    """Start a comparison of the open model with another one."""
    guide.window.comparing.compare_with(name)


@step
def compared_with(guide: Guide, name: str) -> None:
    """Compare the open model with another one, and wait for the window."""
    comparing(name)(guide)
    guide.wait(lambda: guide.window.findChild(QWidget, "comparisonWindow") is not None)


@step
def headed(guide: Guide, task: str) -> None:
    """Open the same model with another head."""
    before = guide.workspace.architecture
    guide.window.workspace.open_head(task)
    guide.wait(lambda: guide.workspace.architecture is not before)
    guide.rest()


@step
def named(guide: Guide, name: str | Callable[[Path], Path]) -> None:
    """Start opening a model."""
    guide.window.open_named(name if isinstance(name, str) else str(name(guide.folder / "models")))


def exported(guide: Guide) -> None:
    """Write the report."""
    guide.window.exporting.write_report(guide.folder / "report.pdf")


def reported(guide: Guide) -> None:
    """Open the report's dialog, and wait for its pages."""
    guide.window.exporting.choose_report()
    guide.wait(lambda: guide.find(PagesView, "reportPages").is_drawn)


@step
def paged(guide: Guide, number: int) -> None:
    """Go to a page of the report, counted from 1."""
    guide.rest()
    pages = guide.find(PagesView, "reportPages")
    pages.go_to(number - 1)
    guide.wait(lambda: pages.is_drawn)


@step
def picked(guide: Guide, name: str) -> None:
    """Check a box; the choice, which the dialog stores, is removed after the picture."""
    box = guide.find(QAbstractButton, name)
    box.click()
    guide.ends.append(lambda: QSettings().remove(SETTING))


@step
def going_on(guide: Guide, begin: Step) -> None:
    """Start something that lasts longer than the picture."""
    guide.is_held = True
    begin(guide)
    guide.ends.append(guide.worker.cancel)


@step
def held(guide: Guide, begin: Step, done: int, total: int, label: str) -> None:
    """Start something, and show this progress until the picture is taken."""

    def wait(progress: Progress) -> None:
        while True:  # until it is cancelled
            progress(done, total, label)
            time.sleep(0.02)

    guide.worker.before_next = wait
    going_on(begin)(guide)


@step
def failing(guide: Guide, begin: Step, error: Exception) -> None:
    """Start something that fails."""

    def fail(_: Progress) -> None:
        raise error

    guide.worker.before_next = fail
    begin(guide)


@step
def on_a_full_disk(guide: Guide, begin: Step) -> None:
    """Do something while no file can be longer than 4 KB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    begin(guide)
    guide.rest()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
