"""Steps of the gallery's table."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
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
from bertviewer.ui.docks.dock import PaneName
from bertviewer.ui.state.pages import Page
from tests.screenshots.chapter import Size, Step
from tests.screenshots.guide import Guide


def opened(name: str) -> Step:
    """Open a model, and wait until its formulas are derived."""

    def step(guide: Guide) -> None:
        before = guide.workspace.architecture
        guide.window.open_named(name)
        guide.wait(lambda: guide.workspace.architecture not in (None, before))
        guide.rest()

    return step


def made(make: Callable[[Path], Path]) -> Step:
    """Open a model that ``make`` writes into a folder."""

    def step(guide: Guide) -> None:
        opened(str(make(guide.folder / "models")))(guide)

    return step


def typed(text: str, pair: str | None = None) -> Step:
    """Fill a sentence in."""

    def step(guide: Guide) -> None:
        guide.window.set_sentence(text, pair)
        guide.rest()

    return step


def ran(text: str, pair: str | None = None) -> Step:
    """Run a sentence, on random weights if the model is not trained."""

    def step(guide: Guide) -> None:
        before = guide.workspace.runs.current
        typed(text, pair)(guide)
        guide.workspace.next_run.set_random_weights(True)
        guide.window.run()
        guide.wait(lambda: guide.workspace.runs.current not in (None, before))
        guide.rest()

    return step


def at(path: str, token: int | None = None, head: int | None = None) -> Step:
    """Select a module, a token and a head."""
    return lambda guide: guide.workspace.selection.go(SelectionKey(path, token=token, head=head))


def shown(title: str) -> Step:
    """Show a tab or a view."""
    return lambda guide: guide.workspace.show_page(Page(title))


def does(name: str) -> Step:
    """Trigger an action."""

    def step(guide: Guide) -> None:
        guide.window.action_set.entry(name).call()

    return step


def toggled(name: str) -> Step:
    """Trigger an action that toggles something, and again after the picture."""

    def step(guide: Guide) -> None:
        does(name)(guide)
        guide.ends.append(lambda: does(name)(guide))

    return step


def unfocused(guide: Guide) -> None:
    """Take the keyboard focus from the field that has it."""
    guide.window.setFocus()


def clicked(name: str) -> Step:
    """Click a button."""

    def step(guide: Guide) -> None:
        button = guide.find(QAbstractButton, name)
        guide.wait(button.isEnabled)
        button.click()

    return step


def asked(name: str) -> Step:
    """Open the answer to a question about the selected module, and scroll to it."""

    def step(guide: Guide) -> None:
        guide.rest()
        question = guide.find(QAbstractButton, f"question-{name}")
        question.setChecked(True)
        guide.rest()
        pane = guide.find(QScrollArea, "inspectorPage")
        pane.ensureWidgetVisible(question, 0, pane.height() // 2)

    return step


def why(view: str) -> Step:
    """Show the questions about a view of the run until the picture is taken."""

    def step(guide: Guide) -> None:
        shown(view)(guide)
        guide.rest()
        clicked("whyButton")(guide)
        guide.ends.append(lambda: clicked("whyButton")(guide))

    return step


def chosen(table: str, row: int) -> Step:
    """Select a row of a table."""
    return lambda guide: guide.find(QTableView, table).selectRow(row)


def item_of(choice: str, number: int) -> Step:
    """Choose an item of a box, once it has that many."""

    def step(guide: Guide) -> None:
        box = guide.find(QComboBox, choice)
        guide.wait(lambda: box.count() > number)
        box.setCurrentIndex(number)
        guide.rest()

    return step


def listed(table: str, text: str) -> Step:
    """Wait until a table has a row that begins so, and select it."""

    def step(guide: Guide) -> None:
        view = guide.find(QTableView, table)

        def row() -> int | None:
            model = view.model()
            rows = range(model.rowCount())
            found = (n for n in rows if str(model.index(n, 0).data()).startswith(text))
            return next(found, None)

        guide.wait(lambda: row() is not None)
        view.selectRow(row() or 0)
        guide.rest()

    return step


def pressed(*keys: Qt.Key) -> Step:
    """Press keys in the menu or widget with the focus."""

    def step(guide: Guide) -> None:
        for key in keys:
            widget = guide.application.activePopupWidget() or guide.application.focusWidget()
            QTest.keyClick(widget or guide.window, key)

    return step


def written(text: str) -> Step:
    """Type into the widget with the focus."""

    def step(guide: Guide) -> None:
        widget = guide.application.focusWidget()
        assert widget is not None
        QTest.keyClicks(widget, text)

    return step


def menu_of(button: str, number: int | None = None) -> Step:
    """Open the menu of a button, and its submenu of a number."""

    def step(guide: Guide) -> None:
        widget = guide.find(QToolButton, button)
        menu = widget.menu()
        menu.popup(widget.mapToGlobal(QPoint(0, widget.height())))
        if number is not None:
            menu.setActiveAction(menu.actions()[number])
            pressed(Qt.Key.Key_Right)(guide)

    return step


def right_clicked(name: str) -> Step:
    """Open the menu of the selected row of a tree or table."""

    def step(guide: Guide) -> None:
        view = guide.find(QAbstractItemView, name)
        place = view.visualRect(view.currentIndex()).center()
        view.customContextMenuRequested.emit(place)

    return step


def keys_in(name: str, *keys: Qt.Key) -> Step:
    """Focus a widget, and press keys."""

    def step(guide: Guide) -> None:
        guide.find(QWidget, name).setFocus()
        pressed(*keys)(guide)

    return step


def tab_of(name: str, number: int) -> Step:
    """Show a tab of a tab widget."""
    return lambda guide: guide.find(QTabWidget, name).setCurrentIndex(number)


def turned(name: str, number: int) -> Step:
    """Select a tab of a tab bar."""
    return lambda guide: guide.find(QTabBar, name).setCurrentIndex(number)


def torn_off(name: PaneName, place: tuple[int, int], size: Size) -> Step:
    """Undock a pane."""

    def step(guide: Guide) -> None:
        guide.window.panes.undock(name)
        dock = guide.window.panes.dock(name)
        dock.move(guide.window.pos() + QPoint(*place))
        dock.resize(*size)
        guide.ends.append(guide.window.panes.reset)

    return step


def comparing(name: str) -> Step:
    """Start a comparison of the open model with another one."""
    return lambda guide: guide.window.comparing.compare_with(name)


def compared_with(name: str) -> Step:
    """Compare the open model with another one, and wait for the window."""

    def step(guide: Guide) -> None:
        comparing(name)(guide)
        guide.wait(lambda: guide.window.findChild(QWidget, "comparisonWindow") is not None)

    return step


def headed(task: str) -> Step:
    """Open the same model with another head."""

    def step(guide: Guide) -> None:
        before = guide.workspace.architecture
        guide.window.workspace.open_head(task)
        guide.wait(lambda: guide.workspace.architecture is not before)
        guide.rest()

    return step


def named(name: str | Callable[[Path], Path]) -> Step:
    """Start opening a model."""
    return lambda guide: guide.window.open_named(
        name if isinstance(name, str) else str(name(guide.folder / "models"))
    )
