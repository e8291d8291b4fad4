"""Main window: its buttons for panes, and what stays visible at any size."""

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QLineEdit, QTabWidget, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.docks.dock import PaneName
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.pages import Page
from tests.ui.finding import find


def test_buttons_and_actions_show_and_hide_panes(demo_window: MainWindow) -> None:
    names: tuple[PaneName, ...] = ("structure", "run", "module")
    for name in names:
        button, pane = find(demo_window, QToolButton, f"{name}Toggle"), demo_window.panes.dock(name)
        find(demo_window, QAction, f"tearOff{name.title()}").trigger()
        find(pane, QToolButton, f"{name}Close").click()
        assert (pane.isVisible(), button.isChecked()) == (False, False)
        button.click()
        assert (pane.isVisible(), button.isChecked()) == (True, True)
    find(demo_window, QAction, "resetPanes").trigger()
    find(demo_window, QToolButton, "runToggle").click()
    find(demo_window, QAction, "focusSentence").trigger()
    assert find(demo_window, QLineEdit, "sentenceEdit").isVisible()
    for action in ("toggleStructure", "toggleModule"):
        find(demo_window, QAction, action).trigger()
    assert [demo_window.panes.dock(name).isVisible() for name in names] == [False, True, False]
    find(demo_window, QAction, "showWelcome").trigger()
    assert not any(find(demo_window, QToolButton, f"{name}Toggle").isEnabled() for name in names)
    assert not any(demo_window.panes.dock(name).isVisible() for name in names)


def test_a_page_is_brought_into_view_wherever_it_is(demo_window: MainWindow) -> None:
    tabs, panes = find(demo_window, QTabWidget, "detailTabs"), demo_window.panes
    panes.maximize("run")
    demo_window.workspace.show_page(Page.FORMULA)
    assert tabs.isVisible()
    panes.maximize(None)
    demo_window.workspace.show_page(Page.MODULE)
    assert panes.dock("module").isVisible()
    panes.toggle("run")
    demo_window.workspace.show_page(Page.ATTENTION)
    assert panes.dock("run").isVisible()


def test_the_sentence_and_its_button_are_visible_at_any_size(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    def is_inside(widget: QWidget) -> bool:
        place = QRect(widget.mapTo(demo_window, QPoint(0, 0)), widget.size())
        return widget.isVisible() and demo_window.rect().contains(place)

    widgets = [find(demo_window, QWidget, name) for name in ("sentenceEdit", "runButton")]
    for size in ((1024, 700), (1366, 768), (2560, 1440)):
        demo_window.resize(*size)
        qtbot.waitUntil(lambda: all(map(is_inside, widgets)))


def test_tab_goes_from_the_bar_over_left_and_middle_to_below_and_right(
    demo_window: MainWindow,
) -> None:
    regions: dict[str, QWidget] = {
        "bar": find(demo_window, QWidget, "topBar"),
        "middle": find(demo_window, QTabWidget, "detailTabs"),
        **{name: demo_window.panes.dock(name) for name in ("structure", "run", "module")},
    }

    def region() -> str:
        focused = demo_window.focusWidget()
        assert focused is not None
        return next(name for name, each in regions.items() if each.isAncestorOf(focused))

    demo_window.set_sentence("a test", None)
    demo_window.workspace.show_page(Page.TENSORS)  # this page is created after everything else
    visited: list[str] = []
    find(demo_window, QLineEdit, "treeFilter").setFocus()
    while len(visited) < 6:
        QApplication.processEvents()  # the order is set again when the focus has moved
        if visited[-1:] != [region()]:
            visited.append(region())
        demo_window.focusNextPrevChild(True)
    assert visited == ["structure", "middle", "run", "module", "bar", "structure"]
