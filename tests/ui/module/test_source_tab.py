"""Source tab: the source of the selected module's class, numbered as in its file."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QTextCursor
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QTabWidget, QTreeView, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.building.source_code import SourceCode, source_of
from bertviewer.ui.module.source_highlighting import DARK_COLORS, LIGHT_COLORS, Span, spans_of
from bertviewer.ui.module.source_tab import SourceTab
from bertviewer.ui.module.source_view import SourceView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME, apply_appearance
from bertviewer.ui.widgets.find_bar import FindBar
from tests.core.opened import plain
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import find
from tests.ui.run.view_harness import made_up_tree

CODE = '''@decorated
class Kind(Base):
    """Two
    lines."""

    def run(self, x):
        return x @ 2  # why
'''


def test_spans_by_kind_of_token() -> None:
    spans = spans_of(CODE)
    assert spans[0] == [Span(0, 1, "decorator"), Span(1, 9, "decorator")]
    assert spans[1] == [Span(0, 5, "keyword"), Span(6, 4, "definition")]
    assert spans[2] == [Span(4, 6, "string")]
    assert spans[3] == [Span(0, 13, "string")]
    assert [s.kind for s in spans[5]] == ["keyword", "definition", "self"]
    assert [s.kind for s in spans[6]] == ["keyword", "number", "comment"]  # @ is a product here


def test_spans_of_a_method_alone_and_of_invalid_code() -> None:
    method = "    def forward(self):\n        return None\n"
    assert [s.kind for s in spans_of(method)[1]] == ["keyword", "keyword"]
    assert spans_of("class (((:\n'") == {0: [Span(0, 5, "keyword")]}


def luminance(color: QColor) -> float:
    parts: list[float] = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize(
    ("appearance", "colors"), [(LIGHT_NAME, LIGHT_COLORS), (DARK_NAME, DARK_COLORS)]
)
def test_colors_have_a_contrast_of_4_5(
    appearance: str, colors: dict[str, str], qapp: QApplication
) -> None:
    apply_appearance(qapp, appearance)
    base = luminance(QApplication.palette().color(QPalette.ColorRole.Base))
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


@pytest.fixture
def tab(workspace: Workspace, qtbot: QtBot) -> SourceTab:
    show_architecture(workspace, plain("bert-base-uncased"))
    tab = SourceTab(workspace)
    qtbot.addWidget(tab)
    tab.show()
    return tab


def colors_of(view: SourceView) -> Iterator[str]:
    """Yield the colours of the first line."""
    for entry in view.document().findBlockByNumber(0).layout().formats():
        yield entry.format.foreground().color().name()


def test_the_source_of_the_selected_class(
    tab: SourceTab, workspace: Workspace, qapp: QApplication, qtbot: QtBot
) -> None:
    view = find(tab, SourceView, "sourceView")
    workspace.selection.select("encoder.layer.1.attention.self")
    tab.refresh()
    (expected,) = source_of("transformers.models.bert.modeling_bert", "BertSelfAttention")
    assert view.toPlainText() == expected.text.rstrip("\n")
    assert view.line_number(0) == expected.first_line
    texts = [label.text() for label in tab.findChildren(QLabel)]
    assert "BertSelfAttention" in texts
    assert any(f"{expected.path}, line {expected.first_line}" in text for text in texts)
    assert any(f"transformers {expected.version}" in text for text in texts)
    assert view.isReadOnly()
    for appearance, colors in ((LIGHT_NAME, LIGHT_COLORS), (DARK_NAME, DARK_COLORS)):
        apply_appearance(qapp, appearance)
        qtbot.waitUntil(lambda colors=colors: colors["keyword"] in colors_of(view))  # type: ignore[misc]
    # The same class in another layer keeps the position.
    view.moveCursor(QTextCursor.MoveOperation.End)
    position = view.textCursor().position()
    workspace.selection.select("encoder.layer.2.attention.self")
    tab.refresh()
    assert view.textCursor().position() == position
    workspace.selection.select("embeddings.LayerNorm")
    tab.refresh()
    assert "class LayerNorm(Module)" in view.toPlainText()


def test_a_missing_source_is_one_line(tab: SourceTab, workspace: Workspace) -> None:
    row = made_up_tree()
    missing = replace(row.node, class_module="no.such.place", class_name="Gone")
    workspace.selection.exchange_tree(replace(row, node=missing))
    tab.refresh()
    assert find(tab, SourceView, "sourceView").toPlainText() == ""
    assert "no.such.place.Gone" in find(tab, QLabel, "sourcePlace").text()


def test_ctrl_f_searches_the_source_where_it_is_read_and_filters_the_tree_elsewhere(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    window = demo_window
    window.activateWindow()
    tabs, tree = find(window, QTabWidget, "detailTabs"), find(window, QTreeView, "moduleTree")
    titles = tabs.tabBar()
    source = next(n for n in range(tabs.count()) if tabs.tabText(n) == "Source")

    def click(number: int) -> None:
        tree.setFocus()
        qtbot.waitUntil(tree.hasFocus)
        place = titles.tabRect(number).center()
        qtbot.mouseClick(titles, Qt.MouseButton.LeftButton, pos=place)

    def press(widget: QWidget) -> None:
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        qtbot.keyClick(widget, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)

    for _ in range(2):  # the first click builds the page
        click(source)
        view = find(window, SourceView, "sourceView")
        assert view.hasFocus()  # it is read with the keyboard
    bar, field = find(window, FindBar, "findBar"), find(window, QLineEdit, "findField")
    filter_field = find(window, QLineEdit, "treeFilter")
    for widget in (view, titles):
        press(widget)
        assert field.hasFocus()
        qtbot.keyClick(field, Qt.Key.Key_Escape)
    press(tree)
    assert filter_field.hasFocus()
    assert not bar.isVisible()
    click(0)
    assert tree.hasFocus()  # the arrow keys go on from module to module
    press(titles)
    assert filter_field.hasFocus()
    titles.setFocus()  # keeps its own keys
    qtbot.keyClick(titles, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    assert tabs.currentIndex() == 1
