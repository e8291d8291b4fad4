"""Two checkpoints side by side: before and after a change, with another head, in another dtype."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from torch import nn

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.comparison import compare_models as changes
from bertviewer.core.comparison.compare_models import compare_models
from bertviewer.core.comparison.comparison import STATES, Comparison
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled


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
