"""All columns of the module tree are in sight, and stay where a person puts them."""

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QHeaderView, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.architecture.folding import fold
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.module_tree import (
    CLASS,
    COLUMNS,
    MODULE,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    SHARE,
    ModuleTreeModel,
)
from bertviewer.ui.tree_columns import (
    BAR_PADDING,
    LEAST,
    MODULE_LEAST,
    MODULE_WISH,
    MOST,
    PADDING,
    TreeColumns,
)
from tests.core.opened import plain
from tests.ui.finding import find, is_drawn


@pytest.fixture
def view(qtbot: QtBot) -> QTreeView:
    """Return BERT base, with a column for the shapes of a run."""
    view, model = QTreeView(), ModuleTreeModel()
    model.setParent(view)
    view.setModel(model)
    columns = TreeColumns(view, model)
    model.set_tree(fold(plain("bert-base-uncased")))
    columns.fit()
    qtbot.addWidget(view)
    view.show()
    resize(view, wish(view) + 100)
    return view


def resize(view: QTreeView, width: int) -> None:
    """Give the columns so many pixels."""
    view.resize(width + view.width() - view.viewport().width(), 400)
    assert view.viewport().width() == width


def wishes(view: QTreeView) -> dict[int, int]:
    """Return how wide each column beside the modules' names would be, in the view's font."""
    width, header = view.fontMetrics().horizontalAdvance, view.header()
    found = {}
    for column in range(MODULE + 1, COLUMNS):
        if view.isColumnHidden(column):
            continue
        title = str(view.model().headerData(column, Qt.Orientation.Horizontal))
        text = max(width(title), needed(view, column))
        text += BAR_PADDING if column == SHARE else PADDING
        found[column] = max(header.minimumSectionSize(), min(text, MOST.get(column, text)))
    return found


def wish(view: QTreeView) -> int:
    """Return the width in which no column gives way."""
    return MODULE_WISH + sum(wishes(view).values())


def least(view: QTreeView) -> int:
    """Return the width below which something has to be out of sight."""
    shrunk = (min(width, LEAST.get(column, width)) for column, width in wishes(view).items())
    return MODULE_LEAST + sum(shrunk)


def widths(view: QTreeView) -> list[int]:
    return [view.header().sectionSize(column) for column in range(COLUMNS)]


def needed(view: QTreeView, column: int) -> int:
    """The widest text of a column."""
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    return max(map(view.fontMetrics().horizontalAdvance, model.texts(column)), default=0)


@pytest.mark.parametrize("more", [0, 40, 140, 320, 900])
def test_nothing_is_out_of_sight(view: QTreeView, more: int) -> None:
    resize(view, least(view) + more)
    assert view.horizontalScrollBar().maximum() == 0
    assert sum(widths(view)) == view.viewport().width()
    # Half a number would be a wrong one.
    for column in (PARAMETERS, SHARE):
        assert view.header().sectionSize(column) > needed(view, column)


@pytest.mark.parametrize("more", [0, 200, 500])
def test_short_texts_leave_nothing_out_of_sight(qtbot: QtBot, more: int) -> None:
    view, model = QTreeView(), ModuleTreeModel()
    model.setParent(view)
    view.setModel(model)
    TreeColumns(view, model).fit()
    qtbot.addWidget(view)
    view.show()
    resize(view, least(view) + more)
    assert view.horizontalScrollBar().maximum() == 0
    assert sum(widths(view)) == view.viewport().width()


def test_with_room_every_text_is_whole_and_names_get_the_rest(view: QTreeView) -> None:
    before = widths(view)
    for column in (CLASS, PARAMETERS, SHARE, SHAPE):
        # Where letters are large, some texts are longer than what a column gets by itself.
        assert before[column] == MOST.get(column) or before[column] > needed(view, column)
    resize(view, wish(view) + 200)
    assert [now - then for now, then in zip(widths(view), before, strict=True)] == [100] + [0] * 5


def test_too_little_room_scrolls(view: QTreeView) -> None:
    resize(view, least(view) - 50)
    assert widths(view)[MODULE] == MODULE_LEAST
    assert widths(view)[CLASS] == min(LEAST[CLASS], wishes(view)[CLASS])
    assert view.horizontalScrollBar().maximum() > 0


def test_an_edge_is_moved_between_two_columns(view: QTreeView) -> None:
    # So that there is something to take from, however small the letters are.
    view.header().resizeSection(PARAMETERS, 120)
    before = widths(view)
    view.header().resizeSection(CLASS, before[CLASS] + 15)
    after = widths(view)
    assert after[CLASS] == before[CLASS] + 15
    assert after[PARAMETERS] == before[PARAMETERS] - 15
    assert sum(after) == sum(before)
    # It stays as it is put, in another width too.
    resize(view, wish(view) + 300)
    assert widths(view)[CLASS] == before[CLASS] + 15
    resize(view, least(view))
    assert widths(view)[CLASS] == before[CLASS] + 15


def test_the_names_take_from_the_column_after_them(view: QTreeView) -> None:
    view.header().resizeSection(CLASS, 150)
    before = widths(view)
    view.header().resizeSection(MODULE, before[MODULE] + 20)
    assert widths(view)[:2] == [before[MODULE] + 20, before[CLASS] - 20]
    assert view.header().sectionResizeMode(MODULE) == QHeaderView.ResizeMode.Interactive


def test_a_cut_text_has_a_tip(view: QTreeView) -> None:
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    table = model.index_of("embeddings.word_embeddings")

    def tip(index: QModelIndex) -> str:
        return str(index.data(Qt.ItemDataRole.ToolTipRole))

    assert tip(table) == "embeddings.word_embeddings"
    assert tip(table.siblingAtColumn(SHAPE)) == "[30522, 768]"
    assert tip(table.siblingAtColumn(CLASS)) == "Embedding"
    title = model.headerData(OUTPUT_SHAPE, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert title == "Output shape"


@pytest.mark.parametrize("width", [1000, 1180, 1500])
def test_the_window_before_and_after_a_run(
    demo_window: MainWindow, qtbot: QtBot, width: int
) -> None:
    view = find(demo_window, QTreeView, "moduleTree")
    demo_window.resize(width, 800)
    assert view.isColumnHidden(OUTPUT_SHAPE)
    assert view.horizontalScrollBar().maximum() == max(0, least(view) - view.viewport().width())
    demo_window.workspace.run_sentence(Sentence("a test"), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    assert not view.isColumnHidden(OUTPUT_SHAPE)
    assert view.horizontalScrollBar().maximum() == max(0, least(view) - view.viewport().width())
    assert sum(widths(view)) == max(least(view), view.viewport().width())
