"""Translation of the window: all texts are in the catalogue, and shown in the system's language."""

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
from tests.ui.finding import is_drawn

MARK = "⟦"
UNTRANSLATED = frozenset(
    (
        *("", "bertviewer", "embeddings", "attention", "None", "mean", "min", "max"),
        *("mean ± std", "Close", "all tokens", "content"),
    )
)
"""Names of modules, statistics and classes of tokens, and a text of Qt's, which elsewhere are
words."""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalogue for Klingon, in which each text is in brackets."""
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
    install_translations(qapp, ["tlh-Latn", "tlh", "en"], catalogue.parent)
    yield
    speak(None)
    for translator in qapp.findChildren(QTranslator):
        QCoreApplication.removeTranslator(translator)
        translator.deleteLater()


def texts(window: QWidget) -> Iterator[str]:
    """Yield all visible texts, tooltips and accessible names of a window."""
    for each in window.findChildren(QObject):
        if isinstance(each, QAction):
            yield from (each.text(), each.toolTip())
        if isinstance(each, QWidget):
            yield from (each.toolTip(), each.accessibleName(), each.windowTitle())
        if isinstance(each, QLabel | QAbstractButton):
            yield each.text()
        if isinstance(each, QLineEdit):
            yield each.placeholderText()
        if isinstance(each, QTabBar):
            yield from (each.tabText(number) for number in range(each.count()))
        if isinstance(each, QComboBox):
            yield from (each.itemText(number) for number in range(each.count()))
        if isinstance(each, QAbstractItemView) and (model := each.model()) is not None:
            columns = range(model.columnCount())
            yield from (str(model.headerData(c, Qt.Orientation.Horizontal) or "") for c in columns)


@pytest.mark.usefixtures("translated")
def test_all_texts_of_the_window_are_translated(
    catalogue: Path, demo_window: MainWindow, qtbot: QtBot
) -> None:
    window = demo_window
    window.set_sentence("The cat sat on the mat.", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window))
    shown = set(texts(window))
    assert len([text for text in shown if MARK in text]) > 300
    # A text that is marked in one context and translated in another stays English.
    sources = {m.findtext("source") for m in ElementTree.parse(catalogue).iter("message")}
    assert shown & sources <= UNTRANSLATED
    titles = [action.text() for action in window.menuBar().actions()]
    titles += [bar.tabText(n) for bar in window.findChildren(QTabBar) for n in range(bar.count())]
    assert len(titles) > 15
    assert [title for title in titles if MARK not in title] == []
    assert norms_chart(make_run()).x_title == f"{MARK}Token⟧"


def test_a_preferred_language_that_is_english_or_unknown_leaves_the_texts(
    catalogue: Path, qapp: QApplication
) -> None:
    for languages in (["en-Latn-US", "en-US", "tlh"], ["xx-Latn", "xx"]):
        install_translations(qapp, languages, catalogue.parent)
        assert translate("charts", "Token") == "Token"
