"""Names that wrappers and training code gave to tensors, and buffers that are no weights."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import bertviewer
from bertviewer.core.util.errors import UserError
from tests.core.loading.tiny_models import (
    Tensors,
    opened,
    read_tensors,
    save_model,
    write_tensors,
)


def behind(prefix: str) -> Callable[[str], str]:
    return lambda name: prefix + name


def compiled_layers(name: str) -> str:
    return name.replace("layer.0.", "layer.0._orig_mod.")


def trained_copy(name: str) -> str:
    """Name tensors as PEFT does where it trains a copy of a module."""
    return "base_model.model." + name.replace("classifier.", "classifier.modules_to_save.default.")


@pytest.mark.parametrize(
    ("class_name", "rename"),
    [
        ("BertModel", behind("module.")),
        ("BertModel", behind("model.")),
        ("BertModel", behind("_orig_mod.")),
        ("BertModel", behind("0.auto_model.")),
        ("BertModel", behind("module._orig_mod.model.bert.")),
        ("BertModel", behind("encoder.")),
        ("BertModel", behind("question_encoder.bert_model.")),
        ("BertModel", compiled_layers),
        ("BertForMaskedLM", behind("model.")),
        ("BertForSequenceClassification", behind("_forward_module.model.")),
        ("BertForSequenceClassification", trained_copy),
        ("DistilBertForQuestionAnswering", behind("module.")),
        ("GPT2LMHeadModel", behind("_fsdp_wrapped_module.")),
        ("T5ForConditionalGeneration", behind("model.")),
        ("LlamaForCausalLM", behind("base_model.model.")),
    ],
)
def test_they_are_mapped_and_reported(
    tmp_path: Path, class_name: str, rename: Callable[[str], str]
) -> None:
    save_model(tmp_path, class_name)
    tensors = read_tensors(tmp_path)
    ids = torch.arange(5)[None]
    more = {"decoder_input_ids": ids} if class_name.startswith("T5") else {}
    with torch.no_grad():
        plain = opened(tmp_path).module(random_weights=False)(input_ids=ids, **more)[0]
        write_tensors(tmp_path, {rename(name): tensor for name, tensor in tensors.items()})
        model = opened(tmp_path)
        assert torch.equal(model.module(random_weights=False)(input_ids=ids, **more)[0], plain)
    assert model.architecture.root.class_name == class_name
    assert not model.architecture.source.random_tensors
    assert model.load_report is not None
    assert not model.load_report.unexpected
    changed = {rename(name): name for name in tensors if rename(name) != name}
    assert changed.items() <= model.load_report.renamed.items()
    name, key = next(iter(changed.values())), next(iter(changed))
    stored = model.stored(name)
    assert stored is not None
    assert stored.name == key


def test_layer_by_layer_they_are_mapped_too(tmp_path: Path) -> None:
    save_model(tmp_path, "BertModel")
    write_tensors(tmp_path, {f"module.{name}": t for name, t in read_tensors(tmp_path).items()})
    ids = torch.arange(5)[None]
    with torch.no_grad():
        whole, read = (
            bertviewer.open(tmp_path, offload=offload).loaded.module(False)(ids)[0]
            for offload in (False, True)
        )
    assert torch.equal(whole, read)


def test_a_sentence_transformer_with_more_modules(tmp_path: Path) -> None:
    save_model(tmp_path, "BertModel")
    tensors: Tensors = {f"0.auto_model.{n}": t for n, t in read_tensors(tmp_path).items()}
    write_tensors(tmp_path, {**tensors, "2.linear.weight": torch.zeros(4, 16)})
    model = opened(tmp_path)
    assert model.load_report is not None
    assert model.load_report.unexpected == ("2.linear.weight",)
    assert not model.load_report.missing


def test_a_part_of_another_model_is_not_taken_for_a_tensor(tmp_path: Path) -> None:
    save_model(tmp_path, "BertModel")
    tensors = {n: t for n, t in read_tensors(tmp_path).items() if "pooler" not in n}
    write_tensors(tmp_path, {**tensors, "classifier.pooler.dense.bias": torch.zeros(16)})
    model = opened(tmp_path)
    assert model.load_report is not None
    assert model.load_report.missing == ("pooler.dense.weight", "pooler.dense.bias")
    assert model.load_report.unexpected == ("classifier.pooler.dense.bias",)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("embeddings.position_ids", torch.arange(512)[None]),
        ("embeddings.token_type_ids", torch.zeros(1, 512, dtype=torch.int64)),
        ("bert.embeddings.position_ids", torch.arange(12)[None]),
        ("module.bert.embeddings.position_ids", torch.arange(7)),
    ],
)
def test_buffers_that_are_computed_are_no_weights(
    tmp_path: Path, key: str, value: torch.Tensor
) -> None:
    save_model(tmp_path, "BertModel")
    write_tensors(tmp_path, {**read_tensors(tmp_path), key: value})
    model = opened(tmp_path)
    model.module(random_weights=False)
    assert model.load_report is not None
    assert model.load_report.buffers == (key,)
    assert not model.load_report.unexpected
    assert not model.load_report.renamed


def test_other_whole_numbers_are_still_unexpected(tmp_path: Path) -> None:
    save_model(tmp_path, "BertModel")
    write_tensors(tmp_path, {**read_tensors(tmp_path), "qweight": torch.zeros(3, dtype=torch.int8)})
    model = opened(tmp_path)
    assert model.load_report is not None
    assert model.load_report.unexpected == ("qweight",)


def test_a_rotary_frequency_of_every_layer_is_no_weight(tmp_path: Path) -> None:
    save_model(tmp_path, "LlamaForCausalLM")
    key = "model.layers.0.self_attn.rotary_emb.inv_freq"
    write_tensors(tmp_path, {**read_tensors(tmp_path), key: torch.ones(4)})
    model = opened(tmp_path)
    assert model.load_report is not None
    assert model.load_report.buffers == (key,)


def test_positions_that_are_computed_are_not_random(tmp_path: Path) -> None:
    save_model(tmp_path, "MarianMTModel")
    model = opened(tmp_path, "base")
    model.module(random_weights=False)
    assert model.architecture.source.random_tensors == ()


def test_of_two_models_in_one_file_none_is_chosen(tmp_path: Path) -> None:
    save_model(tmp_path, "BertModel")
    tensors = read_tensors(tmp_path)
    both = {f"{who}.{n}": t.clone() for who in ("teacher", "student") for n, t in tensors.items()}
    write_tensors(tmp_path, both)
    with pytest.raises(UserError, match=r"several models of this architecture \('.*\.', '.*\.'\)"):
        opened(tmp_path)
