"""View of the module tree: what is painted in both themes, any names, and keys."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import DARK, LIGHT, Part, Theme
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME, apply_appearance
from bertviewer.ui.tree.delegate import LONGEST, shortened
from bertviewer.ui.tree.header import TreeHeader
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import ModuleTreeView
from tests.core.opened import plain
from tests.plots.looking import colors_of

Image = Callable[[str, Any], None]


def make_view(qtbot: QtBot, tree: TreeRow | None = None) -> ModuleTreeView:
    """Return a view of a tree, that of BERT base by default."""
    model = ModuleTreeModel()
    view = ModuleTreeView(model)
    model.setParent(view)
    qtbot.addWidget(view)
    model.set_tree(tree or fold(plain("bert-base-uncased")))
    TreeHeader(view, model)
    view.resize(420, 160)
    view.show()
    view.expandToDepth(0)
    return view


@pytest.fixture
def view(qtbot: QtBot) -> ModuleTreeView:
    return make_view(qtbot)


def model_of(view: ModuleTreeView) -> ModuleTreeModel:
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    return model


def index_of(view: ModuleTreeView, key: str) -> QModelIndex:
    return model_of(view).index_of(key)


@pytest.mark.parametrize(("name", "theme"), [(LIGHT_NAME, LIGHT), (DARK_NAME, DARK)])
def test_selected_rows_and_the_colours_of_parts(
    qapp: QApplication, view: ModuleTreeView, qtbot: QtBot, image: Image, *, name: str, theme: Theme
) -> None:
    apply_appearance(qapp, name)  # a visible view follows
    parts: dict[str, Part] = {"embeddings": "embeddings", "pooler": "head", "encoder": "plain"}
    for key, part in parts.items():
        picture = view.viewport().grab(view.visualRect(index_of(view, key))).toImage()
        assert theme.parts[part] in colors_of(picture)
    view.setCurrentIndex(index_of(view, "embeddings"))
    view.activateWindow()
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    image(f"tree_{name}_focused", view)
    view.clearFocus()
    image(f"tree_{name}", view)


def test_matches_are_highlighted(view: ModuleTreeView, image: Image) -> None:
    model_of(view).set_filter("pool")
    view.expandAll()
    image("tree_filtered", view)


@pytest.mark.parametrize(
    "name", ["<b>bold</b>&amp;", "编码器层", "מקודד", "a\nb\0c\u202e", "x" * 10_000, "\ud800", " "]
)
def test_any_name_is_drawn_literally(qtbot: QtBot, name: str) -> None:
    def node(path: str, depth: int) -> ModuleNode:
        return ModuleNode(path, "Odd<b>Class", depth, 7, 7, 7, 0.5, None, {}, "7", None)

    children = tuple(TreeRow(node(path, 1), (), (), (7,)) for path in (name, "plain"))
    view = make_view(qtbot, TreeRow(node("", 0), (), children, None))
    for text in ("", f'"{name[:5]}"', "plain", "class:odd"):
        model_of(view).set_filter(text)
        view.expandAll()
        assert not view.viewport().grab().toImage().isNull()
    assert len(shortened(name)) <= LONGEST + 1 or not name.isprintable()
    assert shortened(name).isprintable()
    assert "<b>" not in str(index_of(view, name).data(Qt.ItemDataRole.ToolTipRole) or "")


def test_keys_expand_collapse_and_find(view: ModuleTreeView, qtbot: QtBot) -> None:
    def is_at(key: str) -> bool:
        return view.currentIndex().siblingAtColumn(0) == index_of(view, key)

    def press(*keys: Qt.Key) -> None:
        for key in keys:
            qtbot.keyClick(view, key)

    view.setCurrentIndex(index_of(view, ""))
    press(Qt.Key.Key_Down)
    assert is_at("embeddings")
    press(Qt.Key.Key_Right)
    assert view.isExpanded(index_of(view, "embeddings"))
    press(Qt.Key.Key_Right)
    assert is_at("embeddings.word_embeddings")
    press(Qt.Key.Key_Left, Qt.Key.Key_Left)
    assert is_at("embeddings")
    assert not view.isExpanded(index_of(view, "embeddings"))
    qtbot.keyClicks(view, "po")
    assert is_at("pooler")
    press(Qt.Key.Key_Up, Qt.Key.Key_Asterisk)
    assert view.isExpanded(index_of(view, "encoder.layer.11.attention.self"))
    assert not view.isExpanded(index_of(view, "pooler"))
