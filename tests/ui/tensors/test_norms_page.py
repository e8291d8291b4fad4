"""Norms of rows and columns: sorted by any column, with bars."""

import numpy as np
from PySide6.QtCore import QPersistentModelIndex, Qt
from pytestqt.modeltest import ModelTester

from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from bertviewer.ui.tensors.norms_page import NAME, NORM, NUMBER, NormsModel
from bertviewer.ui.widgets.tables import SHARE_ROLE
from tests.core.tensors.made_up import in_memory

DOWN, UP = Qt.SortOrder.DescendingOrder, Qt.SortOrder.AscendingOrder
NORMS = np.array([2.0, 4.0, np.nan, 1.0])
PART = Matrix(in_memory(np.zeros((9, 5))), rows=(3, 7))
TOKENS = TokenIndex(["", "", "", "d", "b", "a", "c", "", ""])


def column(model: NormsModel, number: int) -> list[str]:
    return [model.index(row, number).data() for row in range(model.rowCount())]


def test_norms_are_sorted_by_any_column(qtmodeltester: ModelTester) -> None:
    model = NormsModel()
    qtmodeltester.check(model)
    model.show_norms(TensorPart(PART, Axis(TOKENS)), NORMS, is_rows=True)
    qtmodeltester.check(model)
    assert column(model, NUMBER) == ["3", "4", "5", "6"]
    assert column(model, NAME) == ["d", "b", "a", "c"]
    model.sort(NORM, UP)
    assert column(model, NORM) == ["1.000000", "2.000000", "4.000000", "nan"]
    assert column(model, NUMBER) == ["6", "3", "4", "5"]
    assert model.index_of(0) == 6
    model.sort(NAME, DOWN)
    assert column(model, NAME) == ["d", "c", "b", "a"]
    # Other norms are sorted in the same way.
    model.show_norms(TensorPart(PART, Axis(TOKENS)), NORMS[::-1].copy(), is_rows=True)
    assert column(model, NAME) == ["d", "c", "b", "a"]
    header, rows = model.table()
    assert header == ("Row", "token", "norm")
    assert [row for row in rows if row[0] != 4] == [(3, "d", 1.0), (6, "c", 2.0), (5, "a", 4.0)]


def test_bars_are_shares_of_the_largest() -> None:
    model = NormsModel()
    model.show_norms(TensorPart(PART), NORMS, is_rows=True)
    shares = [model.index(row, NORM).data(SHARE_ROLE) for row in range(4)]
    assert shares == [0.5, 1.0, 0.0, 0.25]
    assert not model.has_names


def test_columns_have_no_tokens() -> None:
    model = NormsModel()
    model.show_norms(TensorPart(PART, Axis(TOKENS)), np.arange(5.0), is_rows=False)
    assert column(model, NUMBER) == ["0", "1", "2", "3", "4"]
    assert not model.has_names
    assert model.headerData(0, Qt.Orientation.Horizontal) == "Column"


def test_indices_follow_their_rows_when_sorted() -> None:
    model = NormsModel()
    model.show_norms(TensorPart(PART, Axis(TOKENS)), NORMS, is_rows=True)
    held = QPersistentModelIndex(model.index(1, NORM))
    for column_sorted, order in ((NORM, DOWN), (NAME, UP), (NUMBER, DOWN)):
        model.sort(column_sorted, order)
        assert held.data() == "4.000000"
    model.set_rows(())
    assert model.rowCount() == 0
    assert not held.isValid()
