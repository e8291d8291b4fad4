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
from transformers.core_model_loading import Transpose, WeightConverter

from bertviewer.core.building.backend import transformers
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.loading.cached_models import NO_CACHE
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.loading.tiny_models import read_tensors, save_model, write_tensors

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


def rewrite(folder: Path, *changes: Rewrite) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    for change in changes:
        tensors = change(tensors)
    save_file(tensors, file, {"format": "pt"})


def missing(source: ModelSource) -> tuple[str, ...]:
    return open_model(source).architecture.source.random_tensors


def report(folder: Path, task: str = "base") -> LoadReport:
    keys = open_model(parse_source(str(folder), task)).load_report
    assert keys is not None
    return keys


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


def test_old_names_are_loaded_too(folder: Path) -> None:
    marked = torch.linspace(0.5, 1.5, 32)

    def mark(tensors: Tensors) -> Tensors:
        return {**tensors, "embeddings.LayerNorm.weight": marked}

    rewrite(folder, mark, in_tensorflows_words, prefixed)
    model = open_model(parse_source(str(folder)))
    assert model.architecture.source.random_tensors == ()
    loaded = model.module(random_weights=False).get_parameter("embeddings.LayerNorm.weight")
    assert torch.equal(loaded, marked)


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
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "wide"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 96}))
    with pytest.raises(UserError, match=r"has the shape \[64, 32\].*requires \[96, 32\]"):
        open_model(parse_source(str(folder)))
    config |= {"type_vocab_size": 3, "vocab_size": 9}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"; the same applies to 1 other$"):
        open_model(parse_source(str(folder)))


def test_the_report_of_a_whole_checkpoint(folder: Path) -> None:
    keys = report(folder)
    size = (folder / "model.safetensors").stat().st_size
    assert dict(keys.files) == {"model.safetensors": size}
    assert (keys.nbytes, keys.tensors, keys.dtype) == (size, 39, "float32")
    assert dict(keys.stored_dtypes) == {"F32": 39}
    assert (keys.missing, keys.unexpected, dict(keys.renamed)) == ((), (), {})
    assert keys.stored["pooler.dense.bias"] == "pooler.dense.bias"


def test_the_report_tells_new_names(folder: Path) -> None:
    rewrite(folder, in_tensorflows_words, prefixed)
    keys = report(folder)
    assert len(keys.renamed) == 39
    assert keys.renamed["bert.embeddings.LayerNorm.gamma"] == "embeddings.LayerNorm.weight"
    assert keys.stored["embeddings.LayerNorm.weight"] == "bert.embeddings.LayerNorm.gamma"


def test_what_is_turned_on_the_way_is_not_stored_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "pooler.dense.weight"
    turned = WeightConverter(name, name, operations=[Transpose(0, 1)])
    monkeypatch.setenv(NO_CACHE, "1")
    mapping = "bertviewer.core.loading.matching.get_model_conversion_mapping"
    monkeypatch.setattr(mapping, lambda _module: [turned])
    keys = report(folder)
    assert name not in keys.stored
    assert len(keys.stored) == 38
    assert (keys.missing, keys.unexpected) == ((), ())


def test_the_right_name_comes_before_an_old_one(folder: Path) -> None:
    def twice(tensors: Tensors) -> Tensors:
        return {"embeddings.LayerNorm.gamma": torch.zeros(32), **tensors}

    rewrite(folder, twice)
    keys = report(folder)
    assert keys.stored["embeddings.LayerNorm.weight"] == "embeddings.LayerNorm.weight"
    assert keys.unexpected == ("embeddings.LayerNorm.gamma",)


def test_tied_tensors_are_not_missing(folder: Path) -> None:
    keys = report(folder, "masked-lm")
    assert keys.tied == {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }
    assert "cls.predictions.decoder.weight" not in keys.missing
    assert keys.unexpected == ("pooler.dense.bias", "pooler.dense.weight")


