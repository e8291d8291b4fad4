"""Sentences of mixed lengths, a model with an outlier, and corpora of them, for all tests."""

import random
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from tests.conftest import TINY_WORDS
from tests.core.corpus.making_corpora import made


@pytest.fixture(scope="package")
def texts() -> list[str]:
    chance = random.Random(5)
    return [
        " ".join(chance.choice(TINY_WORDS) for _ in range(chance.randint(1, 40)))
        for _ in range(200)
    ]


@pytest.fixture(scope="package")
def data(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "lines.txt"
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="package")
def folder(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BERT whose hidden states have an outlier: a bias that is far from all others."""
    copy = tmp_path_factory.mktemp("model") / "tiny"
    shutil.copytree(tiny_bert_folder, copy)
    weights = load_file(copy / "model.safetensors")
    weights["encoder.layer.0.output.LayerNorm.bias"][5] = 12.0
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    return copy


@pytest.fixture(scope="package")
def model(folder: Path) -> LoadedModel:
    return open_model(parse_source(str(folder)))


@pytest.fixture(scope="package")
def whole(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a corpus of all sentences, in seven shards."""
    folder = tmp_path_factory.mktemp("whole") / "corpus"
    made(model, data, folder)
    return folder


@pytest.fixture(scope="package")
def small(model: LoadedModel, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a corpus of nine sentences."""
    folder = tmp_path_factory.mktemp("small") / "corpus"
    made(model, data, folder, CorpusOptions(limit=9))
    return folder
