"""The folded tree, drawn as text."""

from collections.abc import Callable, Iterator

import pytest

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from tests.core.drawn_tree import draw


def architecture_of(name: str) -> Architecture:
    return open_model(parse_source(name)).architecture


def rows_of(row: TreeRow) -> Iterator[TreeRow]:
    yield row
    for child in row.children:
        yield from rows_of(child)


def test_drawing_of_bert_base(golden: Callable[[str, str], None]) -> None:
    golden("bert-base-uncased.txt", draw(fold(architecture_of("bert-base-uncased"))) + "\n")


def test_depth_limits_the_drawing() -> None:
    drawing = draw(fold(architecture_of("bert-base-uncased")), depth=1).splitlines()
    assert [line.split(":")[0] for line in drawing] == [
        "BertModel",
        "  embeddings",
        "  encoder",
        "  pooler",
    ]


@pytest.mark.parametrize("name", preset_names())
def test_no_module_is_lost_and_no_key_is_used_twice(name: str) -> None:
    architecture = architecture_of(name)

    def unfolded(row: TreeRow) -> Iterator[TreeRow]:
        below = row.members or row.children
        if not row.is_folded:
            yield row
        for child in below:
            yield from unfolded(child)

    root = fold(architecture)
    paths = [row.node.path for row in unfolded(root)]
    assert sorted(paths) == sorted(node.path for node in architecture.modules)
    keys = [row.key for row in rows_of(root)]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", preset_names())
def test_rows_add_up_to_their_parent(name: str) -> None:
    for row in rows_of(fold(architecture_of(name))):
        if row.children and not row.is_folded:
            below = sum(child.parameters for child in row.children)
            assert below + row.node.own_parameters == row.parameters
