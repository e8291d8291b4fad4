"""Two architectures side by side."""

import json
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from bertviewer.core.comparison.comparison import (
    STATES,
    Change,
    ComparedTensor,
    compare_architectures,
)
from bertviewer.core.schema.architecture import Architecture
from tests.core.opened import plain

SAME = Change(4, 4, 0.0, 0.0, 0.0, 1.0)


def with_other(architecture: Architecture, config: Mapping[str, object]) -> Architecture:
    return replace(architecture, config={**architecture.config, **config})


def test_a_model_and_itself() -> None:
    bert = plain("bert-base-uncased")
    found = compare_architectures(bert, bert)
    assert found.keys == ()
    assert found.left_parameters == found.right_parameters == 109_482_240
    assert found.counts == dict.fromkeys(STATES, 0) | {"not compared": 199}


def test_base_and_large() -> None:
    base, large = plain("bert-base-uncased"), plain("bert-large-uncased")
    found = compare_architectures(base, large)
    keys = {key.key: (key.left, key.right) for key in found.keys}
    assert keys["hidden_size"] == (768, 1024)
    assert keys["num_hidden_layers"] == (12, 24)
    assert "vocab_size" not in keys
    # 16 tensors a layer, and the larger one has 12 layers more; nothing has the same width.
    assert found.counts["only right"] == 12 * 16
    assert found.counts["other shape"] == 199
    assert [tensor.name for tensor in found.tensors][:199] == [
        tensor.name for tensor in base.parameters
    ]


def test_heads_and_ties() -> None:
    base, head = plain("bert-base-uncased"), plain("bert-base-uncased", "masked-lm")
    found = compare_architectures(head, head)
    names = [tensor.name for tensor in found.tensors]
    # The decoder's weight is the word embeddings'.
    assert "cls.predictions.decoder.weight" not in names
    assert found.counts["not compared"] == head.tensor_count
    assert compare_architectures(base, head).counts["only left"] == 199


def test_a_key_that_one_lacks() -> None:
    bert = plain("bert-base-uncased")
    (key,) = compare_architectures(bert, with_other(bert, {"new": 3})).keys
    assert (key.key, key.left, key.right) == ("new", None, 3)


def test_states_follow_from_the_values() -> None:
    tensor = plain("bert-base-uncased").parameters[0]
    assert ComparedTensor("w", tensor, tensor, SAME).state == "same"
    assert ComparedTensor("w", tensor, tensor, replace(SAME, equal=3)).state == "changed"
    assert ComparedTensor("w", tensor, None).state == "only left"
    assert ComparedTensor("w", None, tensor).state == "only right"
    turned = replace(tensor, shape=tensor.shape[::-1])
    assert ComparedTensor("w", tensor, turned).state == "other shape"


@pytest.mark.parametrize("value", [float("inf"), "text", None, [1, 2], {"a": {"b": 1}}])
def test_json_is_plain(value: object) -> None:
    bert = plain("bert-base-uncased")
    found = compare_architectures(bert, with_other(bert, {"hidden_act": value}))
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["schema"] == "bertviewer.comparison/1"
    assert list(document["config"]) == ["hidden_act"]
    assert document["counts"]["not compared"] == 199
    assert document["tensors"][0] == {
        "name": "embeddings.word_embeddings.weight",
        "state": "not compared",
        "left": {"shape": [30522, 768], "dtype": "float32"},
        "right": {"shape": [30522, 768], "dtype": "float32"},
        "change": None,
    }
