"""Which tensors of a checkpoint are loaded into which of a model, as by transformers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.core_model_loading import Transpose, WeightConverter

import bertviewer
from bertviewer.core.building.backend import transformers
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.loading.cached_models import NO_CACHE
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from tests.core.formulas.formula_models import TINY
from tests.core.loading.tiny_models import (
    Tensors,
    change_config,
    opened,
    read_tensors,
    save_model,
    write_tensors,
)

Change = Callable[[Tensors], Tensors]
AUTO = {
    "base": transformers.AutoModel,
    "masked-lm": transformers.AutoModelForMaskedLM,
    "sequence-classification": transformers.AutoModelForSequenceClassification,
}
MASKED_LM_HEAD = (
    "cls.predictions.bias",
    "cls.predictions.transform.dense.weight",
    "cls.predictions.transform.dense.bias",
    "cls.predictions.transform.LayerNorm.weight",
    "cls.predictions.transform.LayerNorm.bias",
)


def prefixed(tensors: Tensors) -> Tensors:
    return {f"bert.{name}": tensor for name, tensor in tensors.items()}


def renamed_as_in_tensorflow(tensors: Tensors) -> Tensors:
    return {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in tensors.items()
    }


def without(*names: str) -> Change:
    return lambda tensors: {name: t for name, t in tensors.items() if name not in names}


def change(folder: Path, *changes: Change) -> None:
    tensors = read_tensors(folder)
    for one in changes:
        tensors = one(tensors)
    write_tensors(folder, tensors)


def report_of(model: LoadedModel) -> LoadReport:
    assert model.load_report is not None
    return model.load_report


def report(folder: Path, task: str = "base") -> LoadReport:
    return report_of(opened(folder, task))


def assert_loaded_as_by_transformers(folder: Path, task: str) -> None:
    """Compare random and loaded tensors with those of ``from_pretrained``."""
    model = opened(folder, task)
    random = model.architecture.source.random_tensors
    theirs, information = AUTO[task].from_pretrained(
        folder, local_files_only=True, output_loading_info=True
    )
    # transformers lists a tied tensor by each of its names.
    names = {tensor.name for tensor in model.architecture.parameters if not tensor.tied_to}
    assert set(random) == set(information["missing_keys"]) & names
    module = model.module(random_weights=False)
    assert model.architecture.source.random_tensors == random
    expected = theirs.state_dict()
    for name, tensor in module.state_dict().items():
        if name not in random:
            assert torch.equal(tensor, expected[name]), name


@pytest.mark.parametrize("task", ["base", "masked-lm"])
@pytest.mark.parametrize(
    "changes",
    [
        (),
        (renamed_as_in_tensorflow, prefixed),
        (without("encoder.layer.1.output.dense.bias", "embeddings.LayerNorm.weight"),),
        (without("encoder.layer.1.output.LayerNorm.bias"), renamed_as_in_tensorflow, prefixed),
    ],
)
def test_names_of_bert(folder: Path, task: str, changes: tuple[Change, ...]) -> None:
    change(folder, *changes)
    assert_loaded_as_by_transformers(folder, task)


@pytest.mark.parametrize("task", ["base", "sequence-classification"])
@pytest.mark.parametrize("family", ["albert", "electra", "bart", "t5", "mixtral"])
def test_names_of_other_families(family: str, task: str, tmp_path: Path) -> None:
    # Mixtral's checkpoints have a tensor for each expert, its module one for all of them.
    sizes = TINY.get(family) or {**TINY["bert"], "num_key_value_heads": 1, "num_local_experts": 3}
    config = transformers.AutoConfig.for_model(family, **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    assert_loaded_as_by_transformers(tmp_path, task)


def test_models_without_a_checkpoint_have_no_random_tensors(
    folder: Path, demo_source: ModelSource
) -> None:
    (folder / "model.safetensors").unlink()
    for path in ("bert-base-uncased", folder / "config.json", folder, demo_source.name):
        assert opened(Path(path), "base").architecture.source.random_tensors == ()


def test_tensors_of_another_model_or_shape_are_refused(folder: Path) -> None:
    change_config(folder, intermediate_size=96)
    with pytest.raises(UserError, match=r"has the shape \[64, 32\].*requires \[96, 32\]"):
        opened(folder)
    change_config(folder, intermediate_size=64, type_vocab_size=3, vocab_size=9)
    with pytest.raises(UserError, match=r"; the same applies to 1 other$"):
        opened(folder)
    write_tensors(folder, {"h.0.attn.c_attn.weight": torch.zeros(2, 2)})
    with pytest.raises(UserError, match="none of its tensors belongs to this architecture"):
        opened(folder)


class TestReport:
    def test_a_complete_checkpoint(self, folder: Path) -> None:
        found = report(folder)
        size = (folder / "model.safetensors").stat().st_size
        assert dict(found.files) == {"model.safetensors": size}
        assert (found.nbytes, found.tensors, found.dtype) == (size, 39, "float32")
        assert dict(found.stored_dtypes) == {"F32": 39}
        assert (found.missing, found.unexpected, dict(found.renamed)) == ((), (), {})
        assert found.stored["pooler.dense.bias"] == "pooler.dense.bias"

    def test_other_names(self, folder: Path) -> None:
        change(folder, renamed_as_in_tensorflow, prefixed)
        found = report(folder)
        assert len(found.renamed) == 39
        assert found.renamed["bert.embeddings.LayerNorm.gamma"] == "embeddings.LayerNorm.weight"
        assert found.stored["embeddings.LayerNorm.weight"] == "bert.embeddings.LayerNorm.gamma"

    def test_a_head(self, folder: Path) -> None:
        found = report(folder, "masked-lm")
        assert found.missing == MASKED_LM_HEAD
        assert found.tied == {
            "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        }
        # The base model in this head has no pooler.
        assert found.unexpected == ("pooler.dense.bias", "pooler.dense.weight")
        data = found.to_json()
        assert json.loads(json.dumps(data)) == data
        assert data["missing"] == list(MASKED_LM_HEAD)

    def test_converted_tensors_are_not_stored_unchanged(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name = "pooler.dense.weight"
        converter = WeightConverter(name, name, operations=[Transpose(0, 1)])
        monkeypatch.setenv(NO_CACHE, "1")
        mapping = "bertviewer.core.loading.matching.get_model_conversion_mapping"
        monkeypatch.setattr(mapping, lambda _module: [converter])
        found = report(folder)
        assert name not in found.stored
        assert len(found.stored) == 38
        assert (found.missing, found.unexpected) == ((), ())

    def test_the_current_name_takes_precedence_over_an_old_one(self, folder: Path) -> None:
        change(folder, lambda tensors: {"embeddings.LayerNorm.gamma": torch.zeros(32), **tensors})
        found = report(folder)
        assert found.stored["embeddings.LayerNorm.weight"] == "embeddings.LayerNorm.weight"
        assert found.unexpected == ("embeddings.LayerNorm.gamma",)

    def test_integers_that_are_no_buffers_are_unexpected(self, folder: Path) -> None:
        change(folder, lambda tensors: {**tensors, "qweight": torch.zeros(3, dtype=torch.int8)})
        assert report(folder).unexpected == ("qweight",)


class TestStored:
    def test_a_tensor_is_found_by_any_of_its_names(self, folder: Path) -> None:
        change(folder, prefixed)
        model = opened(folder, "masked-lm")
        stored = model.stored("cls.predictions.decoder.weight")
        assert stored is not None
        assert stored.name == "bert.embeddings.word_embeddings.weight"
        assert model.stored("cls.predictions.bias") is None
        assert model.stored("no.such.tensor") is None
        assert opened(Path("bert-base-uncased"), "base").stored("pooler.dense.bias") is None

    def test_a_tied_tensor_may_be_stored_by_its_other_name_only(self, folder: Path) -> None:
        first, other = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"

        def rename(tensors: Tensors) -> Tensors:
            tensors = prefixed(tensors)
            tensors[other] = tensors.pop(first)
            return tensors

        change(folder, rename)
        model = opened(folder, "masked-lm")
        stored = model.stored(first)
        assert stored is not None
        assert stored.name == other
        weight = model.module(random_weights=False).get_parameter(first)
        assert torch.equal(weight, read_tensors(folder)[other])
        assert first not in model.architecture.source.random_tensors


ROW = torch.arange(12)[None]
BUFFERS: dict[str, tuple[str, Tensors]] = {
    "positions": ("BertModel", {"embeddings.position_ids": ROW}),
    "segments": ("BertModel", {"embeddings.token_type_ids": ROW}),
    "prefixed positions": ("BertModel", {"bert.embeddings.position_ids": ROW}),
    "wrapped positions": ("BertModel", {"module.bert.embeddings.position_ids": torch.arange(7)}),
    "rotary frequencies": (
        "LlamaForCausalLM", {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}
    ),
    "causal masks": (
        "GPT2LMHeadModel",
        {
            "transformer.h.0.attn.bias": torch.ones(1, 1, 12, 12, dtype=torch.uint8),
            "transformer.h.0.attn.masked_bias": torch.tensor(-1e4),
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUFFERS)
def test_stored_buffers_are_not_weights(tmp_path: Path, name: str) -> None:
    class_name, buffers = BUFFERS[name]
    save_model(tmp_path, class_name)
    write_tensors(tmp_path, read_tensors(tmp_path) | buffers)
    model = opened(tmp_path)
    model.module(random_weights=False)
    found = report_of(model)
    assert set(found.buffers) == set(buffers)
    assert not found.unexpected
    assert not found.renamed


def test_computed_positions_are_not_random(tmp_path: Path) -> None:
    save_model(tmp_path, "MarianMTModel")
    model = opened(tmp_path, "base")
    model.module(random_weights=False)
    assert model.architecture.source.random_tensors == ()


def prefix(text: str) -> Callable[[str], str]:
    return lambda name: text + name


def compile_layers(name: str) -> str:
    return name.replace("layer.0.", "layer.0._orig_mod.")


def train_classifier_with_peft(name: str) -> str:
    """PEFT trains a copy of a module."""
    return "base_model.model." + name.replace("classifier.", "classifier.modules_to_save.default.")


class TestWrappers:
    """Names that wrappers and training code have extended."""

    @pytest.mark.parametrize(
        ("class_name", "rename"),
        [
            ("BertModel", prefix("module.")),
            ("BertModel", prefix("0.auto_model.")),
            ("BertModel", prefix("module._orig_mod.model.bert.")),
            ("BertModel", prefix("encoder.")),
            ("BertModel", prefix("question_encoder.bert_model.")),
            ("BertModel", compile_layers),
            ("BertForMaskedLM", prefix("model.")),
            ("BertForSequenceClassification", prefix("_forward_module.model.")),
            ("BertForSequenceClassification", train_classifier_with_peft),
            ("GPT2LMHeadModel", prefix("_fsdp_wrapped_module.")),
            ("T5ForConditionalGeneration", prefix("model.")),
            ("LlamaForCausalLM", prefix("base_model.model.")),
        ],
    )
    def test_the_model_computes_the_same(
        self, tmp_path: Path, class_name: str, rename: Callable[[str], str]
    ) -> None:
        saved = save_model(tmp_path, class_name)
        tensors = read_tensors(tmp_path)
        write_tensors(tmp_path, {rename(name): tensor for name, tensor in tensors.items()})
        ids = torch.arange(5)[None]
        inputs: dict[str, Any] = {"input_ids": ids}
        if class_name.startswith("T5"):
            inputs["decoder_input_ids"] = ids
        for offload in (False, True):
            model = bertviewer.open(tmp_path, offload=offload).loaded
            with torch.no_grad():
                found = model.module(random_weights=False)(**inputs)[0]
                assert torch.equal(found, saved(**inputs)[0])
        assert model.architecture.root.class_name == class_name
        assert not model.architecture.source.random_tensors
        keys = report_of(model)
        assert not keys.unexpected
        changed = {rename(name): name for name in tensors if rename(name) != name}
        assert changed.items() <= keys.renamed.items()
        key, name = next(iter(changed.items()))
        stored = model.stored(name)
        assert stored is not None
        assert stored.name == key

    def test_other_modules_of_a_sentence_transformer_are_unexpected(self, tmp_path: Path) -> None:
        save_model(tmp_path, "BertModel")
        tensors = {f"0.auto_model.{n}": t for n, t in read_tensors(tmp_path).items()}
        write_tensors(tmp_path, {**tensors, "2.linear.weight": torch.zeros(4, 16)})
        found = report(tmp_path)
        assert found.unexpected == ("2.linear.weight",)
        assert not found.missing

    def test_a_part_of_another_model_is_unexpected(self, tmp_path: Path) -> None:
        save_model(tmp_path, "BertModel")
        tensors = {n: t for n, t in read_tensors(tmp_path).items() if "pooler" not in n}
        write_tensors(tmp_path, {**tensors, "classifier.pooler.dense.bias": torch.zeros(16)})
        found = report(tmp_path)
        assert found.missing == ("pooler.dense.weight", "pooler.dense.bias")
        assert found.unexpected == ("classifier.pooler.dense.bias",)

    def test_two_models_in_one_file_are_refused(self, tmp_path: Path) -> None:
        save_model(tmp_path, "BertModel")
        tensors = read_tensors(tmp_path)
        both = {
            f"{who}.{n}": t.clone() for who in ("teacher", "student") for n, t in tensors.items()
        }
        write_tensors(tmp_path, both)
        with pytest.raises(UserError, match=r"several models of this architecture \('.*\.', '.*"):
            opened(tmp_path)
