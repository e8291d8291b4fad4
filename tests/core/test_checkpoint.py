"""Which tensors a checkpoint lacks, and that transformers sees it the same way."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertviewer.core.backend import transformers
from bertviewer.core.building import build_config, build_on_meta
from bertviewer.core.checkpoint import missing_tensors
from bertviewer.core.configuration import read_configuration
from bertviewer.core.errors import UserError
from bertviewer.core.loading import open_model
from bertviewer.core.source import ModelSource, parse_source

Tensors = dict[str, Tensor]
Rewrite = Callable[[Tensors], Tensors]

MASKED_LM_HEAD = (
    "cls.predictions.bias",
    "cls.predictions.transform.dense.weight",
    "cls.predictions.transform.dense.bias",
    "cls.predictions.transform.LayerNorm.weight",
    "cls.predictions.transform.LayerNorm.bias",
)


def prefixed(tensors: Tensors) -> Tensors:
    return {f"bert.{name}": tensor for name, tensor in tensors.items()}


def in_tensorflows_words(tensors: Tensors) -> Tensors:
    return {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in tensors.items()
    }


def without(*names: str) -> Rewrite:
    return lambda tensors: {name: t for name, t in tensors.items() if name not in names}


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny model that a test may change."""
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))


def rewrite(folder: Path, *changes: Rewrite) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    for change in changes:
        tensors = change(tensors)
    save_file(tensors, file, {"format": "pt"})


def missing(source: ModelSource) -> tuple[str, ...]:
    path = source.path / "config.json" if source.path.is_dir() else source.path
    config = build_config(read_configuration(path), "x")
    return missing_tensors(source, build_on_meta(config, source.task, "x"))


def of(folder: Path, task: str = "base") -> tuple[str, ...]:
    return missing(parse_source(str(folder), task))


def missing_by_transformers(folder: Path, auto: Any) -> set[str]:
    _, information = auto.from_pretrained(
        folder, local_files_only=True, output_loading_info=True, use_safetensors=True
    )
    return set(information["missing_keys"])


def test_a_whole_checkpoint(folder: Path) -> None:
    assert of(folder) == ()


def test_a_head_that_is_not_in_it(folder: Path) -> None:
    found = of(folder, "masked-lm")
    # The decoder is the word embedding's weight. The base model in this head has no pooler.
    assert found == MASKED_LM_HEAD
    assert of(folder, "sequence-classification") == ("classifier.weight", "classifier.bias")


@pytest.mark.parametrize("task", ["base", "masked-lm"])
@pytest.mark.parametrize(
    "changes",
    [
        (),
        (prefixed,),
        (in_tensorflows_words,),
        (in_tensorflows_words, prefixed),
        (without("encoder.layer.1.output.dense.bias", "embeddings.LayerNorm.weight"),),
        (without("encoder.layer.1.output.LayerNorm.bias"), in_tensorflows_words, prefixed),
    ],
)
def test_transformers_misses_the_same(
    folder: Path, task: str, changes: tuple[Rewrite, ...]
) -> None:
    rewrite(folder, *changes)
    auto = transformers.AutoModelForMaskedLM if task == "masked-lm" else transformers.AutoModel
    # It lists a tied bias under both of its names, we under the first.
    theirs = missing_by_transformers(folder, auto) - {"cls.predictions.decoder.bias"}
    assert set(of(folder, task)) == theirs


@pytest.mark.parametrize("changes", [(), (prefixed,), (in_tensorflows_words, prefixed)])
def test_one_tensor_less(folder: Path, changes: tuple[Rewrite, ...]) -> None:
    rewrite(folder, without("pooler.dense.bias", "embeddings.LayerNorm.bias"), *changes)
    assert of(folder) == ("embeddings.LayerNorm.bias", "pooler.dense.bias")


def test_old_names_are_loaded_too(folder: Path) -> None:
    marked = torch.linspace(0.5, 1.5, 32)

    def mark(tensors: Tensors) -> Tensors:
        return {**tensors, "embeddings.LayerNorm.weight": marked}

    rewrite(folder, mark, in_tensorflows_words, prefixed)
    model = open_model(parse_source(str(folder)))
    assert model.architecture.source.random_tensors == ()
    loaded = model.module(random_weights=False).get_parameter("embeddings.LayerNorm.weight")
    assert torch.equal(loaded, marked)


def test_the_architecture_names_them(folder: Path) -> None:
    source = open_model(parse_source(str(folder), "masked-lm")).architecture.source
    assert source.weights == "pretrained"
    assert source.random_tensors == MASKED_LM_HEAD


@pytest.mark.parametrize(
    "content", [b"", b"not a safetensors file at all", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"{}x"]
)
def test_a_broken_file(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(UserError, match=r"model\.safetensors: not a readable safetensors file"):
        of(folder)


def test_a_file_that_is_cut_off(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UserError, match="not a readable safetensors file"):
        of(folder)


def test_another_models_tensors(folder: Path) -> None:
    save_file({"h.0.attn.c_attn.weight": torch.zeros(2, 2)}, folder / "model.safetensors")
    with pytest.raises(UserError, match="none of its tensors belongs to this architecture"):
        of(folder)


def test_no_checkpoint_misses_nothing(folder: Path) -> None:
    assert missing(parse_source("bert-base-uncased")) == ()
    assert missing(parse_source(str(folder / "config.json"))) == ()
    (folder / "model.safetensors").unlink()
    assert of(folder) == ()


def test_the_demo_model_is_whole(demo_source: ModelSource) -> None:
    assert missing(demo_source) == ()


def test_another_shape_is_refused_with_both(tiny_bert_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "wide"
    shutil.copytree(tiny_bert_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 96}))
    with pytest.raises(UserError, match=r"has the shape \[64, 32\].*asks for \[96, 32\]"):
        open_model(parse_source(str(folder)))
