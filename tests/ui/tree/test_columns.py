"""The columns of the module tree: numbers are whole, names give way, and choices are remembered."""

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.util.numbers import short_count
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tree.columns import (
    CLASS,
    COLUMNS,
    MACS,
    MODULE,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    SHARE,
)
from bertviewer.ui.tree.header import MIN_NAME_WIDTH, TreeHeader
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import ModuleTreeView
from tests.core.opened import derived
from tests.ui.finding import find, is_drawn


@pytest.fixture
def view(qtbot: QtBot) -> ModuleTreeView:
    return make_view(qtbot)


def make_view(qtbot: QtBot) -> ModuleTreeView:
    """Return a view of BERT base, with its columns."""
    architecture = derived("bert-base-uncased")
    model = ModuleTreeModel()
    view = ModuleTreeView(model)
    model.setParent(view)
    header = TreeHeader(view, model)
    header.setObjectName("columns")
    model.set_tree(fold(architecture), architecture)
    qtbot.addWidget(view)
    view.show()
    resize(view, 330)
    header.fit()
    return view


def resize(view: ModuleTreeView, width: int) -> None:
    """Give the columns so many pixels."""
    view.resize(width + view.width() - view.viewport().width(), 400)
    assert view.viewport().width() == width


def columns_of(view: ModuleTreeView) -> TreeHeader:
    return find(view, TreeHeader, "columns")


def tree_model(view: ModuleTreeView) -> ModuleTreeModel:
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    return model


def shown(view: ModuleTreeView) -> set[int]:
    return {column for column in range(len(COLUMNS)) if not view.isColumnHidden(column)}


def widths(view: ModuleTreeView) -> list[int]:
    return [view.header().sectionSize(column) for column in range(len(COLUMNS))]


def has_room_for_counts(view: ModuleTreeView) -> bool:
    """Whether every count, as it is drawn, is narrower than its column."""
    model, metrics = tree_model(view), QFontMetrics(view.cells.count_font)
    counts = (item.row.parameters for item in model.rows.items)
    texts = {f"{count:,}" if view.cells.is_exact else short_count(count) for count in counts}
    return max(map(metrics.horizontalAdvance, texts)) < widths(view)[PARAMETERS]


@pytest.mark.parametrize("width", [200, 330, 500, 745, 1200])
def test_nothing_is_out_of_sight_and_no_number_is_cut(view: ModuleTreeView, width: int) -> None:
    resize(view, width)
    assert view.horizontalScrollBar().maximum() == 0
    assert sum(widths(view)) == view.viewport().width()
    assert has_room_for_counts(view)
    assert widths(view)[MODULE] >= MIN_NAME_WIDTH


def test_shapes_go_where_there_is_no_room_for_names(view: ModuleTreeView) -> None:
    assert shown(view) == {MODULE, SHAPE, PARAMETERS}
    resize(view, 200)
    assert shown(view) == {MODULE, PARAMETERS}
    resize(view, 330)
    assert shown(view) == {MODULE, SHAPE, PARAMETERS}


@pytest.mark.parametrize(("width", "is_exact"), [(200, False), (330, False), (745, True)])
def test_counts_have_all_digits_where_there_is_room(
    view: ModuleTreeView, width: int, is_exact: bool
) -> None:
    resize(view, width)
    assert view.cells.is_exact is is_exact
    assert has_room_for_counts(view)
    columns_of(view).set_exact(True)
    assert view.cells.is_exact
    assert has_room_for_counts(view)


def test_counts_stand_at_the_right_of_all_that_is_chosen(view: ModuleTreeView) -> None:
    for column in (CLASS, OUTPUT_SHAPE, MACS, SHARE):
        columns_of(view).choose(column, True)
    resize(view, 1200)
    header = view.header()
    in_sight = [header.logicalIndex(place) for place in range(len(COLUMNS))]
    in_sight = [column for column in in_sight if column in shown(view)]
    assert in_sight == [MODULE, CLASS, SHAPE, OUTPUT_SHAPE, MACS, SHARE, PARAMETERS]


def test_columns_are_remembered(view: ModuleTreeView, qtbot: QtBot) -> None:
    columns_of(view).choose(CLASS, True)
    columns_of(view).choose(SHAPE, False)
    columns_of(view).set_exact(True)
    other = make_view(qtbot)
    assert shown(other) == {MODULE, CLASS, PARAMETERS}
    assert other.cells.is_exact
    columns_of(other).reset()
    assert shown(make_view(qtbot)) == {MODULE, SHAPE, PARAMETERS}


def test_a_column_stays_as_wide_as_it_is_put(view: ModuleTreeView) -> None:
    resize(view, 600)
    view.header().resizeSection(SHAPE, 133)
    view.header().resizeSection(MODULE, 222)
    assert (widths(view)[SHAPE], widths(view)[MODULE]) == (133, 222)
    resize(view, 800)
    tree_model(view).set_filter("query")
    columns_of(view).fit()
    assert (widths(view)[SHAPE], widths(view)[MODULE]) == (133, 222)


def test_a_tip_says_all_of_a_row(view: ModuleTreeView) -> None:
    model = tree_model(view)
    table = model.index_of("embeddings.word_embeddings")

    def tip(index: QModelIndex) -> list[str]:
        return str(index.data(Qt.ItemDataRole.ToolTipRole)).split("\n")

    count = "23,440,896 parameters, 21.41% of the model"
    assert tip(table) == [
        "embeddings.word_embeddings",
        "Embedding",
        count,
        "weight [30522, 768]",
        "output [S, 768]",
    ]
    assert tip(table.siblingAtColumn(PARAMETERS)) == [count]
    assert tip(table.siblingAtColumn(CLASS)) == ["Embedding"]


@pytest.mark.parametrize("width", [1000, 1180, 1500])
def test_the_window_before_and_after_a_run(
    demo_window: MainWindow, qtbot: QtBot, width: int
) -> None:
    view = find(demo_window, ModuleTreeView, "moduleTree")
    demo_window.resize(width, 800)
    assert view.horizontalScrollBar().maximum() == 0
    demo_window.workspace.run_sentence(Sentence("a test"), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    assert view.horizontalScrollBar().maximum() == 0
    assert has_room_for_counts(view)
