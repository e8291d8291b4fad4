"""The tab shows the class's own lines, numbered as in the file, readable in both themes."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QTextCursor
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QTabWidget,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.building.source_code import SourceCode, source_of
from bertviewer.ui.module.source_highlighting import DARK_COLORS, LIGHT_COLORS, Span, spans_of
from bertviewer.ui.module.source_view import SourceView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME
from bertviewer.ui.widgets.find_bar import FindBar
from tests.ui.finding import find
from tests.ui.module.source_in_sight import CODE, source_tab
from tests.ui.run.view_harness import made_up_tree


def luminance(color: QColor) -> float:
    parts: list[float] = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def colors_of(view: SourceView, line: int) -> set[str]:
    block = view.document().findBlockByNumber(line)
    return {entry.format.foreground().color().name() for entry in block.layout().formats()}


def test_spans_tell_the_kinds_of_words_apart() -> None:
    spans = spans_of(CODE)
    assert spans[0] == [Span(0, 1, "decorator"), Span(1, 9, "decorator")]
    assert spans[1] == [Span(0, 5, "keyword"), Span(6, 4, "definition")]
    assert spans[2] == [Span(4, 6, "string")]
    assert spans[3] == [Span(0, 13, "string")]
    assert [s.kind for s in spans[5]] == ["keyword", "definition", "self"]
    # A matrix product is no decorator.
    assert [s.kind for s in spans[6]] == ["keyword", "number", "comment"]


def test_a_method_by_itself_and_broken_text_are_coloured_as_far_as_they_go() -> None:
    method = "    def forward(self):\n        return None\n"
    assert [s.kind for s in spans_of(method)[1]] == ["keyword", "keyword"]
    assert spans_of("class (((:\n'") == {0: [Span(0, 5, "keyword")]}


@pytest.mark.parametrize("appearance", [LIGHT_NAME, DARK_NAME])
def test_colours_can_be_read(window: MainWindow, appearance: str) -> None:
    window.set_appearance(appearance)
    base = luminance(QApplication.palette().color(QPalette.ColorRole.Base))
    colors = LIGHT_COLORS if appearance == LIGHT_NAME else DARK_COLORS
    for kind, color in colors.items():
        light, dark = sorted((luminance(QColor(color)), base), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, kind


def test_lines_are_numbered_as_in_their_files(qtbot: QtBot) -> None:
    view = SourceView()
    qtbot.addWidget(view)
    first = SourceCode("Kind", "a/b.py", "a", "1", 40, "class Kind:\n    pass\n")
    second = SourceCode("Base.forward", "a/c.py", "a", "1", 7, "    def forward(self):\n")
    view.show_source([("", first), ("inherited", second)])
    numbers = [view.line_number(n) for n in range(view.blockCount())]
    assert numbers == [40, 41, None, None, None, 7]
    assert view.toPlainText().splitlines()[3] == "# inherited"
    assert view.gutter_width() > view.fontMetrics().horizontalAdvance("41")


def test_the_selected_modules_class_is_shown(demo_window: MainWindow, qtbot: QtBot) -> None:
    window = demo_window
    window.workspace.selection.select("encoder.layer.1.attention.self")
    page, view = source_tab(window)
    (expected,) = source_of("transformers.models.bert.modeling_bert", "BertSelfAttention")
    assert view.toPlainText() == expected.text.rstrip("\n")
    assert view.line_number(0) == expected.first_line
    texts = [label.text() for label in page.findChildren(QLabel)]
    assert "BertSelfAttention" in texts
    assert any(f"{expected.path}, line {expected.first_line}" in text for text in texts)
    assert any(f"transformers {expected.version}" in text for text in texts)
    # It can be selected and copied, and not changed.
    assert view.isReadOnly()
    view.selectAll()
    assert view.textCursor().selectedText().startswith("class BertSelfAttention")

    window.set_appearance(LIGHT_NAME)
    qtbot.waitUntil(lambda: LIGHT_COLORS["keyword"] in colors_of(view, 0))
    window.set_appearance(DARK_NAME)
    qtbot.waitUntil(lambda: DARK_COLORS["keyword"] in colors_of(view, 0))

    # The same class elsewhere leaves the reader at the line that is being read.
    view.moveCursor(QTextCursor.MoveOperation.End)
    at = view.textCursor().position()
    window.workspace.selection.select("encoder.layer.2.attention.self")
    assert view.textCursor().position() == at
    window.workspace.selection.select("embeddings.LayerNorm")
    assert "class LayerNorm(Module)" in view.toPlainText()


def test_a_missing_source_is_one_plain_line(demo_window: MainWindow) -> None:
    row = made_up_tree()
    gone = replace(row.node, class_module="no.such.place", class_name="Gone")
    demo_window.workspace.selection.exchange_tree(replace(row, node=gone))
    page, view = source_tab(demo_window)
    assert view.toPlainText() == ""
    assert "no.such.place.Gone" in find(page, QLabel, "sourcePlace").text()


def test_the_shortcut_finds_where_one_reads_and_filters_elsewhere(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    window = demo_window
    window.activateWindow()
    source_tab(window)
    tabs, bar = find(window, QTabWidget, "detailTabs"), find(window, FindBar, "findBar")
    tree, filter_ = find(window, QTreeView, "moduleTree"), find(window, QLineEdit, "treeFilter")
    field, titles = find(window, QLineEdit, "findField"), tabs.tabBar()
    source = next(n for n in range(tabs.count()) if tabs.tabText(n) == "Source")

    def press(widget: QWidget) -> None:
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        qtbot.keyClick(widget, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)

    tree.setFocus()
    qtbot.waitUntil(tree.hasFocus)
    qtbot.mouseClick(titles, Qt.MouseButton.LeftButton, pos=titles.tabRect(0).center())
    assert tree.hasFocus()  # the arrow keys go on from module to module
    tabs.setCurrentIndex(source)
    press(titles)
    assert field.hasFocus()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    press(tree)
    assert filter_.hasFocus()
    assert not bar.isVisible()
    tabs.setCurrentIndex(0)
    press(titles)
    assert filter_.hasFocus()
    # Its own keys stay the tab bar's.
    titles.setFocus()
    qtbot.keyClick(titles, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    assert tabs.currentIndex() == 1


def test_a_click_on_its_title_brings_the_keys_to_the_source(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    window = demo_window
    window.activateWindow()
    tabs, tree = find(window, QTabWidget, "detailTabs"), find(window, QTreeView, "moduleTree")
    source = next(n for n in range(tabs.count()) if tabs.tabText(n) == "Source")
    place = tabs.tabBar().tabRect(source).center()
    for _ in range(2):  # the first click brings it into sight
        tree.setFocus()
        qtbot.waitUntil(tree.hasFocus)
        qtbot.mouseClick(tabs.tabBar(), Qt.MouseButton.LeftButton, pos=place)
        view = find(window, SourceView, "sourceView")
        assert view.hasFocus()
    qtbot.keyClick(view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert find(window, QLineEdit, "findField").hasFocus()
