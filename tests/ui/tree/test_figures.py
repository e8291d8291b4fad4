"""Shapes, multiply-adds and statistics of the tree's rows, and filters that use them."""

import pytest

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.state.selection import find
from bertviewer.ui.tree.figures import TreeFigures
from bertviewer.ui.tree.filter import parse_filter
from bertviewer.ui.tree.rows import TreeRows
from tests.core.opened import derived, plain


def row_of(tree: TreeRow, key: str) -> TreeRow:
    row = find(tree, key)
    assert row is not None
    return row


def hits(architecture: Architecture, text: str, figures: TreeFigures | None = None) -> list[str]:
    """Return the keys of all rows that fit a text."""
    rows = TreeRows(fold(architecture))
    rows.figures = figures or TreeFigures(architecture)
    wanted = parse_filter(text)
    assert wanted.error == ""
    rows.arrange([term.matches for term in wanted.terms])
    return [rows.items[number].key for number in rows.hits_in_order()]


def test_output_shapes_have_symbols_before_a_run() -> None:
    architecture = derived("bert-base-uncased")
    tree, figures = fold(architecture), TreeFigures(architecture)
    assert figures.output(row_of(tree, "encoder.layer[0–11]")) == ("S", "768")
    assert figures.output(row_of(tree, "encoder.layer.3.intermediate")) == ("S", "3072")
    assert figures.output(row_of(tree, "pooler")) == ("768",)
    assert figures.output(row_of(tree, "encoder.layer")) is None
    assert figures.outputs() >= {("S", "768"), ("S", "3072"), ("768",)}


def test_values_of_a_run(opened_demo: LoadedModel) -> None:
    opened = opened_demo
    run = run_sentence(opened, Sentence("a test"))
    tree = fold(opened.architecture)
    figures = TreeFigures(opened.architecture, run)
    layer, folded = row_of(tree, "encoder.layer.3"), row_of(tree, "encoder.layer[0–5]")
    assert figures.output(layer) == ("4", "384")
    assert figures.output_shape(layer) == (1, 4, 384)
    measured = run.activation("encoder.layer.3")
    assert measured is not None
    assert figures.statistic(layer, "std") == measured.statistics.std
    assert figures.macs(layer) == measured.macs
    # Multiply-adds of members are added up; their outputs have no common statistic.
    assert figures.macs(folded) == 6 * (measured.macs or 0)
    assert figures.statistic(folded, "std") is None
    wanted = hits(opened.architecture, "std>0.6 class:BertLayer", figures)
    assert wanted == [
        module.path
        for module in run.modules
        if module.class_name == "BertLayer" and (module.statistics.std or 0) > 0.6
    ]
    assert hits(opened.architecture, "nan>0", figures) == []
    assert hits(opened.architecture, "std>0") == []  # unknown before a run


def test_multiply_adds_by_formula() -> None:
    architecture = derived("bert-base-uncased")
    tree, figures = fold(architecture), TreeFigures(architecture)
    # For 128 tokens, by torch's FLOP counter.
    assert figures.macs(row_of(tree, "")) == 22_348_431_360 // 2
    found = hits(architecture, "macs>200M class:Linear layer:3")
    assert found == ["encoder.layer.3.intermediate.dense", "encoder.layer.3.output.dense"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("layer:3 name=query", ["encoder.layer.3.attention.self.query"]),
        ("part:head", ["pooler", "pooler.dense", "pooler.activation"]),
        ("shape:3072x768", [f"encoder.layer.{n}.intermediate.dense" for n in range(12)]),
        ("params=590.6K layer:11 class:linear", [
            f"encoder.layer.11.attention.{name}"
            for name in ("self.query", "self.key", "self.value", "output.dense")
        ]),
        ("trainable:no", []),
        # Members match instead of folded layers.
        ("class=BertLayer layer:0-1", ["encoder.layer.0", "encoder.layer.1"]),
        ('"12 × bertlayer"', ["encoder.layer[0–11]"]),
    ],
)  # fmt: skip
def test_terms_find_modules(text: str, keys: list[str]) -> None:
    assert hits(plain("bert-base-uncased"), text) == keys


def test_modules_without_trained_weights_are_found() -> None:
    demo = open_model(parse_source("demo", "masked-lm")).architecture
    assert hits(demo, "trained:no") == [
        "cls.predictions",
        "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.decoder",  # its bias is the one of cls.predictions
    ]
    assert "bert.pooler" not in hits(demo, "trained:yes")  # it has none of its own
    assert hits(plain("gpt2"), "trained:yes") == []
