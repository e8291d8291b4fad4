"""Panes: closed, undocked, maximized, and arranged by the width of the window."""

from collections.abc import Callable
from typing import cast, get_args

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLineEdit,
    QMainWindow,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.ui.docks.dock import Pane, PaneName
from bertviewer.ui.docks.focus import TabOrder, focus_first
from bertviewer.ui.docks.panes import Panes
from bertviewer.ui.theme.appearance import LIGHT_NAME, apply_appearance, store_next_scale
from tests.ui.finding import activate, find

NAMES: tuple[PaneName, ...] = get_args(PaneName)
RIGHT, BOTTOM = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea


class Harness:
    """A window with a field in each pane and in the middle."""

    def __init__(self, qtbot: QtBot, width: int = 1360) -> None:
        self.window = QMainWindow()
        qtbot.addWidget(self.window)
        self.window.resize(width, 860)
        self.middle = QWidget()
        self.fields = {name: QLineEdit() for name in (*NAMES, "middle")}
        QVBoxLayout(self.middle).addWidget(self.fields["middle"])
        self.window.setCentralWidget(self.middle)
        self.panes = Panes(
            self.window,
            [Pane(name, name, self._content(name), has_title=name != "run") for name in NAMES],
        )
        self.panes.set_shown(True)
        self.window.show()
        activate(self.window, qtbot)

    def _content(self, name: str) -> QWidget:
        content = QWidget()
        QVBoxLayout(content).addWidget(self.fields[name])
        return content

    def dock(self, name: str) -> QDockWidget:
        return self.panes.dock(cast(PaneName, name))

    def button(self, name: str) -> QToolButton:
        return find(self.window, QToolButton, name)

    def resize(self, width: int, height: int = 700) -> None:
        self.window.resize(width, height)
        QApplication.processEvents()

    @property
    def shown(self) -> set[str]:
        widgets: dict[str, QWidget] = {name: self.dock(name) for name in NAMES}
        widgets["middle"] = self.middle
        return {name for name, widget in widgets.items() if widget.isVisible()}

    @property
    def focused(self) -> str:
        focus = QApplication.focusWidget()
        return next((name for name, field in self.fields.items() if field is focus), "")


@pytest.fixture
def harness(qtbot: QtBot) -> Harness:
    return Harness(qtbot)


def test_a_pane_is_closed_and_opened(harness: Harness) -> None:
    changes: list[set[str]] = []
    harness.panes.shown_changed.connect(lambda: changes.append(harness.shown))
    harness.panes.toggle("structure")
    assert harness.shown == {"middle", "run", "module"}
    harness.panes.toggle("structure")
    harness.button("structureClose").click()
    assert harness.shown == {"middle", "run", "module"}
    harness.panes.bring_parent(harness.fields["structure"])
    assert "structure" in harness.shown
    assert len(changes) == 4


def test_without_a_model_no_panes_are_shown_and_the_choice_stays(harness: Harness) -> None:
    harness.panes.toggle("structure")
    harness.panes.set_shown(False)
    assert harness.shown == {"middle"}
    harness.panes.bring("structure")
    assert harness.shown == {"middle"}
    harness.panes.set_shown(True)
    assert harness.shown == {"middle", "run", "module"}


def test_reset_restores_all_panes(harness: Harness) -> None:
    harness.panes.undock("structure")
    harness.panes.toggle("module")
    harness.panes.maximize("run")
    harness.panes.reset()
    assert harness.shown == {"middle", *NAMES}
    assert not any(harness.dock(name).isFloating() for name in NAMES)
    harness.panes.set_shown(True)
    assert harness.shown == {"middle", *NAMES}


