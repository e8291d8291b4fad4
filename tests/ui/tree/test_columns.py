"""Columns of the module tree: their widths, choice and order, and the tooltip of a row."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.core.util.numbers import short_count
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


class Columns:
    """The tree of BERT base with its header."""

    def __init__(self, qtbot: QtBot) -> None:
        architecture = derived("bert-base-uncased")
        self.model = ModuleTreeModel()
        self.view = ModuleTreeView(self.model)
        self.model.setParent(self.view)
        self.header = TreeHeader(self.view, self.model)
        self.model.set_tree(fold(architecture), architecture)
        qtbot.addWidget(self.view)
        self.view.show()
        self.resize(330)
        self.header.fit()

    def resize(self, width: int) -> None:
        """Give the columns some pixels."""
        self.view.resize(width + self.view.width() - self.view.viewport().width(), 400)
        assert self.view.viewport().width() == width

    def shown(self) -> list[int]:
        """Return the visible columns from left to right."""
        header = self.view.header()
        logical = [header.logicalIndex(place) for place in range(len(COLUMNS))]
        return [column for column in logical if not self.view.isColumnHidden(column)]

    def width(self, column: int) -> int:
        return self.view.header().sectionSize(column)

    def has_room_for_counts(self) -> bool:
        """Return whether no count is clipped."""
        cells, metrics = self.view.cells, QFontMetrics(self.view.cells.count_font)
        counts = (item.row.parameters for item in self.model.rows.items)
        texts = {f"{count:,}" if cells.is_exact else short_count(count) for count in counts}
        return max(map(metrics.horizontalAdvance, texts)) < self.width(PARAMETERS)


@pytest.fixture
def columns(qtbot: QtBot) -> Columns:
    return Columns(qtbot)


@pytest.mark.parametrize(
    ("width", "is_exact", "shown"),
    [
        (200, False, [MODULE, PARAMETERS]),
        (330, False, [MODULE, SHAPE, PARAMETERS]),
        (500, None, [MODULE, SHAPE, PARAMETERS]),
        (745, True, [MODULE, SHAPE, PARAMETERS]),
        (1200, True, [MODULE, SHAPE, PARAMETERS]),
    ],
)
def test_all_columns_are_visible_and_no_number_is_clipped(
    columns: Columns, width: int, is_exact: bool | None, shown: list[int]
) -> None:
    columns.resize(width)
    assert columns.shown() == shown
    if is_exact is not None:
        assert columns.view.cells.is_exact is is_exact
    assert columns.view.horizontalScrollBar().maximum() == 0
    assert sum(map(columns.width, range(len(COLUMNS)))) == width
    assert columns.width(MODULE) >= MIN_NAME_WIDTH
    assert columns.has_room_for_counts()
    columns.header.set_exact(True)
    assert columns.view.cells.is_exact
    assert columns.has_room_for_counts()


def test_chosen_columns_are_ordered_and_stored(
    columns: Columns, qtbot: QtBot, image: Callable[[str, Any], None]
) -> None:
    for column in (CLASS, OUTPUT_SHAPE, MACS, SHARE):
        columns.header.choose(column, True)
    columns.resize(1000)
    assert columns.shown() == [MODULE, CLASS, SHAPE, OUTPUT_SHAPE, MACS, SHARE, PARAMETERS]
    columns.view.expandToDepth(0)
    image("columns", columns.view.grab().toImage().copy(0, 0, 1000, 150))
    for column in (OUTPUT_SHAPE, MACS, SHARE, SHAPE):
        columns.header.choose(column, False)
    columns.header.set_exact(True)
    other = Columns(qtbot)
    assert other.shown() == [MODULE, CLASS, PARAMETERS]
    assert other.view.cells.is_exact
    other.header.reset()
    assert Columns(qtbot).shown() == [MODULE, SHAPE, PARAMETERS]


def test_widths_set_by_the_user_stay(columns: Columns) -> None:
    columns.resize(600)
    for column, width in ((SHAPE, 133), (MODULE, 222)):
        columns.view.header().resizeSection(column, width)
    columns.resize(800)
    columns.model.set_filter("query")
    columns.header.fit()
    assert (columns.width(SHAPE), columns.width(MODULE)) == (133, 222)


def test_tooltips(columns: Columns) -> None:
    index = columns.model.index_of("embeddings.word_embeddings")

    def tooltip(column: int) -> list[str]:
        return str(index.siblingAtColumn(column).data(Qt.ItemDataRole.ToolTipRole)).split("\n")

    count = "23,440,896 parameters, 21.41% of the model"
    assert tooltip(MODULE) == [
        *("embeddings.word_embeddings", "Embedding", count, "weight [30522, 768]"),
        "output [S, 768]",
    ]
    assert tooltip(PARAMETERS) == [count]
    assert tooltip(CLASS) == ["Embedding"]
