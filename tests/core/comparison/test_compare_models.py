"""Comparison of open models and of the values that their files store."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from torch import nn

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.comparison import compare_models as module
from bertviewer.core.comparison.compare_models import change_between, compare_models
from bertviewer.core.comparison.comparison import STATES, Change
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tensors.values import Origin, TensorValues, memory_values
from bertviewer.core.util.errors import Cancelled
from tests.core.tensors.made_up import in_memory

Save = Callable[..., LoadedModel]


def opened(folder: Path, task: str = "base") -> LoadedModel:
    return open_model(parse_source(str(folder), task))


@pytest.fixture
def original(tiny_bert_folder: Path) -> LoadedModel:
    return opened(tiny_bert_folder)


@pytest.fixture
def tuned(tiny_bert_folder: Path, tmp_path: Path) -> Save:
    """Return a function that changes the tiny BERT, saves it, and opens it again."""

    def save(change: Callable[[nn.Module], object], **options: object) -> LoadedModel:
        model = transformers.AutoModel.from_pretrained(tiny_bert_folder)
        with torch.no_grad():
            change(model)
        model.save_pretrained(tmp_path, **options)
        return opened(tmp_path)

    return save


def test_a_model_and_its_copy_are_the_same(original: LoadedModel, tuned: Save) -> None:
    found = compare_models(original, tuned(lambda model: None))
    assert found.counts == dict.fromkeys(STATES, 0) | {"same": 39}


def test_a_changed_tensor_in_sharded_files(
    original: LoadedModel, tuned: Save, tmp_path: Path
) -> None:
    name = "encoder.layer.1.output.dense.weight"
    before = []

    def change(model: nn.Module) -> None:
        weight = model.get_parameter(name)
        before.append(weight.double().clone())
        weight[0, 0] += 0.5
        weight[3] *= 2

    found = compare_models(original, tuned(change, max_shard_size="20KB"))
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert (found.counts["changed"], found.counts["same"]) == (1, 38)
    (tensor,) = (tensor for tensor in found.tensors if tensor.state == "changed")
    assert tensor.name == name
    assert tensor.change is not None
    moved = torch.zeros_like(before[0])
    moved[3], moved[0, 0] = before[0][3], 0.5
    assert tensor.change.count - tensor.change.equal == 1 + moved.shape[1]
    assert tensor.change.max_abs == pytest.approx(0.5, rel=1e-6)
    assert tensor.change.rms == pytest.approx(moved.square().mean().sqrt().item(), rel=1e-6)
    relative = (moved.norm() / before[0].norm()).item()
    assert tensor.change.relative == pytest.approx(relative, rel=1e-6)


def test_half_precision_is_a_change_of_rounding(original: LoadedModel, tuned: Save) -> None:
    found = compare_models(original, tuned(lambda model: model.to(torch.bfloat16)))
    worst = max(t.change.relative or 0.0 for t in found.tensors if t.change is not None)
    # bfloat16 has eight bits of precision: rounding changes a value by 2^-9 at most.
    assert 1e-4 < worst < 2**-9
    assert any(key.key == "dtype" for key in found.keys)


def test_dtypes_are_those_of_the_files(original: LoadedModel, tuned: Save, tmp_path: Path) -> None:
    tuned(lambda model: model.half())
    file = tmp_path / "config.json"
    config = json.loads(file.read_text())
    config.pop("dtype", None)  # so that the model is computed in float32
    file.write_text(json.dumps(config))
    right = opened(tmp_path)
    assert {tensor.dtype for tensor in right.architecture.parameters} == {"float32"}
    found = compare_models(original, right)
    pairs = {(t.left.dtype, t.right.dtype) for t in found.tensors if t.left and t.right}
    assert pairs == {("float32", "float16")}


def test_untrained_heads_are_not_compared(tiny_bert_folder: Path) -> None:
    model = opened(tiny_bert_folder, "sequence-classification")
    states = {tensor.name: tensor.state for tensor in compare_models(model, model).tensors}
    assert states["classifier.weight"] == "not compared"
    assert states["bert.pooler.dense.weight"] == "same"


def test_files_are_read_in_blocks_without_loading_the_model(
    original: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 64)
    calls: list[tuple[int, int]] = []
    compare_models(original, original, lambda done, total, _label: calls.append((done, total)))
    assert calls == sorted(calls)
    assert len(calls) > len(set(calls)) == 39
    labels: list[str] = []
    original.module(False, lambda done, total, label: labels.append(label))
    assert "Loading weights" in labels

    def stop(done: int, total: int, label: str) -> None:
        if done == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        compare_models(original, original, stop)


Array = NDArray[np.float32]


def values_of(elements: Array) -> TensorValues:
    shape = elements.shape
    rows = elements.reshape(matrix_shape(shape))
    return memory_values("weight", shape, "float32", Origin("drawn"), rows)


def change(left: Array, right: Array) -> Change:
    return change_between(values_of(left), values_of(right))


def seeded(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("block", [1, 7, 50, 1 << 20])
def test_changes_are_numpys_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    left, right = seeded(13, 5, 2), seeded(13, 5, 2, seed=1)
    right[3] = left[3]
    found = change(left, right)
    a, b = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    assert (found.equal, found.count) == (10, 130)
    assert found.max_abs == np.abs(b - a).max()
    assert found.rms == pytest.approx(np.sqrt(np.mean((b - a) ** 2)), rel=1e-12)
    assert found.relative == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-12)
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert found.cosine == pytest.approx(cosine, rel=1e-12)


FLOATS = st.floats(-1e6, 1e6, width=32) | st.sampled_from((math.nan, math.inf, -math.inf, -0.0))


@settings(max_examples=100)
@given(arrays(np.float32, array_shapes(min_dims=0, max_dims=3, min_side=0), elements=FLOATS))
def test_a_tensor_equals_itself(elements: Array) -> None:
    found = change(elements, elements.copy())
    is_compared = not elements.size or np.isfinite(elements).any()
    distances = (0.0, 0.0) if is_compared else (None, None)
    assert (found.equal, found.max_abs, found.rms) == (elements.size, *distances)
    assert found.relative in (0.0, None)
    assert found.cosine is None or found.cosine == pytest.approx(1)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # NaN and Inf are counted, and are in no distance.
        ([1.0, NAN, INF, NAN], [2.0, NAN, 3.0, 1.0], Change(1, 4, 1.0, 1.0, 1.0, 1.0)),
        ([NAN, NAN], [1.0, 1.0], Change(0, 2, None, None, None, None)),
        # Zeros have no direction.
        ([0.0, 0.0], [1.0, 1.0], Change(0, 2, 1.0, 1.0, None, None)),
        # Squares beyond float64.
        ([1e200, 1e200], [-1e200, -1e200], Change(0, 2, 2e200, INF, None, None)),
        # Integers that are equal in float64.
        ([2**53, 7], [2**53 + 1, 7], Change(1, 2, 0.0, 0.0, 0.0, 1.0)),
    ],
)
def test_changes_of_special_values(left: list[float], right: list[float], expected: Change) -> None:
    assert change_between(in_memory(np.array([left])), in_memory(np.array([right]))) == expected


def test_progress_counts_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 20)
    calls: list[tuple[int, int]] = []
    values = values_of(seeded(5, 10))
    change_between(values, values, lambda done, total, _label: calls.append((done, total)))
    assert calls == [(0, 5), (2, 5), (4, 5)]


def test_tensors_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        change(seeded(2, 3), seeded(3, 2))
