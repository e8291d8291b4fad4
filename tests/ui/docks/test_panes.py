"""The panes around the middle: closed, torn off, enlarged, and arranged for any size of window."""

import pytest
import shiboken6
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAction, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLineEdit,
    QPushButton,
    QTabWidget,
    QToolBar,
    QToolButton,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.ui.docks.focus import focus_first
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import activate, find


def dock(window: MainWindow, name: str) -> QDockWidget:
    return find(window, QDockWidget, f"{name}Pane")


def choose(window: MainWindow, action: str) -> None:
    find(window, QAction, action).trigger()
    QApplication.processEvents()


def resize(window: MainWindow, width: int, height: int) -> None:
    window.resize(width, height)
    QApplication.processEvents()


def in_window(widget: QWidget, window: MainWindow) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


def test_there_are_no_panes_before_there_is_a_model(window: MainWindow) -> None:
    assert not any(pane.isVisible() for pane in window.findChildren(QDockWidget))


def test_a_pane_is_closed_and_opened_again(demo_window: MainWindow) -> None:
    structure = dock(demo_window, "structure")
    assert structure.isVisible()
    choose(demo_window, "toggleStructure")
    assert not structure.isVisible()
    choose(demo_window, "toggleStructure")
    assert structure.isVisible()
    find(structure, QToolButton, "structureClose").click()
    assert not structure.isVisible()


def test_a_floating_pane_needs_no_room(demo_window: MainWindow) -> None:
    choose(demo_window, "tearOffModule")
    module = dock(demo_window, "module")
    resize(demo_window, 1024, 700)
    assert module.isVisible()
    # Put back in a narrow window it is a drawer that the user opened.
    choose(demo_window, "tearOffModule")
    assert module.isVisible()
    resize(demo_window, 1366, 768)
    resize(demo_window, 1024, 700)
    assert module.isVisible()
    choose(demo_window, "toggleModule")
    resize(demo_window, 1366, 768)
    assert module.isVisible()


@pytest.mark.parametrize("name", ["structure", "run", "module"])
def test_a_button_brings_every_pane_back(demo_window: MainWindow, name: str) -> None:
    button, pane = find(demo_window, QToolButton, f"{name}Toggle"), dock(demo_window, name)
    choose(demo_window, f"tearOff{name.title()}")
    find(pane, QToolButton, f"{name}Close").click()
    assert (pane.isVisible(), button.isChecked()) == (False, False)
    button.click()
    assert (pane.isVisible(), button.isChecked()) == (True, True)
    choose(demo_window, "resetPanes")
    button.click()
    assert (pane.isVisible(), button.isChecked()) == (False, False)
    choose(demo_window, "showWelcome")
    assert not button.isEnabled()


def test_what_is_edited_is_in_a_pane_that_is_shown(demo_window: MainWindow) -> None:
    find(demo_window, QToolButton, "runToggle").click()
    choose(demo_window, "focusSentence")
    assert find(demo_window, QLineEdit, "sentenceEdit").isVisible()


