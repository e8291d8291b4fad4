"""Comparison of structures, and changes of modules."""

import json
from collections.abc import Mapping

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.comparison.comparison import (
    STATES,
    Change,
    ComparedTensor,
    check_same_structure,
    compare_architectures,
    module_changes,
)
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.errors import UserError
from tests.core.opened import plain

SAME = Change(4, 4, 0.0, 0.0, 0.0, 1.0)


def with_config(architecture: Architecture, config: Mapping[str, object]) -> Architecture:
    return replace(architecture, config={**architecture.config, **config})


def test_a_model_and_itself() -> None:
    bert = plain("bert-base-uncased")
    found = compare_architectures(bert, bert)
    assert found.keys == ()
    assert found.left_parameters == found.right_parameters == 109_482_240
    assert found.counts == dict.fromkeys(STATES, 0) | {"not compared": 199}
    check_same_structure(bert, bert)


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
    names = [tensor.name for tensor in found.tensors]
    assert names[:199] == [tensor.name for tensor in base.parameters]


def test_a_tied_tensor_has_its_first_name() -> None:
    base, head = plain("bert-base-uncased"), plain("bert-base-uncased", "masked-lm")
    found = compare_architectures(head, head)
    assert "cls.predictions.decoder.weight" not in [tensor.name for tensor in found.tensors]
    assert found.counts["not compared"] == head.tensor_count
    assert compare_architectures(base, head).counts["only left"] == 199


def test_models_with_other_shapes_have_another_structure() -> None:
    bert = plain("bert-base-uncased")
    first, *rest = bert.parameters
    wider = replace(bert, parameters=(replace(first, shape=(30_522, 769)), *rest))
    with pytest.raises(UserError, match="different structure"):
        check_same_structure(bert, wider)


def test_the_state_of_a_tensor() -> None:
    tensor = plain("bert-base-uncased").parameters[0]
    transposed = replace(tensor, shape=tensor.shape[::-1])
    for compared, state in (
        (ComparedTensor("w", tensor, tensor, SAME), "same"),
        (ComparedTensor("w", tensor, tensor, replace(SAME, equal=3)), "changed"),
        (ComparedTensor("w", tensor, None), "only left"),
        (ComparedTensor("w", None, tensor), "only right"),
        (ComparedTensor("w", tensor, transposed), "other shape"),
    ):
        assert compared.state == state


@pytest.mark.parametrize("value", [float("inf"), "text", None, [1, 2], {"a": {"b": 1}}])
def test_the_json_document(value: object) -> None:
    bert = plain("bert-base-uncased")
    found = compare_architectures(bert, with_config(bert, {"hidden_act": value, "new": 3}))
    assert [(key.key, key.left) for key in found.keys] == [("hidden_act", "gelu"), ("new", None)]
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["schema"] == "bertviewer.comparison/1"
    assert list(document["config"]) == ["hidden_act", "new"]
    assert document["config"]["new"] == [None, 3]
    assert document["counts"]["not compared"] == 199
    assert document["tensors"][0] == {
        "name": "embeddings.word_embeddings.weight",
        "state": "not compared",
        "left": {"shape": [30522, 768], "dtype": "float32"},
        "right": {"shape": [30522, 768], "dtype": "float32"},
        "change": None,
    }


def test_the_change_of_a_module_is_that_of_all_its_tensors() -> None:
    bert = plain("bert-base-uncased")
    found = compare_architectures(bert, bert)
    generator = np.random.default_rng(0)
    left, moved, tensors = {}, {}, []
    for tensor in found.tensors:
        if tensor.name.startswith("encoder.layer.3.attention"):
            left[tensor.name] = generator.normal(size=5)
            moved[tensor.name] = generator.normal(size=5)
            norms = [float(np.linalg.norm(each[tensor.name])) for each in (moved, left)]
            tensors.append(replace(tensor, change=Change(0, 5, 1.0, 1.0, 1.0, 1.0, *norms)))
        else:
            tensors.append(tensor)
    changes = module_changes(replace(found, tensors=tuple(tensors)))
    for path in ("", "encoder.layer.3", "encoder.layer.3.attention.self.query"):
        names = [name for name in left if name.startswith(path)]
        whole = [np.concatenate([each[name] for name in names]) for each in (moved, left)]
        expected = np.linalg.norm(whole[0]) / np.linalg.norm(whole[1])
        assert changes[path] == pytest.approx(expected)
    assert "embeddings" not in changes
