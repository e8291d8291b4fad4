"""Choice of a slice: heads that share keys, heads as matrices, and other dimensions."""

import numpy as np
import pytest
from PySide6.QtWidgets import QComboBox, QSpinBox
from pytestqt.qtbot import QtBot

from bertviewer.core.analysis.heads import HeadLayout
from bertviewer.ui.tensors.part_choice import PartChoice
from tests.core.tensors.made_up import in_memory
from tests.ui.finding import find


@pytest.fixture
def parts(qtbot: QtBot) -> PartChoice:
    parts = PartChoice()
    qtbot.addWidget(parts)
    return parts


def test_a_key_head_stands_for_the_query_heads_that_share_it(
    parts: PartChoice, qtbot: QtBot
) -> None:
    choice = find(parts, QComboBox, "headChoice")
    queries, keys = HeadLayout("rows", ("query",), 4, 8), HeadLayout("rows", ("key",), 2, 8)
    parts.show_choices((32, 32), queries)
    assert parts.show_head(3)
    assert not parts.show_head(3)
    parts.show_choices((16, 32), keys, group_size=2)
    assert choice.currentText() == "head 1"
    assert not parts.show_head(2)
    assert parts.show_head(1)
    assert choice.currentText() == "head 0"
    # It selects the first of the heads that share it.
    with qtbot.waitSignal(parts.head_chosen) as chosen:
        choice.setCurrentText("head 1")
    assert chosen.args == [2]
    parts.show_choices((32, 32), queries)
    assert choice.currentText() == "head 2"
    parts.show_choices((32,), None)
    parts.show_choices((16, 32), HeadLayout("rows", ("query",), 2, 8))
    assert choice.currentText() == "all heads"  # there is no head 2


def test_heads_that_are_matrices_are_shown_one_by_one(parts: PartChoice, qtbot: QtBot) -> None:
    values = in_memory(np.arange(1 * 3 * 4 * 5.0).reshape(1, 3, 4, 5))
    parts.show_choices(values.shape, HeadLayout("matrices", ("head",), 3, 1))
    choice = find(parts, QComboBox, "headChoice")
    assert [choice.itemText(n) for n in range(choice.count())] == ["head 0", "head 1", "head 2"]
    # A batch of size 1 has no field.
    assert parts.findChildren(QSpinBox) == []
    assert parts.matrix(values).leading == (0, 0)
    assert parts.show_head(2)
    assert parts.matrix(values).leading == (0, 2)
    with qtbot.waitSignal(parts.head_chosen) as chosen:
        parts.show_index((0, 1, 3, 4))
    assert chosen.args == [1]
    assert parts.matrix(values).block((3, 4), (4, 5)).tolist() == [[39.0]]


def test_other_leading_dimensions_have_a_field(parts: PartChoice) -> None:
    values = in_memory(np.arange(1 * 3 * 1 * 2 * 4.0).reshape(1, 3, 1, 2, 4))
    parts.show_choices(values.shape, None)
    (box,) = parts.findChildren(QSpinBox)
    assert box.objectName() == "leadingIndex1"
    parts.show_index((0, 2, 0, 1, 3))
    assert parts.matrix(values).leading == (0, 2, 0)


def test_query_key_and_value_stacked_by_head(parts: PartChoice) -> None:
    values = in_memory(np.arange(24 * 3.0).reshape(24, 3))
    stacked = HeadLayout("rows", ("query", "key", "value"), 4, 2, is_by_head=True)
    parts.show_choices((24, 3), stacked)
    part, head = (find(parts, QComboBox, name) for name in ("partOfHeads", "headChoice"))
    assert parts.matrix(values).shape == (24, 3)
    part.setCurrentText("key")
    # The keys of all heads are not contiguous.
    assert [head.itemText(n) for n in range(head.count())] == [f"head {n}" for n in range(4)]
    head.setCurrentText("head 2")
    assert parts.matrix(values).row_span == (14, 16)
    parts.show_index((3, 1))
    assert parts.matrix(values).shape == (24, 3)
