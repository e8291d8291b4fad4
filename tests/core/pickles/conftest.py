"""A folder of a model whose weights are pickled, and where what is converted is kept."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.saving import disk_cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the program a cache of its own, and return where converted weights lie in it."""
    monkeypatch.setattr(disk_cache, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache" / "converted"


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return the tiny BERT with its weights as a pickle."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    tensors = load_file(folder / "model.safetensors")
    torch.save(tensors, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder
