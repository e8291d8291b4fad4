"""List of tensors: shapes in symbols, and notes on random and tied tensors."""

from PySide6.QtCore import Qt
from pytestqt.modeltest import ModelTester

from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.tensors.tensor_list import Group, TensorListModel
from tests.core.opened import derived


def test_rows_of_parameters(qtmodeltester: ModelTester) -> None:
    architecture = open_model(parse_source("demo", "masked-lm")).architecture
    model = TensorListModel()
    qtmodeltester.check(model)
    model.set_groups([Group("", architecture.tensors_below("cls"))], "cls.", architecture.source)
    qtmodeltester.check(model)
    rows = [[model.index(r, c).data() for c in range(7)] for r in range(model.rowCount())]
    assert rows[0][:2] == ["predictions.bias", "[30522]"]
    assert rows[0][3:] == ["30,522", "float32", "yes", "not in the checkpoint (random)"]
    notes = {row[0]: row[6] for row in rows}
    assert "bert.embeddings.word_embeddings.weight" in notes["predictions.decoder.weight"]
    assert model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole) == "cls.predictions.bias"


def test_shapes_in_symbols() -> None:
    model = TensorListModel()
    model.set_groups([Group("", derived("gpt2").tensors_below("h.0.attn"))], "h.0.attn.")
    shapes = {model.index(row, 0).data(): model.index(row, 2).data() for row in range(4)}
    assert shapes["c_attn.weight"] == "[D, 3·D]"
    assert shapes["c_proj.weight"] == "[D, D]"
