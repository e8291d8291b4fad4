"""Model of the module tree: folded layers, filters, and texts."""

import pytest
from PySide6.QtCore import QModelIndex
from pytestqt.modeltest import ModelTester

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.ui.tree.columns import COLUMNS, OUTPUT_SHAPE, PARAMETERS, SHARE
from bertviewer.ui.tree.model import ModuleTreeModel
from tests.core.opened import plain

NOWHERE = QModelIndex()


@pytest.mark.parametrize("name", ["bert-base-uncased", "transformer-base", "albert-base-v2"])
def test_the_model_is_consistent(qtmodeltester: ModelTester, name: str) -> None:
    model = ModuleTreeModel()
    qtmodeltester.check(model)
    model.set_tree(fold(plain(name)))
    qtmodeltester.check(model)
    for text in ("attention", "no such module", ""):
        model.set_filter(text)
        model.set_statistic("mean")
        qtmodeltester.check(model)
    model.set_tree(None)
    qtmodeltester.check(model)
    model.set_filter("attention")
    assert model.rowCount() == 0


@pytest.fixture
def bert() -> ModuleTreeModel:
    model = ModuleTreeModel()
    model.set_tree(fold(plain("bert-base-uncased")))
    return model


def test_layers_are_members_of_a_folded_row(bert: ModuleTreeModel) -> None:
    folded = bert.index_of("encoder.layer[0–11]")
    assert folded.data() == "0–11"
    assert folded.siblingAtColumn(PARAMETERS).data() == "85,054,464"
    assert folded.siblingAtColumn(SHARE).data() == "77.69%"
    assert bert.rowCount(folded) == 12
    assert bert.index_of("encoder.layer.7").parent() == folded
    assert bert.index_of("no such row") == NOWHERE


def shown(model: ModuleTreeModel, parent: QModelIndex = NOWHERE) -> list[str]:
    """Return the keys of all rows below one from the top down, and check their indices."""
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
def test_a_filter_leaves_matches_and_their_ancestors(bert: ModuleTreeModel, text: str) -> None:
    architecture, before = plain("bert-base-uncased"), shown(bert)
    assert len(before) == len(architecture.modules) + 1

    def matches(row: TreeRow) -> list[str]:
        below = [key for child in row.members or row.children for key in matches(child)]
        is_match = text.lower() in f"{row.key} {row.class_label}".lower()
        return [row.key, *below] if is_match or below else []

    bert.set_filter(text)
    assert shown(bert) == matches(fold(architecture))
    bert.set_filter("")
    assert shown(bert) == before


def test_hidden_rows_have_no_index_and_another_tree_no_filter(bert: ModuleTreeModel) -> None:
    bert.set_filter("encoder.layer.7.output")
    assert not bert.index_of("encoder.layer.6").isValid()
    layer = bert.index_of("encoder.layer.7")
    assert layer.row() == 0
    assert bert.rowCount(layer.parent()) == bert.rowCount(layer) == 1
    bert.set_tree(fold(plain("gpt2")))
    assert bert.index_of("h.6").row() == 6


def test_the_distinct_texts_of_a_column(bert: ModuleTreeModel) -> None:
    keys = shown(bert)
    for column in range(1, len(COLUMNS)):
        texts = {bert.index_of(key).siblingAtColumn(column).data() for key in keys}
        assert bert.texts(column) | {""} == texts | {""}


def test_a_run_sets_output_shapes(opened_demo: LoadedModel) -> None:
    model = ModuleTreeModel()
    model.set_tree(fold(opened_demo.architecture))
    index = model.index_of("pooler").siblingAtColumn(OUTPUT_SHAPE)
    assert index.data() == ""
    changed: list[QModelIndex] = []
    model.dataChanged.connect(lambda top, _bottom: changed.append(top))
    run = run_sentence(opened_demo, Sentence("a test"))
    model.set_figures(opened_demo.architecture, run, None)
    assert index.data() == "[1, 384]"
    assert changed
