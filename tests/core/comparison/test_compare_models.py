"""Comparison of open models and of their values."""

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
from bertviewer.core.comparison import compare_models as changes
from bertviewer.core.comparison.compare_models import change_between, compare_models
from bertviewer.core.comparison.comparison import STATES, Change, Comparison
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tensors.values import Origin, TensorValues, memory_values
from bertviewer.core.util.errors import Cancelled
from tests.core.tensors.made_up import in_memory


def opened(folder: Path, task: str = "base") -> LoadedModel:
    return open_model(parse_source(str(folder), task))


@pytest.fixture
def tuned(tiny_bert_folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """Give a function that saves the tiny BERT once more, after a change."""

    def save(change: Callable[[nn.Module], object], **options: object) -> Path:
        model = transformers.AutoModel.from_pretrained(tiny_bert_folder)
        with torch.no_grad():
            change(model)
        model.save_pretrained(tmp_path / "tuned", **options)
        return tmp_path / "tuned"

    return save


def compared(left: Path, right: Path, task: str = "base") -> Comparison:
    return compare_models(opened(left, task), opened(right, task))


def test_a_model_and_its_copy(tiny_bert_folder: Path, tuned: Callable[..., Path]) -> None:
    found = compared(tiny_bert_folder, tuned(lambda model: None))
    assert found.counts == dict.fromkeys(STATES, 0) | {"same": 39}


def test_what_fine_tuning_changed(tiny_bert_folder: Path, tuned: Callable[..., Path]) -> None:
    name = "encoder.layer.1.output.dense.weight"

    def change(model: nn.Module) -> None:
        weight = model.get_parameter(name)
        weight[0, 0] += 0.5
        weight[3] *= 2

    before = transformers.AutoModel.from_pretrained(tiny_bert_folder).get_parameter(name)
    folder = tuned(change, max_shard_size="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    found = compared(tiny_bert_folder, folder)
    assert (found.counts["changed"], found.counts["same"]) == (1, 38)
    (tensor,) = (tensor for tensor in found.tensors if tensor.state == "changed")
    assert tensor.name == name
    moved = torch.zeros_like(before, dtype=torch.float64)
    moved[3], moved[0, 0] = before[3].detach(), 0.5
    assert tensor.change is not None
    assert tensor.change.count - tensor.change.equal == 1 + before.shape[1]
    assert tensor.change.max_abs == pytest.approx(0.5, rel=1e-6)
    assert tensor.change.rms == pytest.approx(moved.square().mean().sqrt().item(), rel=1e-6)
    relative = (moved.norm() / before.detach().double().norm()).item()
    assert tensor.change.relative == pytest.approx(relative, rel=1e-6)


def test_half_precision(tiny_bert_folder: Path, tuned: Callable[..., Path]) -> None:
    found = compared(tiny_bert_folder, tuned(lambda model: model.to(torch.bfloat16)))
    worst = max(t.change.relative or 0.0 for t in found.tensors if t.change is not None)
    # bfloat16 has eight bits of precision: rounding moves a value by 2^-9 at most.
    assert 1e-4 < worst < 2**-9
    assert any(key.key == "dtype" for key in found.keys)


def test_dtypes_are_those_of_the_files(tiny_bert_folder: Path, tuned: Callable[..., Path]) -> None:
    folder = tuned(lambda model: model.half())
    config = json.loads((folder / "config.json").read_text())
    # It says nothing of a dtype, so that the model is computed in float32.
    config.pop("dtype", None)
    (folder / "config.json").write_text(json.dumps(config))
    right = opened(folder)
    assert {tensor.dtype for tensor in right.architecture.parameters} == {"float32"}
    found = compare_models(opened(tiny_bert_folder), right)
    pairs = {(t.left.dtype, t.right.dtype) for t in found.tensors if t.left and t.right}
    assert pairs == {("float32", "float16")}


def test_heads_that_the_files_lack(tiny_bert_folder: Path, tuned: Callable[..., Path]) -> None:
    found = compared(tiny_bert_folder, tuned(lambda model: None), "sequence-classification")
    states = {tensor.name: tensor.state for tensor in found.tensors}
    # They would be drawn at random, which says nothing of both models.
    assert states["classifier.weight"] == "not compared"
    assert states["bert.pooler.dense.weight"] == "same"


def labels_of_loading(model: LoadedModel) -> list[str]:
    """Ask for a model's module, and return what it tells meanwhile: nothing if it was there."""
    labels: list[str] = []
    model.module(False, lambda done, total, label: labels.append(label))
    return labels


def test_no_weights_are_loaded_and_it_can_be_stopped(tiny_bert_folder: Path) -> None:
    left, right = opened(tiny_bert_folder), opened(tiny_bert_folder)

    def stop(done: int, total: int, label: str) -> None:
        assert total == 39
        if done == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        compare_models(left, right, stop)
    assert "Loading weights" in labels_of_loading(left)
    assert "Loading weights" in labels_of_loading(right)


def test_progress_never_goes_back(tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "BLOCK", 64)  # so that each tensor has many blocks
    told: list[tuple[int, int]] = []
    model = opened(tiny_bert_folder)
    compare_models(model, model, lambda done, total, _label: told.append((done, total)))
    assert told == sorted(told)
    assert len(told) > len(set(told)) == 39


Array = NDArray[np.float32]


def values(elements: Array) -> TensorValues:
    shape = elements.shape
    return memory_values(
        "weight", shape, "float32", Origin("drawn"), elements.reshape(matrix_shape(shape))
    )


def between(left: Array, right: Array) -> Change:
    return change_between(values(left), values(right))


def seeded(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("block", [1, 7, 50, 1 << 20])
def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(changes, "BLOCK", block)
    left, right = seeded(13, 5, 2), seeded(13, 5, 2, seed=1)
    right[3] = left[3]
    found = between(left, right)
    a, b = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    assert (found.equal, found.count) == (10, 130)
    assert found.max_abs == np.abs(b - a).max()
    assert found.rms == pytest.approx(np.sqrt(np.mean((b - a) ** 2)), rel=1e-12)
    assert found.relative == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-12)
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert found.cosine == pytest.approx(cosine, rel=1e-12)


floats = st.floats(-1e6, 1e6, width=32) | st.sampled_from((math.nan, math.inf, -math.inf, -0.0))


@settings(max_examples=100)
@given(arrays(np.float32, array_shapes(min_dims=0, max_dims=3, min_side=0), elements=floats))
def test_a_tensor_is_equal_to_itself(elements: Array) -> None:
    found = between(elements, elements.copy())
    has_figures = not elements.size or np.isfinite(elements).any()
    figures = (0.0, 0.0) if has_figures else (None, None)
    assert (found.equal, found.max_abs, found.rms) == (elements.size, *figures)
    assert found.relative in (0.0, None)
    assert found.cosine is None or found.cosine == pytest.approx(1)


def test_what_is_not_finite_is_no_distance() -> None:
    left = np.array([1.0, math.nan, math.inf, math.nan], np.float32)
    right = np.array([2.0, math.nan, 3.0, 1.0], np.float32)
    assert between(left, right) == Change(1, 4, 1.0, 1.0, 1.0, 1.0)


def test_zeros_have_no_direction() -> None:
    found = between(np.zeros(3, np.float32), np.ones(3, np.float32))
    assert (found.relative, found.cosine) == (None, None)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        between(seeded(2, 3), seeded(3, 2))


def test_it_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "BLOCK", 10)
    left = values(seeded(50, 10))
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int, label: str) -> None:
        told.append((done, total))
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        change_between(left, left, stop)
    assert told == [(0, 50), (1, 50), (2, 50), (3, 50)]


def test_large_integers_are_told_apart() -> None:
    left, right = np.array([[2**53, 7]]), np.array([[2**53 + 1, 7]])
    found = change_between(in_memory(left), in_memory(right))
    assert (found.equal, found.count) == (1, 2)


def test_squares_that_are_too_large_for_floats_are_no_figures() -> None:
    left = np.full((3, 2), 1e200)
    found = change_between(in_memory(left), in_memory(-left))
    assert found.max_abs == 2e200
    assert (found.rms, found.relative, found.cosine) == (math.inf, None, None)


def test_what_is_not_finite_has_no_distance() -> None:
    found = change_between(in_memory(np.full((3, 2), np.nan)), in_memory(np.ones((3, 2))))
    assert (found.equal, found.max_abs, found.rms) == (0, None, None)