def test_an_undocked_pane_has_a_border_and_buttons_to_dock_and_close_it(harness: Harness) -> None:
    run, back = harness.dock("run"), harness.button("runTearOff")
    title = back.parentWidget()
    assert title is not None
    assert title.height() == 0
    harness.panes.undock("run")
    assert run.isFloating()
    assert title.height() > 0
    line = run.palette().color(QPalette.ColorRole.Mid)
    assert run.grab().toImage().pixelColor(0, run.height() // 2) == line
    harness.button("runClose").click()
    assert "run" not in harness.shown
    harness.panes.toggle("run")
    back.click()
    assert not run.isFloating()
    assert run.contentsMargins().isNull()


@pytest.mark.parametrize("name", ["run", None])
def test_a_maximized_pane_has_the_whole_window_until_the_others_are_restored(
    harness: Harness, name: PaneName | None
) -> None:
    sizes = {each: harness.dock(each).size() for each in NAMES}
    harness.panes.maximize(name)
    QApplication.processEvents()
    assert harness.shown == {name or "middle"}
    shown = harness.middle if name is None else harness.dock(name)
    assert shown.width() == harness.window.width()
    harness.panes.bring("structure")
    QApplication.processEvents()
    assert harness.shown == {"middle", *NAMES}
    assert {each: harness.dock(each).size() for each in NAMES} == sizes


def test_the_module_pane_needs_a_wide_window_unless_the_user_opened_it(harness: Harness) -> None:
    for width, is_shown in ((1024, False), (1366, True)):
        harness.resize(width)
        assert ("module" in harness.shown) == is_shown
    harness.panes.toggle("module")
    harness.resize(1024)
    harness.panes.toggle("module")
    for width in (1366, 1024):
        harness.resize(width)
        assert "module" in harness.shown
    assert harness.panes.overrides == {"module": True}
    harness.panes.toggle("module")
    harness.resize(1366)
    assert "module" in harness.shown  # closed only where it had no room
    assert harness.panes.overrides == {}


def test_an_undocked_pane_needs_no_room(harness: Harness) -> None:
    harness.panes.undock("module")
    harness.resize(1024)
    assert "module" in harness.shown
    harness.panes.undock("module")  # docked in a narrow window, it was opened by the user
    for width in (1024, 1366, 1024):
        harness.resize(width)
        assert "module" in harness.shown


def test_large_text_needs_a_wider_window(harness: Harness, qtbot: QtBot) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    harness.resize(1000)
    assert "structure" in harness.shown
    for _ in range(3):
        store_next_scale(1)
    apply_appearance(application, LIGHT_NAME)
    qtbot.waitUntil(lambda: "structure" not in harness.shown)
    store_next_scale(0)
    apply_appearance(application, LIGHT_NAME)
    qtbot.waitUntil(lambda: "structure" in harness.shown)
    harness.resize(740)
    assert "structure" not in harness.shown


def test_both_side_panes_are_narrower_in_a_narrow_window(harness: Harness, qtbot: QtBot) -> None:
    structure, module = harness.dock("structure"), harness.dock("module")
    harness.resize(1024)
    usual = structure.width()
    harness.panes.toggle("module")
    qtbot.waitUntil(lambda: structure.width() < usual)
    assert structure.width() + module.width() <= 1024 // 2
    harness.panes.toggle("module")
    qtbot.waitUntil(lambda: structure.width() == usual)
    harness.resize(1440)
    qtbot.waitUntil(lambda: structure.width() == module.width() == usual)


def test_a_run_is_next_to_the_middle_in_a_wide_window(harness: Harness) -> None:
    run = harness.dock("run")
    harness.resize(2200, 1200)
    areas = [harness.window.dockWidgetArea(run)]
    for is_open in (True, False, True):
        harness.panes.set_run_open(is_open)
        areas.append(harness.window.dockWidgetArea(run))
    harness.resize(1366)
    areas.append(harness.window.dockWidgetArea(run))
    assert areas == [BOTTOM, RIGHT, BOTTOM, RIGHT, BOTTOM]


def test_a_new_run_opens_and_enlarges_its_pane(harness: Harness, qtbot: QtBot) -> None:
    run = harness.dock("run")
    for _ in range(2):
        harness.panes.set_run_open(True)
        assert "run" in harness.shown
        qtbot.waitUntil(lambda: run.height() > harness.window.height() // 4)
        harness.panes.set_run_open(False)
        qtbot.waitUntil(lambda: run.height() <= run.minimumSizeHint().height())
        harness.panes.toggle("run")


def test_a_layout_is_restored_as_far_as_it_suits_the_window(qtbot: QtBot) -> None:
    def next_window(before: Harness, width: int) -> Harness:
        """Return a window with the layout and the choices of another one."""
        layout = before.window.saveState(1)
        after = Harness(qtbot, width)
        after.panes.restore(
            lambda: after.window.restoreState(layout, 1),
            before.panes.moved,
            {str(name): is_shown for name, is_shown in before.panes.overrides.items()},
        )
        QApplication.processEvents()
        return after

    narrow = next_window(Harness(qtbot, 1440), 1000)
    assert narrow.shown == {"middle", "structure", "run"}
    for _ in range(2):  # opened for a moment
        narrow.panes.toggle("module")
    wide = next_window(narrow, 2560)
    assert wide.shown == {"middle", *NAMES}
    wide.panes.toggle("module")
    wide.panes.set_run_open(True)
    again = next_window(wide, 2560)
    assert again.shown == {"middle", "structure", "run"}
    # The layout has moved the run, and not the user.
    for is_open, area in ((False, BOTTOM), (True, RIGHT)):
        again.panes.set_run_open(is_open)
        assert again.window.dockWidgetArea(again.dock("run")) == area
    narrow.panes.undock("structure")
    assert next_window(narrow, 1000).dock("structure").isFloating()


@pytest.mark.parametrize(
    "hide", [lambda panes: panes.toggle("structure"), lambda panes: panes.maximize(None)]
)
def test_the_focus_of_a_hidden_pane_is_lent_to_the_middle(
    harness: Harness, hide: Callable[[Panes], None]
) -> None:
    harness.fields["structure"].setFocus()
    hide(harness.panes)
    assert harness.focused == "middle"
    hide(harness.panes)
    assert harness.focused == "structure"
    hide(harness.panes)
    harness.panes.bring("run")
    harness.fields["run"].setFocus()  # the user has moved it meanwhile
    harness.panes.bring("structure")
    assert harness.focused == "run"


def test_the_focus_stays_in_a_pane_that_is_undocked_or_docked(
    harness: Harness, qtbot: QtBot
) -> None:
    harness.fields["structure"].setFocus()
    for _ in range(2):
        harness.panes.undock("structure")
        qtbot.waitUntil(lambda: harness.focused == "structure")


def test_focusing_the_first_control_does_not_make_the_window_a_child(harness: Harness) -> None:
    """PySide would invalidate the window with a widget that it takes for its parent."""
    harness.panes.toggle("structure")
    assert focus_first(harness.middle) is harness.fields["middle"]
    assert "parent....." not in shiboken6.dump(harness.window)


def test_tab_goes_from_region_to_region_also_to_new_widgets(harness: Harness) -> None:
    regions = [
        harness.dock("structure"),
        harness.middle,
        harness.dock("run"),
        harness.dock("module"),
    ]
    TabOrder(harness.window, lambda: regions)
    layout = harness.middle.layout()
    assert layout is not None
    harness.fields["added"] = QLineEdit()  # Qt would append it to the end
    layout.addWidget(harness.fields["added"])
    harness.fields["structure"].setFocus()
    visited = []
    for _ in range(6):
        QApplication.processEvents()
        visited.append(harness.focused)
        harness.window.focusNextPrevChild(True)
    assert visited == ["structure", "middle", "added", "run", "module", "structure"]
