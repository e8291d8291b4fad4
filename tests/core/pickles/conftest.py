"""A model with pickled weights, and the cache of converted weights."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.saving import disk_cache

Tensors = dict[str, torch.Tensor]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the empty cache of converted weights."""
    monkeypatch.setattr(disk_cache, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache" / "converted"


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return the tiny BERT with pickled weights."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    tensors = load_file(folder / "model.safetensors")
    torch.save(tensors, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a pickle."""
    return tmp_path / "pytorch_model.bin"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return an empty folder for converted weights."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def some_tensors() -> Tensors:
    """Return tensors of several dtypes and shapes."""
    values = torch.linspace(-3, 3, 24).reshape(4, 6)
    return {
        "h.weight": values,
        "half": values.half(),
        "brain": values.bfloat16(),
        "double": values.double(),
        "numbers": torch.arange(5),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "flags": values > 0,
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "special": torch.tensor([float("nan"), float("inf"), -0.0]),
    }


def assert_equal(found: Tensors, expected: Tensors) -> None:
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name].nan_to_num(7), tensor.nan_to_num(7)), name
