"""What a person sees of the tree's rows, in both themes."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QModelIndex, QPoint, QRect, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import DARK, LIGHT, Part, Theme
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME, apply_appearance
from bertviewer.ui.tree.columns import PARAMETERS
from bertviewer.ui.tree.delegate import LONGEST, shortened
from bertviewer.ui.tree.header import TreeHeader
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import ModuleTreeView
from tests.charts.colors import contrast
from tests.core.opened import plain

THEMES = pytest.mark.parametrize(("name", "theme"), [(LIGHT_NAME, LIGHT), (DARK_NAME, DARK)])


@pytest.fixture(autouse=True)
def _light_again(qapp: QApplication) -> Iterator[None]:
    yield
    apply_appearance(qapp, LIGHT_NAME)


def make_view(qtbot: QtBot, tree: TreeRow, appearance: str = LIGHT_NAME) -> ModuleTreeView:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    apply_appearance(application, appearance)
    model = ModuleTreeModel()
    view = ModuleTreeView(model)
    model.setParent(view)
    qtbot.addWidget(view)
    model.set_tree(tree)
    TreeHeader(view, model)
    view.resize(420, 500)
    view.show()
    view.expandToDepth(0)
    return view


def index_of(view: ModuleTreeView, key: str) -> QModelIndex:
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    return model.index_of(key)


def row_of(view: ModuleTreeView, key: str) -> QRect:
    """Return where a row is drawn, from the view's left edge on."""
    box = view.visualRect(index_of(view, key))
    return QRect(0, box.y(), view.viewport().width(), box.height())


def drawn(view: ModuleTreeView) -> QImage:
    return view.viewport().grab().toImage()


def colors(image: QImage, box: QRect) -> set[str]:
    places = (
        (x, y) for x in range(box.left(), box.right()) for y in range(box.top(), box.bottom())
    )
    return {image.pixelColor(x, y).name() for x, y in places}


@THEMES
def test_the_selected_row_is_told_by_its_ground_and_its_edge(
    qtbot: QtBot, name: str, theme: Theme
) -> None:
    view = make_view(qtbot, fold(plain("bert-base-uncased")), name)
    row = row_of(view, "embeddings")
    ground, edge = QPoint(row.right() - 2, row.top() + 2), QPoint(1, row.center().y())
    assert drawn(view).pixelColor(ground).name() == theme.surface
    view.setCurrentIndex(index_of(view, "embeddings"))
    view.activateWindow()
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    focused = drawn(view)
    assert focused.pixelColor(ground).name() == theme.selection
    assert focused.pixelColor(edge).name() == theme.accent
    view.clearFocus()
    away = drawn(view)
    assert away.pixelColor(ground).name() not in (theme.selection, theme.surface)
    assert away.pixelColor(edge).name() == theme.muted


@THEMES
def test_a_chevron_is_seen_on_the_selected_row(qtbot: QtBot, name: str, theme: Theme) -> None:
    view = make_view(qtbot, fold(plain("bert-base-uncased")), name)
    view.setCurrentIndex(index_of(view, "embeddings"))
    for has_focus in (False, True):
        if has_focus:
            view.activateWindow()
            view.setFocus()
            qtbot.waitUntil(view.hasFocus)
        box = view.visualRect(index_of(view, "embeddings"))
        before = QRect(4, box.top() + 6, box.left() - 3, box.height() - 12)
        ground = theme.selection if has_focus else drawn(view).pixelColor(200, box.top() + 2).name()
        strongest = max(contrast(color, ground) for color in colors(drawn(view), before))
        assert strongest >= 3


@THEMES
def test_a_row_has_the_hue_of_its_part(qtbot: QtBot, name: str, theme: Theme) -> None:
    view = make_view(qtbot, fold(plain("bert-base-uncased")), name)
    parts: dict[str, Part] = {"embeddings": "embeddings", "pooler": "head", "encoder": "plain"}
    for key, part in parts.items():
        seen = colors(drawn(view), view.visualRect(index_of(view, key)))
        assert theme.parts[part] in seen
    # The bar of its share too.
    count = view.visualRect(index_of(view, "embeddings").siblingAtColumn(PARAMETERS))
    assert theme.parts["embeddings"] in colors(drawn(view), count)