def test_a_tied_tensor_under_its_other_name_alone(folder: Path) -> None:
    def decoder(tensors: Tensors) -> Tensors:
        words = tensors.pop("embeddings.word_embeddings.weight")
        return {**prefixed(tensors), "cls.predictions.decoder.weight": words + 1}

    rewrite(folder, decoder)
    model = open_model(parse_source(str(folder), "masked-lm"))
    first = "bert.embeddings.word_embeddings.weight"
    assert first not in model.architecture.source.random_tensors
    stored = model.stored(first)
    assert stored is not None
    assert stored.name == "cls.predictions.decoder.weight"
    module = model.module(random_weights=False)
    expected = load_file(folder / "model.safetensors")["cls.predictions.decoder.weight"]
    assert torch.equal(module.get_parameter(first), expected)
    assert first not in model.architecture.source.random_tensors


def test_a_constant_of_old_checkpoints_has_its_place(folder: Path) -> None:
    rewrite(folder, lambda t: {**t, "embeddings.position_ids": torch.arange(64).reshape(1, 64)})
    keys = report(folder)
    assert keys.unexpected == ()
    assert keys.stored_dtypes["I64"] == 1
    open_model(parse_source(str(folder))).module(random_weights=False)


def test_masks_of_old_checkpoints_are_no_weights(tmp_path: Path) -> None:
    save_model(tmp_path, "GPT2LMHeadModel")
    mask = torch.ones(1, 1, 12, 12, dtype=torch.uint8)
    masks = {
        "transformer.h.0.attn.bias": mask,
        "transformer.h.0.attn.masked_bias": torch.tensor(-1e4),
    }
    write_tensors(tmp_path, read_tensors(tmp_path) | masks)
    keys = report(tmp_path, "causal-lm")
    assert (keys.unexpected, set(keys.buffers)) == ((), set(masks))


def test_where_a_tensor_is_stored(folder: Path) -> None:
    rewrite(folder, prefixed)
    model = open_model(parse_source(str(folder), "masked-lm"))
    stored = model.stored("cls.predictions.decoder.weight")
    assert stored is not None
    assert stored.name == "bert.embeddings.word_embeddings.weight"
    assert model.stored("cls.predictions.bias") is None
    assert model.stored("no.such.tensor") is None
    assert open_model(parse_source("bert-base-uncased")).stored("pooler.dense.bias") is None


def test_the_report_is_json(folder: Path) -> None:
    keys = report(folder, "masked-lm")
    assert json.loads(json.dumps(keys.to_json())) == keys.to_json()
    assert keys.to_json()["missing"] == list(MASKED_LM_HEAD)


SMALL = {"vocab_size": 60, "max_position_embeddings": 40}
FAMILIES = {
    "bert": transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, **SMALL
    ),
    "albert": transformers.AlbertConfig(
        embedding_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, **SMALL,
    ),
    "electra": transformers.ElectraConfig(
        embedding_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, **SMALL,
    ),
    "bart": transformers.BartConfig(
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, **SMALL,
    ),
    "t5": transformers.T5Config(
        vocab_size=60, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2,
    ),
    # Its checkpoints hold every expert by itself, and its module all of them in one tensor.
    "mixtral": transformers.MixtralConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
        intermediate_size=24, num_local_experts=3, num_experts_per_tok=2, **SMALL,
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("task", ["base", "sequence-classification"])
def test_families_as_transformers_sees_them(family: str, task: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    written = transformers.AutoModel.from_config(FAMILIES[family])
    written.save_pretrained(tmp_path)
    auto = transformers.AutoModel if task == "base" else (
        transformers.AutoModelForSequenceClassification
    )  # fmt: skip
    model = open_model(parse_source(str(tmp_path), task))
    before = model.architecture.source.random_tensors
    theirs = missing_by_transformers(tmp_path, auto)
    names = [tensor.name for tensor in model.architecture.parameters if not tensor.tied_to]
    assert set(before) == theirs & set(names)
    module = model.module(random_weights=False)
    assert model.architecture.source.random_tensors == before
    expected = auto.from_pretrained(tmp_path, local_files_only=True).state_dict()
    for name, tensor in module.state_dict().items():
        if name not in before:
            assert torch.equal(tensor, expected[name])
