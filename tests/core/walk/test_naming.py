"""What a walk calls modules, and which it opens."""

import pytest

from bertviewer.core.architecture import Architecture, ModuleNode
from bertviewer.core.walk.naming import StepNames
from tests.core.opened import plain


def module(architecture: Architecture, path: str) -> ModuleNode:
    return next(node for node in architecture.modules if node.path == path)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("embeddings.word_embeddings", "Embedding-Token"),
        ("embeddings.position_embeddings", "Embedding-Position"),
        ("embeddings.token_type_embeddings", "Embedding-Segment"),
        ("embeddings.LayerNorm", "Norm"),
        ("pooler", "Pooler"),
        ("encoder.layer.0", "BertLayer"),
    ],
)
def test_names_of_steps(path: str, name: str) -> None:
    bert = plain("bert-base-uncased")
    assert StepNames(bert).name_of(module(bert, path)) == name


def test_what_holds_layers_or_tables_is_opened() -> None:
    bert = plain("bert-base-uncased")
    names = StepNames(bert)
    opened = [node.path for node in bert.modules if names.is_opened(node)]
    assert opened == ["", "embeddings", "encoder", "encoder.layer"]
    assert names.is_in_list(module(bert, "encoder.layer.3"))
    assert not names.is_in_list(module(bert, "encoder.layer"))


def test_the_sides_of_an_encoder_decoder() -> None:
    both, bert = StepNames(plain("transformer-base")), StepNames(plain("bert-base-uncased"))
    assert (both.has_two_sides, bert.has_two_sides) == (True, False)
    assert both.side_of("transformer.decoder.layers.2") == "decoder"
    assert both.side_of("generator") == ""
    assert bert.side_of("encoder.layer.2") == ""
