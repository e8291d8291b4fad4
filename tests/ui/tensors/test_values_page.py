"""Values of a tensor: table model, texts, and the field to go to a row."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot
from safetensors.numpy import save_file

from bertviewer.charts.tensor_charts import cell_text, exact_text
from bertviewer.core.checkpoints.reading import Span, Values
from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from bertviewer.core.tensors.values import Origin, TensorValues, file_values
from bertviewer.ui.tensors.values_model import ValuesModel
from bertviewer.ui.tensors.values_page import SAMPLE, RowField
from tests.core.tensors.made_up import in_memory, matrix, stored_in

VERTICAL, HORIZONTAL = Qt.Orientation.Vertical, Qt.Orientation.Horizontal


def endless(requests: list[tuple[Span, Span]]) -> TensorValues:
    """Return values that are computed on request, and record the requests."""

    def block(rows: Span, columns: Span) -> Values:
        requests.append((rows, columns))
        down: NDArray[np.float64] = np.arange(*rows, dtype=np.float64)[:, None]
        return down + np.arange(*columns) / 10_000

    return TensorValues("endless", (2_000_000, 5000), "float64", Origin("drawn"), block)


def test_the_model(qtmodeltester: ModelTester) -> None:
    model = ValuesModel()
    qtmodeltester.check(model)
    model.show_part(TensorPart(matrix(np.arange(12.0).reshape(4, 3))))
    qtmodeltester.check(model)
    assert model.index(2, 1).data() == "7.000000"
    model.show_part(None)
    qtmodeltester.check(model)


def test_only_visible_blocks_are_read_and_each_once() -> None:
    requests: list[tuple[Span, Span]] = []
    values = endless(requests)
    model = ValuesModel()
    model.show_part(TensorPart(Matrix(values)))
    assert requests == []
    assert (model.rowCount(), model.columnCount()) == (1_000_000, 5000)
    for _ in range(2):
        for row in range(999_000, 999_020):
            for column in range(4000, 4008):
                assert model.value(row, column) == row + column / 10_000
    assert len(requests) == 1
    ((rows, columns),) = requests
    assert (rows[1] - rows[0]) * (columns[1] - columns[0]) < 50_000
    # Blocks that were not used for long are dropped and read again.
    for piece in range(100):
        model.value(piece * 128, 0)
    model.value(999_000, 4000)
    assert len(requests) == 102


def test_headers_have_indices_in_the_tensor_and_tokens() -> None:
    model = ValuesModel()
    part = Matrix(in_memory(np.zeros((10, 8))), rows=(4, 8), columns=(2, 6))
    model.show_part(TensorPart(part))
    assert model.headerData(0, VERTICAL) == "4"
    assert model.headerData(3, HORIZONTAL) == "5"
    tokens = TokenIndex([f"<b>{number}" for number in range(10)])
    model.show_part(TensorPart(part, Axis(tokens)))
    assert model.headerData(1, VERTICAL) == "5  <b>5"
    # Spaces as wide as digits align the tokens.
    model.show_part(TensorPart(Matrix(in_memory(np.zeros((11, 8)))), Axis(tokens)))
    assert model.headerData(1, VERTICAL) == "\u20071  <b>1"


@pytest.mark.parametrize(
    ("value", "cell", "exact"),
    [
        (0.0, "0.000000", "0"),
        (0.1, "0.100000", "0.1"),
        (-1.5, "−1.500000", "−1.5"),
        (float(np.float32(0.1)), "0.100000", "0.1  (0.10000000149011612)"),
        (-1.234567891e-7, "−1.235e−07", "−1.234568e−07  (−1.234567891e−07)"),
        (123456.75, "1.235e+05", "123456.8  (123456.75)"),
        (math.nan, "nan", "nan"),
        (-math.inf, "−inf", "−inf"),
        (-3, "−3", "−3"),
        (True, "True", "True"),
    ],
)
def test_texts_of_values(value: float, cell: str, exact: str) -> None:
    assert cell_text(value) == cell
    assert exact_text(value) == exact


def test_a_truncated_file_is_reported_once(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    save_file({"w": np.ones((1000, 10), dtype=np.float32)}, file)
    stored = stored_in(file)["w"]
    model = ValuesModel()
    errors: list[str] = []
    model.failed.connect(errors.append)
    model.show_part(TensorPart(Matrix(file_values("w", stored))))
    assert model.index(0, 0).data() == "1.000000"
    with file.open("r+b") as opened:
        opened.truncate(stored.offset + 100)
    assert model.index(900, 0).data() is None
    assert model.index(901, 0).data() is None
    assert len(errors) == 1
    assert "ends in the middle of w" in errors[0]


@pytest.mark.parametrize("value", [0.0, 6.038e-5, 99.9999996, 100.0, 12345.678, 3e38, 1e-45])
def test_no_value_is_longer_than_its_column(value: float) -> None:
    assert len(cell_text(-value)) <= len(SAMPLE)


TOKENS = TokenIndex(["[PAD]", "bank", "##ban", "banana", "7", "the"])
# The offscreen platform warns about popups.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
ENTER = Qt.Key.Key_Return


def row_field(qtbot: QtBot, tokens: TokenIndex) -> tuple[RowField, list[int], list[str]]:
    edit = RowField()
    qtbot.addWidget(edit)
    edit.set_axis(Axis(tokens))
    rows: list[int] = []
    missed: list[str] = []
    edit.chosen.connect(rows.append)
    edit.missed.connect(missed.append)
    edit.show()
    return edit, rows, missed


def test_numbers_are_rows_and_texts_are_tokens(qapp: QApplication, qtbot: QtBot) -> None:
    edit, rows, missed = row_field(qtbot, TOKENS)
    huge = "2147483648", "9" * 5000
    for text in ("3", "7", "the", "bana", "BAN", "nothing", " ", *huge):
        edit.setText(text)
        qtbot.keyClick(edit, ENTER)
    assert rows == [3, 7, 5, 3, 2]
    assert missed == ["nothing", *huge]


def test_tokens_are_offered_while_typing(qapp: QApplication, qtbot: QtBot) -> None:
    edit, rows, _ = row_field(qtbot, TOKENS)
    qtbot.keyClicks(edit, "ban")
    popup = edit.completer().popup()
    assert popup is not None
    offers = [popup.model().index(row, 0).data() for row in range(popup.model().rowCount())]
    assert offers == ["##ban   2", "banana   3", "bank   1"]
    assert popup.isVisible()
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, ENTER)
    assert rows == [3]
    assert edit.text() == "banana"
    assert not popup.isVisible()


def test_without_tokens_only_numbers_are_rows(qapp: QApplication, qtbot: QtBot) -> None:
    edit, rows, missed = row_field(qtbot, TokenIndex(()))
    assert edit.placeholderText() == "Go to row"
    qtbot.keyClicks(edit, "12")
    qtbot.keyClick(edit, ENTER)
    qtbot.keyClicks(edit, "x")
    qtbot.keyClick(edit, ENTER)
    assert rows == [12]
    assert missed == ["12x"]
