import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.modeltest import ModelTester

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.fonts import weighted
from bertviewer.ui.tensors.tensor_list import Group, TensorListModel
from bertviewer.ui.tree.columns import COLUMNS, OUTPUT_SHAPE, PARAMETERS, SHARE
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.widgets.tables import Column, Row, TableModel
from tests.core.opened import derived, plain

NOWHERE = QModelIndex()


@pytest.mark.parametrize("name", ["bert-base-uncased", "transformer-base", "albert-base-v2"])
def test_the_tree_is_a_sound_model(qtmodeltester: ModelTester, name: str) -> None:
    model = ModuleTreeModel()
    qtmodeltester.check(model)
    model.set_tree(fold(open_model(parse_source(name)).architecture))
    qtmodeltester.check(model)
    for text in ("attention", "no such module", ""):
        model.set_filter(text)
        model.set_statistic("mean")  # it tells of figures, though no row may be left
        qtmodeltester.check(model)
    model.set_tree(None)
    qtmodeltester.check(model)
    assert model.rowCount() == 0
    model.set_filter("attention")
    assert model.rowCount() == 0


def test_layers_are_folded_into_one_row() -> None:
    model = ModuleTreeModel()
    model.set_tree(fold(open_model(parse_source("bert-base-uncased")).architecture))
    folded = model.index_of("encoder.layer[0–11]")
    assert folded.data() == "0–11"
    assert folded.siblingAtColumn(PARAMETERS).data() == "85,054,464"
    assert folded.siblingAtColumn(SHARE).data() == "77.69%"
    assert model.rowCount(folded) == 12
    layer = model.index_of("encoder.layer.7")
    assert layer.parent() == folded
    assert model.index_of("no such row") == QModelIndex()


def shown(model: ModuleTreeModel, parent: QModelIndex = NOWHERE) -> list[str]:
    """Return the keys of all rows below one, from the top on."""
    keys = []
    for number in range(model.rowCount(parent)):
        index = model.index(number, 0, parent)
        row = model.tree_row(index)
        assert row is not None
        assert index.parent() == parent
        assert model.index_of(row.key) == index
        assert model.hasChildren(index) == (model.rowCount(index) > 0)
        keys += [row.key, *shown(model, index)]
    return keys


@pytest.mark.parametrize(
    "text", ["query", "LAYERNORM", "layer.1", "12 × bertlayer", "BertModel", "[0–11]", "zzz", ""]
)
def test_a_filter_leaves_matches_and_what_is_above_them(text: str) -> None:
    model = ModuleTreeModel()
    architecture = plain("bert-base-uncased")
    tree = fold(architecture)
    model.set_tree(tree)
    found = shown(model)
    assert len(found) == len(architecture.modules) + 1

    def matches(row: TreeRow) -> list[str]:
        below = [key for child in row.members or row.children for key in matches(child)]
        is_match = text.lower() in f"{row.key} {row.class_label}".lower()
        return [row.key, *below] if is_match or below else []

    model.set_filter(text)
    assert shown(model) == matches(tree)
    model.set_filter("")
    assert shown(model) == found


def test_a_row_that_the_filter_hides_has_no_place() -> None:
    model = ModuleTreeModel()
    model.set_tree(fold(plain("bert-base-uncased")))
    model.set_filter("encoder.layer.7.output")
    assert not model.index_of("encoder.layer.6").isValid()
    layer = model.index_of("encoder.layer.7")
    assert layer.row() == 0
    assert model.rowCount(layer.parent()) == 1
    assert model.rowCount(layer) == 1
    model.set_tree(fold(plain("gpt2")))
    assert model.index_of("h.6").row() == 6


def test_all_texts_of_a_column_are_known() -> None:
    model = ModuleTreeModel()
    model.set_tree(fold(plain("bert-base-uncased")))
    keys = shown(model)
    for column in range(1, len(COLUMNS)):
        texts = {model.index_of(key).siblingAtColumn(column).data() for key in keys}
        assert model.texts(column) | {""} == texts | {""}


def test_output_shapes_come_with_a_run(demo_source: ModelSource) -> None:
    opened = open_model(demo_source)
    model = ModuleTreeModel()
    model.set_tree(fold(opened.architecture))
    index = model.index_of("pooler").siblingAtColumn(OUTPUT_SHAPE)
    assert index.data() == ""
    changed: list[QModelIndex] = []
    model.dataChanged.connect(lambda top, _bottom: changed.append(top))
    model.set_figures(opened.architecture, run_sentence(opened, Sentence("a test")), None)
    assert index.data() == "[1, 384]"
    assert changed


@pytest.mark.usefixtures("nothing_was_seen")
def test_the_tensor_table_is_a_sound_model(
    qtmodeltester: ModelTester, demo_source: ModelSource
) -> None:
    architecture = open_model(parse_source("demo", "masked-lm")).architecture
    model = TensorListModel()
    qtmodeltester.check(model)
    model.set_groups([Group("", architecture.tensors_below("cls"))], "cls.", architecture.source)
    qtmodeltester.check(model)
    rows = [[model.index(r, c).data() for c in range(7)] for r in range(model.rowCount())]
    assert rows[0] == [
        "predictions.bias", "[30522]", "", "30,522", "float32", "yes",
        "not in the checkpoint (random)",
    ]  # fmt: skip
    notes = {row[0]: row[6] for row in rows}
    assert "bert.embeddings.word_embeddings.weight" in notes["predictions.decoder.weight"]
    assert model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole) == "cls.predictions.bias"


def test_shapes_in_symbols_are_written_for_people() -> None:
    model = TensorListModel()
    model.set_groups([Group("", derived("gpt2").tensors_below("h.0.attn"))], "h.0.attn.")
    shapes = {model.index(row, 0).data(): model.index(row, 2).data() for row in range(4)}
    assert shapes["c_attn.weight"] == "[D, 3·D]"
    assert shapes["c_proj.weight"] == "[D, D]"


def test_a_table_of_texts_is_a_sound_model(qtmodeltester: ModelTester) -> None:
    model = TableModel((Column("Key"), Column("Value", is_number=True)))
    model.set_rows([Row(("a", "1")), Row(("b", "2"), is_bold=True)])
    qtmodeltester.check(model)
    assert model.index(1, 0).data(Qt.ItemDataRole.FontRole) == weighted(QGuiApplication.font())
    assert model.index(0, 0).data(Qt.ItemDataRole.FontRole) is None