def test_a_pane_is_torn_off_and_put_back(demo_window: MainWindow) -> None:
    module = dock(demo_window, "module")
    choose(demo_window, "tearOffModule")
    assert module.isFloating()
    # The desktop draws nothing around it.
    line = module.palette().color(QPalette.ColorRole.Mid)
    assert module.grab().toImage().pixelColor(0, module.height() // 2) == line
    choose(demo_window, "tearOffModule")
    assert not module.isFloating()
    assert module.contentsMargins().isNull()
    assert module.isVisible()


@pytest.mark.parametrize("action", ["enlargeViews", "maximiseMiddle"])
def test_one_has_all_the_room_until_all_are_there_again(
    demo_window: MainWindow, action: str
) -> None:
    find(demo_window, QAction, action).setEnabled(True)  # the first needs a run
    tabs = find(demo_window, QTabWidget, "detailTabs")
    panes = [dock(demo_window, name) for name in ("structure", "module", "run")]
    before = [widget.isVisible() for widget in (tabs, *panes)]
    sizes = [pane.size() for pane in panes]
    choose(demo_window, action)
    shown = [widget for widget in (tabs, *panes) if widget.isVisible()]
    assert shown == [panes[2] if action == "enlargeViews" else tabs]
    assert shown[0].width() == demo_window.width()
    choose(demo_window, action)
    assert [widget.isVisible() for widget in (tabs, *panes)] == before
    assert [pane.size() for pane in panes] == sizes


def test_the_modules_pane_is_a_drawer_in_a_narrow_window(demo_window: MainWindow) -> None:
    module = dock(demo_window, "module")
    resize(demo_window, 1024, 700)
    assert not module.isVisible()
    resize(demo_window, 1366, 768)
    assert module.isVisible()
    # What a person chose stays.
    choose(demo_window, "toggleModule")
    resize(demo_window, 1024, 700)
    choose(demo_window, "toggleModule")
    assert module.isVisible()
    resize(demo_window, 1366, 768)
    resize(demo_window, 1024, 700)
    assert module.isVisible()


def test_the_structure_is_a_drawer_in_a_window_with_no_room_for_its_type(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    structure = dock(demo_window, "structure")
    resize(demo_window, 1000, 700)
    assert structure.isVisible()
    for _ in range(3):
        choose(demo_window, "largerText")
    qtbot.waitUntil(lambda: not structure.isVisible())
    choose(demo_window, "usualText")
    qtbot.waitUntil(structure.isVisible)
    resize(demo_window, 740, 700)
    assert not structure.isVisible()


def test_a_run_stands_beside_the_middle_in_a_wide_window(demo_window: MainWindow) -> None:
    right, bottom = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
    resize(demo_window, 2200, 1200)
    run = dock(demo_window, "run")
    # A line with nothing below it has no need of a column.
    places = [demo_window.dockWidgetArea(run)]
    for is_open in (True, False, True):
        demo_window.panes.set_run_open(is_open)
        places.append(demo_window.dockWidgetArea(run))
    resize(demo_window, 1366, 768)
    assert [*places, demo_window.dockWidgetArea(run)] == [bottom, right, bottom, right, bottom]


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


@pytest.mark.parametrize("action", ["toggleStructure", "maximiseMiddle"])
def test_the_keys_of_a_pane_that_goes_are_lent_to_what_has_the_room(
    demo_window: MainWindow, action: str, qtbot: QtBot
) -> None:
    activate(demo_window, qtbot)
    tree = find(demo_window, QTreeView, "moduleTree")
    tree.setFocus()
    choose(demo_window, action)
    assert find(demo_window, QTabWidget, "detailTabs").isAncestorOf(focused())
    choose(demo_window, action)
    assert focused() is tree
    # Who has moved on since then is left there.
    choose(demo_window, action)
    sentence = find(demo_window, QLineEdit, "sentenceEdit")
    demo_window.panes.bring("run")
    sentence.setFocus()
    choose(demo_window, "toggleStructure")
    assert focused() is sentence


def test_the_keys_stay_in_a_pane_that_is_torn_off(demo_window: MainWindow, qtbot: QtBot) -> None:
    activate(demo_window, qtbot)
    tree = find(demo_window, QTreeView, "moduleTree")
    tree.setFocus()
    for _ in range(2):
        choose(demo_window, "tearOffStructure")
        qtbot.waitUntil(lambda: QApplication.focusWidget() is tree)


def test_a_run_that_is_torn_off_has_a_line_to_move_it_by(demo_window: MainWindow) -> None:
    back = find(demo_window, QToolButton, "runTearOff")
    title = back.parentWidget()
    assert title is not None
    assert title.height() == 0
    choose(demo_window, "tearOffRun")
    assert title.height() > 0
    assert back.isVisible()
    back.click()
    assert not dock(demo_window, "run").isFloating()


def test_a_pane_that_a_person_closed_stays_closed_after_the_page_of_models(
    demo_window: MainWindow,
) -> None:
    choose(demo_window, "toggleStructure")
    choose(demo_window, "showWelcome")
    demo_window.welcome.left.emit()
    assert [dock(demo_window, name).isVisible() for name in ("structure", "module", "run")] == [
        *(False, True, True)
    ]
    choose(demo_window, "resetPanes")
    assert dock(demo_window, "structure").isVisible()


def test_panes_that_were_moved_are_put_back(demo_window: MainWindow) -> None:
    choose(demo_window, "tearOffStructure")
    choose(demo_window, "toggleModule")
    choose(demo_window, "resetPanes")
    panes = [dock(demo_window, name) for name in ("structure", "module", "run")]
    assert all(pane.isVisible() and not pane.isFloating() for pane in panes)


@pytest.mark.parametrize("size", [(1024, 700), (1280, 720), (1366, 768), (2560, 1440)])
def test_the_sentence_and_its_button_are_always_in_sight(
    demo_window: MainWindow, size: tuple[int, int], qtbot: QtBot
) -> None:
    resize(demo_window, *size)
    for name in ("sentenceEdit", "runButton"):
        widget = find(demo_window, QWidget, name)
        qtbot.waitUntil(widget.isVisible)
        assert demo_window.rect().contains(in_window(widget, demo_window)), (name, size)


def test_tab_goes_from_the_bar_over_the_left_and_the_middle_to_below_and_the_right(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    bar, middle = find(demo_window, QToolBar, "topBar"), find(demo_window, QTabWidget, "detailTabs")
    places: dict[str, QWidget] = {"bar": bar, "middle": middle}
    places |= {name: dock(demo_window, name) for name in ("structure", "run", "module")}

    def place() -> str:
        focused = demo_window.focusWidget()
        assert focused is not None
        return next(name for name, each in places.items() if each.isAncestorOf(focused))

    find(demo_window, QPushButton, "runButton").setEnabled(True)
    middle.setCurrentIndex(2)  # its page is created now, after everything else
    seen: list[str] = []
    find(demo_window, QLineEdit, "treeFilter").setFocus()
    for _ in range(150):
        QApplication.processEvents()  # the order is set again when the focus has moved
        if seen[-1:] != [place()]:
            seen.append(place())
        demo_window.focusNextPrevChild(True)
    assert seen[:6] == ["structure", "middle", "run", "module", "bar", "structure"]


def test_looking_for_the_first_control_leaves_the_window_to_nobody(
    demo_window: MainWindow,
) -> None:
    demo_window.panes.toggle("structure")
    focus_first(find(demo_window, QTabWidget, "detailTabs"))
    # PySide would invalidate the window with a widget that it takes for the window's parent.
    assert "parent....." not in shiboken6.dump(demo_window)


def test_in_a_narrow_window_both_side_panes_leave_the_middle_its_room(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    structure, module = dock(demo_window, "structure"), dock(demo_window, "module")
    resize(demo_window, 1024, 700)
    assert module.isHidden()
    usual = structure.width()
    demo_window.panes.toggle("module")
    qtbot.waitUntil(lambda: structure.width() < usual)
    assert structure.width() + module.width() <= 1024 // 2
    demo_window.panes.toggle("module")
    qtbot.waitUntil(lambda: structure.width() == usual)
    resize(demo_window, 1440, 900)
    qtbot.waitUntil(lambda: structure.width() == module.width() == usual)
