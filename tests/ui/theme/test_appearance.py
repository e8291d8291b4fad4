"""Appearance: theme and text size of all widgets."""

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QLabel, QToolBar, QToolButton, QTreeView, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import FONTS, MONO_FONTS, NORMAL_WEIGHT, STRONG
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.top_bar import HEIGHT
from bertviewer.ui.theme.appearance import (
    SCALE_SETTING,
    SCALES,
    SETTING,
    store_next_scale,
    stored_appearance,
    stored_scale,
)
from tests.ui.finding import find


def test_the_stored_text_size_stays_within_its_range() -> None:
    sizes = []
    for step in (*[1] * (len(SCALES) + 2), *[-1] * (2 * len(SCALES)), 0):
        store_next_scale(step)
        sizes.append(stored_scale())
    assert sizes[:3] == list(SCALES[SCALES.index(1.0) + 1 :][:3])
    assert (max(sizes), min(sizes), sizes[-1]) == (SCALES[-1], SCALES[0], 1.0)


@pytest.mark.parametrize("invalid", ["huge", 17.0, [], "nan"])
def test_invalid_settings_mean_the_default(invalid: object) -> None:
    QSettings().setValue(SCALE_SETTING, invalid)
    QSettings().setValue(SETTING, invalid)
    assert (stored_scale(), stored_appearance()) == (1.0, "system")


def step_text_size(window: MainWindow, step: int) -> None:
    window.step_text_size(step)
    QApplication.processEvents()


def test_the_text_size_changes_every_font_and_can_be_reset(demo_window: MainWindow) -> None:
    demo_window.workspace.selection.select("encoder.layer.3.attention.self")
    crumbs = [find(demo_window, QToolButton, f"crumb{number}") for number in range(4)]
    widgets: list[QWidget] = [
        find(demo_window, Inspector).findChildren(QLabel)[0],
        find(demo_window, QTreeView, "moduleTree"),
        crumbs[0],
    ]

    def sizes() -> list[int]:
        return [QApplication.font().pixelSize(), *(w.font().pixelSize() for w in widgets)]

    def weights() -> list[float]:
        # The first crumb was the last one before, which is strong.
        return [crumb.font().variableAxisValue(QFont.Tag("wght")) for crumb in crumbs]

    before = sizes()
    assert weights() == [*[NORMAL_WEIGHT] * 3, STRONG]
    for step in (1, 1, -1):
        step_text_size(demo_window, step)
        inherited = [
            widget
            for widget in demo_window.findChildren(QWidget)  # hidden ones, too
            if not _has_own_font(widget)
        ]
        assert {each.font().pixelSize() for each in inherited} == {QApplication.font().pixelSize()}
    expected = [size * stored_scale() for size in before]
    assert sizes() == pytest.approx(expected, abs=1)
    demo_window.set_appearance("dark")  # replaces the style sheet
    step_text_size(demo_window, 0)
    assert sizes() == before
    assert weights() == [*[NORMAL_WEIGHT] * 3, STRONG]


def _has_own_font(widget: QWidget | None) -> bool:
    """Return whether a widget or one around it has its own font."""
    while widget is not None:
        if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont):
            return True
        widget = None if widget.isWindow() else widget.parentWidget()
    return False


def test_the_first_window_has_the_fonts_and_sizes_of_the_theme(
    worker: Worker, qapp: QApplication, qtbot: QtBot
) -> None:
    qapp.setStyleSheet("")
    qapp.setFont(QFont("Sans Serif", 9))
    window = make_window(worker)
    qtbot.addWidget(window)
    window.show()
    fonts = {widget.font().families()[0] for widget in window.findChildren(QWidget)}
    assert fonts <= {FONTS[0], MONO_FONTS[0]}
    assert find(window, QToolBar, "topBar").height() == HEIGHT
