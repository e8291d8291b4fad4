"""Parts of the selected path, and the siblings in the menu of each."""

import pytest

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.shell.breadcrumb import crumbs_of, siblings
from bertviewer.ui.state.selection import find
from tests.core.opened import plain

BERT = plain("bert-base-uncased")


@pytest.mark.parametrize(
    ("key", "labels"),
    [
        ("", ["BertModel"]),
        ("encoder.layer.3.attention.self", ["encoder", "layer 3", "attention", "self"]),
        ("encoder.layer[0–11]", ["encoder", "layer 0–11"]),
        ("encoder.layer", ["encoder", "layer"]),
    ],
)
def test_its_parts(key: str, labels: list[str]) -> None:
    row = find(fold(BERT), key)
    assert row is not None
    crumbs = crumbs_of(row)
    assert [crumb.label for crumb in crumbs] == labels
    assert crumbs[-1].key == key


def test_each_part_leads_to_a_module() -> None:
    tree = fold(BERT)
    row = find(tree, "encoder.layer.3.attention.self.query")
    assert row is not None
    for crumb in crumbs_of(row):
        assert find(tree, crumb.key) is not None


def test_what_stands_beside_it() -> None:
    row = find(fold(BERT), "encoder.layer.3.attention")
    assert row is not None
    encoder, layer, attention = crumbs_of(row)
    assert [each.key for each in siblings(encoder, BERT)] == ["embeddings", "encoder", "pooler"]
    assert [each.label for each in siblings(layer, BERT)] == [f"layer {n}" for n in range(12)]
    assert siblings(layer, BERT)[7].key == "encoder.layer.7"
    labels = [each.label for each in siblings(attention, BERT)]
    assert labels == ["attention", "intermediate", "output"]
