"""Tensors that a class ties and a checkpoint stores with different values."""

from pathlib import Path
from typing import Any

import pytest
import torch

import bertviewer
from bertviewer.core.building.backend import transformers
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from tests.core.loading.tiny_models import (
    VOCABULARY,
    WIDTH,
    change_config,
    opened,
    read_tensors,
    save_model,
    write_tensors,
)
from tests.core.saved_runs.saved_runs import run_file, write

HEADS = [
    ("T5ForConditionalGeneration", "lm_head.weight"),
    ("GPT2LMHeadModel", "lm_head.weight"),
    ("BertForMaskedLM", "cls.predictions.decoder.weight"),
    ("BertForMaskedLM", "cls.predictions.decoder.bias"),
    ("AlbertForMaskedLM", "predictions.decoder.weight"),
    ("BartForConditionalGeneration", "lm_head.weight"),
    ("BartForConditionalGeneration", "model.decoder.embed_tokens.weight"),
    ("ElectraForMaskedLM", "generator_lm_head.weight"),
    ("DistilBertForMaskedLM", "vocab_projector.weight"),
]


def other(name: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    shape = (VOCABULARY,) if name.endswith("bias") else (VOCABULARY, WIDTH)
    return torch.randn(shape, generator=generator)


def ties(model: LoadedModel) -> set[tuple[str, str]]:
    return {(t.name, t.tied_to) for t in model.architecture.parameters if t.tied_to is not None}


def ties_of(module: Any) -> set[tuple[str, str]]:
    """Return the ties of a module in memory."""
    firsts: dict[int, str] = {}
    named = module.named_parameters(remove_duplicate=False)
    pairs = [(name, firsts.setdefault(id(tensor), name)) for name, tensor in named]
    return {(name, first) for name, first in pairs if name != first}


def ties_by_transformers(folder: Path, class_name: str) -> set[tuple[str, str]]:
    return ties_of(getattr(transformers, class_name).from_pretrained(folder))


@pytest.mark.parametrize(("class_name", "name"), HEADS)
def test_another_value_is_not_tied(tmp_path: Path, class_name: str, name: str) -> None:
    save_model(tmp_path, class_name)
    before = opened(tmp_path)
    write_tensors(tmp_path, {**read_tensors(tmp_path), name: other(name)})
    model = opened(tmp_path)
    assert ties(model) == ties_by_transformers(tmp_path, class_name)
    assert ties(model) != ties(before)
    more = model.architecture.root.parameters - before.architecture.root.parameters
    assert more == other(name).numel()
    assert not model.architecture.source.random_tensors
    assert model.load_report is not None
    assert model.load_report.untied == (name,)
    assert f"  {name}" in model.load_report.lines()


@pytest.mark.parametrize("class_name", ["BertForMaskedLM", "T5ForConditionalGeneration"])
def test_an_equal_value_is_tied_though_it_is_stored_twice(tmp_path: Path, class_name: str) -> None:
    module = save_model(tmp_path, class_name)
    before = opened(tmp_path)
    write_tensors(tmp_path, {n: t.clone() for n, t in module.state_dict().items()})
    model = opened(tmp_path)
    assert ties(model) == ties(before) == ties_by_transformers(tmp_path, class_name)
    assert model.load_report is not None
    assert model.load_report.stored_twice


@pytest.mark.parametrize(
    ("dtype", "step", "is_tied"),
    [
        ("bfloat16", 1e-4, True),
        ("float16", 1e-5, True),
        ("float32", 1e-4, False),
        ("bfloat16", 1e-2, False),
    ],
)
def test_values_are_compared_in_the_dtype_that_they_are_loaded_in(
    tmp_path: Path, dtype: str, step: float, *, is_tied: bool
) -> None:
    save_model(tmp_path, "GPT2LMHeadModel")
    tensors = read_tensors(tmp_path)
    words = tensors["transformer.wte.weight"].bfloat16().float()
    tensors |= {"transformer.wte.weight": words, "lm_head.weight": words * (1 + step)}
    write_tensors(tmp_path, tensors)
    change_config(tmp_path, dtype=dtype)
    found = ties(opened(tmp_path))
    assert found == ties_by_transformers(tmp_path, "GPT2LMHeadModel")
    assert bool(found) == is_tied


def test_of_three_the_first_stored_one_is_what_others_are_compared_with(tmp_path: Path) -> None:
    save_model(tmp_path, "BartForConditionalGeneration")
    tensors = read_tensors(tmp_path)
    own = {"lm_head.weight": tensors.pop("model.shared.weight")}
    own["model.encoder.embed_tokens.weight"] = other("weight")
    write_tensors(tmp_path, {**tensors, **own})
    found = ties(opened(tmp_path))
    assert found == ties_by_transformers(tmp_path, "BartForConditionalGeneration")


def test_formulas_and_costs_count_the_untied_tensor(tmp_path: Path) -> None:
    save_model(tmp_path, "BertForMaskedLM")
    name = "cls.predictions.decoder.weight"
    write_tensors(tmp_path, {**read_tensors(tmp_path), name: other(name)})
    model = opened(tmp_path)
    root = model.with_counts().root
    values = {symbol.name: symbol.value for symbol in model.architecture.symbols}
    assert eval(root.count_formula, {}, values) == root.parameters
    assert root.count_formula.count("V*D") == 2
    assert model.stored(name) != model.stored("bert.embeddings.word_embeddings.weight")


def test_it_is_the_same_when_it_was_seen_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BERTVIEWER_NO_CACHE", raising=False)
    name = "cls.predictions.decoder.weight"
    module = save_model(tmp_path, "BertForMaskedLM")
    tensors = {n: t.clone() for n, t in module.state_dict().items()}
    write_tensors(tmp_path, tensors)
    counts = []
    for values in (tensors[name], other(name), tensors[name], other(name)):
        write_tensors(tmp_path, {**tensors, name: values})
        counts.append(opened(tmp_path).architecture.root.parameters)
    assert counts[0] == counts[2]
    assert counts[1] == counts[3] == counts[0] + other(name).numel()


@pytest.mark.parametrize("class_name", ["BertForMaskedLM", "GPT2LMHeadModel"])
def test_layer_by_layer_it_is_what_it_is_in_memory(tmp_path: Path, class_name: str) -> None:
    save_model(tmp_path, class_name)
    name = next(name for known, name in HEADS if known == class_name)
    write_tensors(tmp_path, {**read_tensors(tmp_path), name: other(name)})
    ids = torch.arange(6)[None]
    models = [bertviewer.open(tmp_path, offload=offload).loaded for offload in (False, True)]
    with torch.no_grad():
        whole, read = (model.module(random_weights=False)(input_ids=ids).logits for model in models)
    assert torch.equal(whole, read)


def test_a_comparison_has_the_tensor_that_only_one_ties(tmp_path: Path) -> None:
    name = "cls.predictions.decoder.weight"
    folders = [tmp_path / "left", tmp_path / "right"]
    for folder in folders:
        save_model(folder, "BertForMaskedLM")
    write_tensors(folders[1], {**read_tensors(folders[1]), name: other(name)})
    found = bertviewer.compare(folders[0], folders[1])
    assert isinstance(found, bertviewer.Comparison)
    rows = found.tensors()
    assert [row["name"] for row in rows if row["state"] != "same"] == [name]


def test_t5_with_an_output_layer_of_its_own(tmp_path: Path) -> None:
    model = save_model(tmp_path, "T5ForConditionalGeneration")
    tensors = {n: t.clone() for n, t in model.state_dict().items() if "embed_tokens" not in n}
    write_tensors(tmp_path, {**tensors, "lm_head.weight": other("lm_head.weight")})
    change_config(tmp_path, tie_word_embeddings=False)
    found = opened(tmp_path)
    assert found.source.task.name == "pretraining"
    real = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path)
    assert found.architecture.root.parameters == sum(p.numel() for p in real.parameters())


def test_a_file_of_runs_keeps_what_is_not_tied(tmp_path: Path) -> None:
    save_model(tmp_path / "model", "BertForMaskedLM")
    tensors = read_tensors(tmp_path / "model")
    name = "cls.predictions.decoder.weight"
    write_tensors(tmp_path / "model", {**tensors, name: other(name)})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrs"]
    (tmp_path / "model" / "vocab.txt").write_text("\n".join(words) + "\n")
    model = opened(tmp_path / "model")
    write(tmp_path / "a.bertviewer", run_file(model, run_sentence(model, Sentence("a b c"))))
    again = opened(tmp_path / "a.bertviewer")
    assert again.source.task.name == "masked-lm"
    assert ties(again) == ties(model)
    assert name not in {tied for tied, _ in ties(again)}
