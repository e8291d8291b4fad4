"""The window's language is Qt's, and all that it says of itself can be said in another."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QCoreApplication, QObject, Qt, QTranslator
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.token_charts import norms_chart
from bertviewer.charts.translation import speak
from bertviewer.ui.settings.translation import install_translations, translate
from bertviewer.ui.shell.main_window import MainWindow
from tests.charts.runs import make_run
from tests.translations import collect, release

MARK = "⟦"


NAMES = frozenset(
    {"", "bertviewer", "embeddings", "None", "mean", "min", "max", "mean ± std", "Close"}
)
"""The program, a module, a value, statistics and a word of Qt's; elsewhere they are words."""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalogue of Klingon, in which each text stands in brackets."""
    file = tmp_path_factory.mktemp("translations") / "bertviewer_tlh.ts"
    collect(file)
    tree = ElementTree.parse(file)
    for message in tree.iter("message"):
        translation = message.find("translation")
        assert translation is not None
        translation.text = f"{MARK}{message.findtext('source')}⟧"
        del translation.attrib["type"]
    tree.write(file, encoding="utf-8")
    release(file)
    return file


@pytest.fixture
def translated(catalogue: Path, qapp: QApplication) -> Iterator[None]:
    """Have the window speak Klingon."""
    install_translations(qapp, ["tlh-Latn", "tlh", "en"], catalogue.parent)
    yield
    speak(None)
    for translator in qapp.findChildren(QTranslator):
        QCoreApplication.removeTranslator(translator)
        translator.deleteLater()


def sources(catalogue: Path) -> set[str]:
    return {
        message.findtext("source") or "" for message in ElementTree.parse(catalogue).iter("message")
    }


def texts(window: QWidget) -> Iterator[str]:
    """Yield all that is written on a window, and what is told of it beside."""
    for thing in window.findChildren(QObject):
        if isinstance(thing, QAction):
            yield from (thing.text(), thing.toolTip())
        if isinstance(thing, QWidget):
            yield from (thing.toolTip(), thing.accessibleName(), thing.windowTitle())
        if isinstance(thing, QLabel | QAbstractButton):
            yield thing.text()
        if isinstance(thing, QLineEdit):
            yield thing.placeholderText()
        if isinstance(thing, QTabBar):
            yield from (thing.tabText(number) for number in range(thing.count()))
        if isinstance(thing, QComboBox):
            yield from (thing.itemText(number) for number in range(thing.count()))
        if isinstance(thing, QAbstractItemView) and (model := thing.model()) is not None:
            columns = range(model.columnCount())
            yield from (str(model.headerData(c, Qt.Orientation.Horizontal) or "") for c in columns)


@pytest.mark.usefixtures("translated")
def test_whatever_is_marked_is_translated_where_it_is_shown(
    catalogue: Path, demo_window: MainWindow, qtbot: QtBot
) -> None:
    window = demo_window
    window.show()
    window.set_sentence("The cat sat on the mat.", None)
    window.run()
    qtbot.waitUntil(lambda: window.workspace.runs.run is not None)
    shown = set(texts(window))
    assert len([text for text in shown if MARK in text]) > 300
    # A text that is marked in one context and asked for in another stays English.
    assert shown & sources(catalogue) <= NAMES


@pytest.mark.usefixtures("translated")
def test_menus_and_tabs_have_no_word_that_cannot_be_translated(demo_window: MainWindow) -> None:
    menus = [action for action in demo_window.menuBar().actions() if action.menu() is not None]
    assert len(menus) > 4
    for action in menus:
        assert MARK in action.text()
    bars = demo_window.findChildren(QTabBar)
    named = [bar.tabText(number) for bar in bars for number in range(bar.count())]
    assert named
    assert [name for name in named if MARK not in name] == []


def test_who_reads_english_first_gets_english(catalogue: Path, qapp: QApplication) -> None:
    install_translations(qapp, ["en-Latn-US", "en-US", "tlh"], catalogue.parent)
    assert translate("charts", "Token") == "Token"


def test_a_language_without_a_catalogue_is_passed_over(qapp: QApplication, tmp_path: Path) -> None:
    install_translations(qapp, ["xx-Latn", "xx"], tmp_path)
    assert translate("charts", "Token") == "Token"


@pytest.mark.usefixtures("translated")
def test_charts_of_the_window_are_in_its_language() -> None:
    assert norms_chart(make_run()).x_title == f"{MARK}Token⟧"
