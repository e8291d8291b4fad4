"""User guide: its dialog, and that the menus, shortcuts and views it names exist."""

import re

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QLineEdit, QListWidget, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.ui.help.guide import MARGIN, GuideDialog, GuidePage
from bertviewer.ui.help.guide_sections import guide_folder, guide_sections
from bertviewer.ui.run.views import VIEWS
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.views import PAGES
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME
from bertviewer.ui.tree.filter import parse_filter
from tests.ui.finding import activate, find

TEXTS = {path.name: path.read_text(encoding="utf-8") for path in guide_folder().glob("*.md")}
CODE = re.compile(r"`([^`\n]+)`")
KEY = re.compile(
    r"((Ctrl|Alt|Shift|Meta)\+)+\S+|F\d+|Esc|Tab|Home|End|Space|Return|Enter|Backspace"
)
RUN_VIEWS = tuple(kind.title for kind in VIEWS)
TENSOR_VIEWS = tuple(kind.title for kind in PAGES)
_PANES = TEXTS["shortcuts.md"].partition("## In a pane")[2]
PANE_KEYS = {*CODE.findall(_PANES), "F10", "Tab", "Shift+F10", "Enter"}


def test_shortcuts_and_menus_of_the_guide_exist_and_are_complete(window: MainWindow) -> None:
    keys = {key for text in TEXTS.values() for key in CODE.findall(text) if KEY.fullmatch(key)}
    assert {key for key in keys if not QKeySequence(key).toString()} == set()
    assert keys <= window.action_set.shortcuts | PANE_KEYS
    menus = CODE.findall(TEXTS["shortcuts.md"].partition("## In a pane")[0])
    ranges = {f"{key}+{n}" for key in ("Alt", "Ctrl") for n in range(1, 10)}
    assert window.action_set.shortcuts - ranges <= set(menus)
    known = {
        f"{entry.menu} › {entry.title}".replace("&", "").removesuffix("…")
        for entry in window.action_set.entries
    }
    named = {
        each for text in TEXTS.values() for each in re.findall(r"\*\*([^*]+ › [^*]+)\*\*", text)
    }
    assert len(named) > 5
    assert named <= known


@pytest.mark.parametrize(
    ("name", "titles"),
    [("running-a-sentence.md", RUN_VIEWS), ("tensors.md", TENSOR_VIEWS)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tables_of_views_are_complete(name: str, titles: tuple[str, ...]) -> None:
    _, _, table = TEXTS[name].partition("| View |")
    assert tuple(re.findall(r"^\| ([A-Z][\w ]+) \|", table, re.MULTILINE)) == titles


def test_filters_of_the_guide_are_valid() -> None:
    _, _, table = TEXTS["structure-and-formulas.md"].partition("| Filter |")
    filters = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    assert len(filters) > 6
    assert [parse_filter(each).error for each in filters] == [""] * len(filters)


@pytest.fixture
def guide(qtbot: QtBot) -> GuideDialog:
    dialog = GuideDialog()
    qtbot.addWidget(dialog)
    dialog.go("README.md")
    dialog.show()
    return dialog


def entries(guide: GuideDialog) -> list[str]:
    contents = find(guide, QListWidget, "guideContents")
    return [contents.item(row).text() for row in range(contents.count())]


def shown(guide: GuideDialog) -> str:
    return find(guide, GuidePage).source().toString()


def test_the_contents_list_the_chapters(guide: GuideDialog) -> None:
    assert entries(guide) == [each.title for each in guide_sections() if "#" not in each.address]
    contents = find(guide, QListWidget, "guideContents")
    for row in range(contents.count()):
        contents.setCurrentRow(row)
        assert find(guide, GuidePage).document().firstBlock().text() == entries(guide)[row]


def test_a_search_finds_sections_of_all_chapters(guide: GuideDialog, qtbot: QtBot) -> None:
    field, page = find(guide, QLineEdit, "guideSearch"), find(guide, GuidePage)
    qtbot.keyClicks(field, "logit LENS")
    assert entries(guide)[0] == "Logit lens – Attention and predictions"
    assert "Logit lens – Glossary" in entries(guide)
    assert shown(guide) == "attention-and-predictions.md#logit-lens"
    marked = {mark.cursor.selectedText().casefold() for mark in page.extraSelections()}
    assert marked == {"logit", "lens"}
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert shown(guide) == "glossary.md#logit-lens"
    field.setText("zzzz")
    assert entries(guide) == ["No results"]
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert shown(guide) == "glossary.md#logit-lens"
    field.clear()
    assert len(entries(guide)) == len(TEXTS)
    assert not page.extraSelections()


def test_links_and_back(guide: GuideDialog, qtbot: QtBot) -> None:
    page, contents = find(guide, GuidePage), find(guide, QListWidget, "guideContents")
    page.anchorClicked.emit(QUrl("map.md"))
    assert contents.currentItem().text() == "The map"
    qtbot.mouseClick(find(guide, QToolButton, "guideBack"), Qt.MouseButton.LeftButton)
    assert shown(guide) == "README.md"
    assert contents.currentItem().text() == "User guide"
    activate(guide, qtbot)
    qtbot.keyClick(guide, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: shown(guide) == "map.md")  # a button is animated first


def test_a_section_is_scrolled_to(guide: GuideDialog) -> None:
    page = find(guide, GuidePage)
    guide.go("glossary.md#symbols")
    assert page.cursorForPosition(QPoint(MARGIN + 1, 8)).block().text() == "Symbols"


def test_another_theme_keeps_the_scroll_position(window: MainWindow) -> None:
    window.show_guide("opening-models.md#the-hub")
    page = find(window, GuidePage)
    colors = []
    for theme in (LIGHT_NAME, DARK_NAME):
        window.set_appearance(theme)
        assert page.verticalScrollBar().value() > 0
        block = page.document().findBlockByNumber(0)
        while not block.text().startswith("Model"):
            block = block.next()
        colors.append(block.begin().fragment().charFormat().foreground().color().name())
    assert colors[0] != colors[1]


def test_actions_open_the_guide_at_their_chapter(window: MainWindow, qtbot: QtBot) -> None:
    activate(window, qtbot)
    qtbot.keyClick(window, Qt.Key.Key_F1)
    guide = find(window, GuideDialog)
    assert guide.isVisible()
    assert shown(guide) == "README.md"
    for name, chapter in (("keys", "shortcuts.md"), ("whatIsWhat", "glossary.md")):
        find(window, QAction, name).trigger()
        assert shown(find(window, GuideDialog)) == chapter
    qtbot.keyClick(guide, Qt.Key.Key_Escape)
    assert not guide.isVisible()
    find(window, QAction, "userGuide").trigger()
    assert guide.isVisible()
    assert shown(guide) == "glossary.md"
    guide.close()