def test_colours_follow_the_theme_at_once(qtbot: QtBot) -> None:
    view = make_view(qtbot, fold(plain("bert-base-uncased")))
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    apply_appearance(application, DARK_NAME)
    seen = colors(drawn(view), view.visualRect(index_of(view, "embeddings")))
    assert DARK.parts["embeddings"] in seen
    assert LIGHT.parts["embeddings"] not in seen


def made_up(*names: str) -> TreeRow:
    """Return a tree of modules of any names below one."""

    def node(path: str, depth: int) -> ModuleNode:
        return ModuleNode(path, "Odd<b>Class", depth, 7, 7, 7, 0.5, None, {}, "7", None)

    children = tuple(TreeRow(node(name, 1), (), (), (7,)) for name in names)
    return TreeRow(node("", 0), (), children, None)


@pytest.mark.parametrize(
    "name", ["<b>bold</b>&amp;", "编码器层", "מקודד", "a\nb\0c\u202e", "x" * 10_000, "\ud800", " "]
)
def test_any_name_is_drawn_as_it_is(qtbot: QtBot, name: str) -> None:
    view = make_view(qtbot, made_up(name, "plain"))
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    for wanted in ("", f'"{name[:5]}"', "plain", "class:odd"):
        model.set_filter(wanted)
        view.expandAll()
        assert not drawn(view).isNull()
    assert len(shortened(name)) <= LONGEST + 1 or not name.isprintable()
    assert shortened(name).isprintable()
    tip = str(index_of(view, name).data(Qt.ItemDataRole.ToolTipRole) or "")
    assert "<b>" not in tip


def test_letters_that_were_looked_for_are_marked(qtbot: QtBot) -> None:
    view = make_view(qtbot, fold(plain("bert-base-uncased")))
    model = view.model()
    assert isinstance(model, ModuleTreeModel)

    def ground(key: str) -> int:
        """How many pixels of a name are of another colour than the row."""
        view.expandToDepth(0)
        box = view.visualRect(index_of(view, key))
        image = drawn(view)
        middle = box.top() + 6
        line = [QColor(image.pixel(x, middle)).name() for x in range(box.left() + 18, 160)]
        return sum(color != LIGHT.surface for color in line)

    plain_row = ground("pooler")
    model.set_filter("pool")
    assert ground("pooler") > plain_row
    model.set_filter("params>1")
    assert ground("pooler") == plain_row


def test_keys_open_close_and_find(qtbot: QtBot) -> None:
    view = make_view(qtbot, fold(plain("bert-base-uncased")))

    def current() -> str:
        model = view.model()
        assert isinstance(model, ModuleTreeModel)
        row = model.tree_row(view.currentIndex())
        assert row is not None
        return row.key

    def press(*keys: Qt.Key) -> None:
        for key in keys:
            qtbot.keyClick(view, key)

    view.setCurrentIndex(index_of(view, ""))
    press(Qt.Key.Key_Down)
    assert current() == "embeddings"
    press(Qt.Key.Key_Right)
    assert view.isExpanded(index_of(view, "embeddings"))
    press(Qt.Key.Key_Right)
    assert current() == "embeddings.word_embeddings"
    press(Qt.Key.Key_Left, Qt.Key.Key_Left)
    assert current() == "embeddings"
    assert not view.isExpanded(index_of(view, "embeddings"))
    qtbot.keyClicks(view, "po")
    assert current() == "pooler"
    press(Qt.Key.Key_Up, Qt.Key.Key_Asterisk)
    assert view.isExpanded(index_of(view, "encoder.layer.11.attention.self"))
    assert not view.isExpanded(index_of(view, "pooler"))
