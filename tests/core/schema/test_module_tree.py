"""The module tree with equal layers folded into one row."""

from collections.abc import Callable, Iterator

import pytest

from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.sources.presets import preset_names
from tests.core.drawn_tree import draw
from tests.core.formulas.test_catalogue import architecture, node
from tests.core.opened import plain


def rows_of(row: TreeRow) -> Iterator[TreeRow]:
    yield row
    for child in row.children:
        yield from rows_of(child)


def modules_of(row: TreeRow) -> Iterator[str]:
    """Yield the paths of all modules, also those in folded rows."""
    if not row.is_folded:
        yield row.node.path
    for child in row.members or row.children:
        yield from modules_of(child)


def test_the_tree_of_bert_base(golden: Callable[[str, str], None]) -> None:
    root = fold(plain("bert-base-uncased"))
    golden("bert-base-uncased.txt", draw(root) + "\n")
    shallow = draw(root, depth=1).splitlines()
    assert [line.split(":")[0] for line in shallow] == [
        *("BertModel", "  embeddings", "  encoder", "  pooler")
    ]


def test_a_row_has_the_shape_of_the_first_weight() -> None:
    tensors = (
        TensorInfo("attention.in_weight", (6, 2), "float32", True),
        TensorInfo("attention.out_weight", (2, 3), "float32", True),
    )
    model = architecture(node("", "Model"), node("attention", "Attention"), tensors=tensors)
    (row,) = fold(model).children
    assert row.shape == (6, 2)


@pytest.mark.parametrize("name", preset_names())
def test_rows_have_every_module_once_and_add_up(name: str) -> None:
    architecture = plain(name)
    root = fold(architecture)
    assert sorted(modules_of(root)) == sorted(node.path for node in architecture.modules)
    keys = [row.key for row in rows_of(root)]
    assert len(keys) == len(set(keys))
    for row in rows_of(root):
        if row.children and not row.is_folded:
            below = sum(child.parameters for child in row.children)
            assert below + row.node.own_parameters == row.parameters
