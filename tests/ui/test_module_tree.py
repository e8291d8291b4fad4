import pytest
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.modeltest import ModelTester

from bertviewer.core.folding import fold
from bertviewer.core.loading import open_model
from bertviewer.core.run.activation_run import Sentence
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source import ModelSource, parse_source
from bertviewer.ui.module_tree import OUTPUT_SHAPE, PARAMETERS, SHARE, SHARE_ROLE, ModuleTreeModel
from bertviewer.ui.tables import Column, Row, TableModel
from bertviewer.ui.tensors.tensor_table import TensorTableModel
from tests.core.opened import derived


@pytest.mark.parametrize("name", ["bert-base-uncased", "transformer-base", "albert-base-v2"])
def test_the_tree_is_a_sound_model(qtmodeltester: ModelTester, name: str) -> None:
    model = ModuleTreeModel()
    qtmodeltester.check(model)
    model.set_tree(fold(open_model(parse_source(name)).architecture))
    qtmodeltester.check(model)
    model.set_tree(None)
    qtmodeltester.check(model)
    assert model.rowCount() == 0


def test_layers_are_folded_into_one_row() -> None:
    model = ModuleTreeModel()
    model.set_tree(fold(open_model(parse_source("bert-base-uncased")).architecture))
    folded = model.index_of("encoder.layer[0–11]")
    assert folded.data() == "0–11"
    assert folded.siblingAtColumn(PARAMETERS).data() == "85,054,464"
    assert folded.siblingAtColumn(SHARE).data() == "77.69%"
    assert folded.siblingAtColumn(SHARE).data(SHARE_ROLE) == pytest.approx(0.776879099295009)
    assert model.rowCount(folded) == 12
    layer = model.index_of("encoder.layer.7")
    assert layer.parent() == folded
    assert model.index_of("no such row") == QModelIndex()


def test_output_shapes_come_with_a_run(demo_source: ModelSource) -> None:
    opened = open_model(demo_source)
    model = ModuleTreeModel()
    model.set_tree(fold(opened.architecture))
    index = model.index_of("pooler").siblingAtColumn(OUTPUT_SHAPE)
    assert index.data() == ""
    changed: list[QModelIndex] = []
    model.dataChanged.connect(lambda top, _bottom: changed.append(top))
    model.set_run(run_sentence(opened, Sentence("a test")))
    assert index.data() == "[1, 384]"
    assert changed


def test_the_tensor_table_is_a_sound_model(
    qtmodeltester: ModelTester, demo_source: ModelSource
) -> None:
    architecture = open_model(parse_source("demo", "masked-lm")).architecture
    model = TensorTableModel()
    qtmodeltester.check(model)
    random = architecture.source.random_tensors
    model.set_tensors(architecture.tensors_below("cls"), "cls.", random)
    qtmodeltester.check(model)
    rows = [[model.index(r, c).data() for c in range(7)] for r in range(model.rowCount())]
    assert rows[0] == [
        "predictions.bias", "[30522]", "", "30,522", "float32", "yes",
        "not in the checkpoint: random",
    ]  # fmt: skip
    notes = {row[0]: row[6] for row in rows}
    assert "bert.embeddings.word_embeddings.weight" in notes["predictions.decoder.weight"]
    assert model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole) == "cls.predictions.bias"


def test_shapes_in_symbols_are_written_for_people() -> None:
    model = TensorTableModel()
    model.set_tensors(derived("gpt2").tensors_below("h.0.attn"), "h.0.attn.")
    shapes = {model.index(row, 0).data(): model.index(row, 2).data() for row in range(4)}
    assert shapes["c_attn.weight"] == "[D, 3·D]"
    assert shapes["c_proj.weight"] == "[D, D]"


def test_a_table_of_texts_is_a_sound_model(qtmodeltester: ModelTester) -> None:
    model = TableModel((Column("Key"), Column("Value", is_number=True)))
    model.set_rows([Row(("a", "1")), Row(("b", "2"), is_bold=True)])
    qtmodeltester.check(model)
    assert model.index(1, 0).data(Qt.ItemDataRole.FontRole).bold()
    assert model.index(0, 0).data(Qt.ItemDataRole.FontRole) is None
