"""A small model, and what the cache has of it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from bertviewer.core.loading import cached_models as models
from bertviewer.core.saving import disk_cache
from bertviewer.core.schema.architecture import Architecture
from tests.core.cache.cached import opened

SIZES = {
    "model_type": "bert",
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(disk_cache, "user_cache_path", lambda *_args, **_kwargs: folder)
    return folder


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what goes to the log."""
    found: list[str] = []
    monkeypatch.setattr(models, "write_log", found.append)
    return found


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a BERT of two layers with weights."""
    from bertviewer.core.building.backend import transformers

    place = tmp_path_factory.mktemp("written") / "model"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        transformers.BertModel(transformers.BertConfig(**SIZES)).save_pretrained(place)
    return place


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """Return a copy of it that may be changed."""
    return Path(shutil.copytree(written, tmp_path / "model"))


@pytest.fixture(scope="session")
def remembered(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the cache has of it once its formulas were derived."""
    place = tmp_path_factory.mktemp("remembered") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_cache, "user_cache_path", lambda *_args, **_kwargs: place)
        opened(written).with_formulas()
    return place


@pytest.fixture
def derived(folder: Path, cache: Path, remembered: Path, building: list[str]) -> Architecture:
    """Return its architecture, with formulas that the cache remembers."""
    shutil.copytree(remembered, cache)
    architecture = opened(folder).with_formulas()
    assert building == []
    return architecture


@pytest.fixture
def building(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of what is built with torch, as it happens."""
    from bertviewer.core.loading import meta_model

    built: list[str] = []
    read = meta_model.read_meta_model

    def note(source: Any, *rest: Any) -> Any:
        built.append(source.name)
        return read(source, *rest)

    monkeypatch.setattr(meta_model, "read_meta_model", note)
    return built
