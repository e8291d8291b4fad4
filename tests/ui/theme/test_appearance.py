"""The size of all type: larger, smaller, usual again, and remembered."""

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction, QFont
from PySide6.QtWidgets import QApplication, QLabel, QToolBar, QToolButton, QTreeView, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import FONTS, MONO_FONTS, NORMAL_WEIGHT, STRONG
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.top_bar import HEIGHT
from bertviewer.ui.theme.appearance import SCALE_SETTING, SCALES, stored_scale
from tests.ui.finding import find


def sizes(window: MainWindow) -> list[int]:
    """The sizes of words, of a title, of a crumb and of the tree."""
    title = find(window, Inspector).findChildren(QLabel)[0]
    crumb = find(window, QToolButton, "crumb0")
    tree = find(window, QTreeView, "moduleTree")
    return [QApplication.font().pixelSize(), *(w.font().pixelSize() for w in (title, crumb, tree))]


def choose(window: MainWindow, name: str) -> None:
    find(window, QAction, name).trigger()
    QApplication.processEvents()


def test_all_type_is_larger_and_usual_again(demo_window: MainWindow) -> None:
    usual = sizes(demo_window)
    for _ in range(3):
        choose(demo_window, "largerText")
    assert stored_scale() == SCALES[SCALES.index(1.0) + 3]
    assert all(
        now == pytest.approx(before * stored_scale(), abs=1)
        for now, before in zip(sizes(demo_window), usual, strict=True)
    )
    # Another theme lays another style sheet over all.
    demo_window.set_appearance("dark")
    choose(demo_window, "smallerText")
    choose(demo_window, "usualText")
    assert sizes(demo_window) == usual


def test_another_theme_leaves_each_word_its_weight(demo_window: MainWindow) -> None:
    def weights() -> list[float]:
        names = [find(demo_window, QToolButton, f"crumb{number}") for number in range(4)]
        return [name.font().variableAxisValue(QFont.Tag("wght")) for name in names]

    # The first crumb was the last one before, which is strong.
    demo_window.workspace.selection.select("encoder.layer.3.attention.self")
    before = weights()
    assert before == [*[NORMAL_WEIGHT] * 3, STRONG]
    for theme in ("dark", "light"):
        demo_window.set_appearance(theme)
        QApplication.processEvents()
        assert weights() == before


def test_it_goes_no_further_than_the_last(demo_window: MainWindow) -> None:
    for _ in range(len(SCALES) + 2):
        choose(demo_window, "largerText")
    assert stored_scale() == SCALES[-1]
    for _ in range(2 * len(SCALES)):
        choose(demo_window, "smallerText")
    assert stored_scale() == SCALES[0]
    choose(demo_window, "usualText")


@pytest.mark.parametrize("odd", ["huge", 17.0, [], "nan"])
@pytest.mark.usefixtures("qapp")
def test_an_odd_setting_is_the_usual_size(odd: object) -> None:
    QSettings().setValue(SCALE_SETTING, odd)
    assert stored_scale() == 1.0


def test_words_are_in_the_programs_type_from_the_first_picture_on(
    worker: Worker, qapp: QApplication, qtbot: QtBot
) -> None:
    # As it is before the first window of the program.
    qapp.setStyleSheet("")
    qapp.setFont(QFont("Sans Serif", 9))
    window = make_window(worker)
    qtbot.addWidget(window)
    window.show()
    fonts = {widget.font().families()[0] for widget in window.findChildren(QWidget)}
    assert fonts <= {FONTS[0], MONO_FONTS[0]}
    bar = find(window, QToolBar, "topBar")
    assert bar.height() == HEIGHT


def test_every_widget_follows_also_one_that_is_hidden(demo_window: MainWindow) -> None:
    for name in ("largerText", "largerText", "smallerText"):
        choose(demo_window, name)
        usual = QApplication.font().pixelSize()
        others = [
            widget
            for widget in demo_window.findChildren(QWidget)
            if widget.font().pixelSize() != usual and not _has_own_font(widget)
        ]
        assert [(type(each), each.objectName()) for each in others] == []
    choose(demo_window, "usualText")


def _has_own_font(widget: QWidget | None) -> bool:
    """Tell whether a widget has a font of its own, or takes over that of one around it."""
    while widget is not None:
        if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont):
            return True
        widget = None if widget.isWindow() else widget.parentWidget()
    return False
