"""Tied tensors stay tied only if their stored values are equal, as in transformers."""

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
    tensors_of,
    write_tensors,
)
from tests.core.saved_runs.saved_runs import run_file, write

DECODER = "cls.predictions.decoder.weight"
Ties = set[tuple[str, str]]


def other_values(name: str) -> torch.Tensor:
    shape = (VOCABULARY,) if name.endswith("bias") else (VOCABULARY, WIDTH)
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def save_untied(folder: Path, class_name: str = "BertForMaskedLM", name: str = DECODER) -> None:
    """Save a model in which a tied tensor has other values."""
    save_model(folder, class_name)
    write_tensors(folder, {**read_tensors(folder), name: other_values(name)})


def ties(model: LoadedModel) -> Ties:
    return {(t.name, t.tied_to) for t in model.architecture.parameters if t.tied_to is not None}


def ties_by_transformers(folder: Path, class_name: str) -> Ties:
    module: Any = getattr(transformers, class_name).from_pretrained(folder)
    first_names: dict[int, str] = {}
    named = module.named_parameters(remove_duplicate=False)
    pairs = [(name, first_names.setdefault(id(tensor), name)) for name, tensor in named]
    return {(name, first) for name, first in pairs if name != first}


@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("T5ForConditionalGeneration", "lm_head.weight"),
        ("GPT2LMHeadModel", "lm_head.weight"),
        ("BertForMaskedLM", DECODER),
        ("BertForMaskedLM", "cls.predictions.decoder.bias"),
        ("BartForConditionalGeneration", "lm_head.weight"),
        ("BartForConditionalGeneration", "model.decoder.embed_tokens.weight"),
        ("ElectraForMaskedLM", "generator_lm_head.weight"),
    ],
)
def test_different_values_are_not_tied(tmp_path: Path, class_name: str, name: str) -> None:
    save_model(tmp_path, class_name)
    tied = opened(tmp_path)
    save_untied(tmp_path, class_name, name)
    model = opened(tmp_path)
    assert ties(model) == ties_by_transformers(tmp_path, class_name) != ties(tied)
    more = model.architecture.root.parameters - tied.architecture.root.parameters
    assert more == other_values(name).numel()
    assert not model.architecture.source.random_tensors
    assert model.load_report is not None
    assert model.load_report.untied == (name,)
    assert f"  {name}" in model.load_report.lines()


@pytest.mark.parametrize("class_name", ["BertForMaskedLM", "T5ForConditionalGeneration"])
def test_equal_values_are_tied(tmp_path: Path, class_name: str) -> None:
    saved = save_model(tmp_path, class_name)
    tied = ties(opened(tmp_path))
    write_tensors(tmp_path, tensors_of(saved))
    model = opened(tmp_path)
    assert ties(model) == tied == ties_by_transformers(tmp_path, class_name)
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
def test_values_are_compared_in_the_dtype_of_the_model(
    tmp_path: Path, dtype: str, step: float, *, is_tied: bool
) -> None:
    save_model(tmp_path, "GPT2LMHeadModel")
    tensors = read_tensors(tmp_path)
    table = tensors["transformer.wte.weight"].bfloat16().float()
    tensors |= {"transformer.wte.weight": table, "lm_head.weight": table * (1 + step)}
    write_tensors(tmp_path, tensors)
    change_config(tmp_path, dtype=dtype)
    found = ties(opened(tmp_path))
    assert found == ties_by_transformers(tmp_path, "GPT2LMHeadModel")
    assert bool(found) == is_tied


def test_of_three_tensors_the_first_stored_one_is_compared(tmp_path: Path) -> None:
    save_model(tmp_path, "BartForConditionalGeneration")
    tensors = read_tensors(tmp_path)
    tensors["lm_head.weight"] = tensors.pop("model.shared.weight")
    tensors["model.encoder.embed_tokens.weight"] = other_values("weight")
    write_tensors(tmp_path, tensors)
    found = ties(opened(tmp_path))
    assert found == ties_by_transformers(tmp_path, "BartForConditionalGeneration")


def test_the_configuration_may_untie(tmp_path: Path) -> None:
    saved = save_model(tmp_path, "T5ForConditionalGeneration")
    tensors = {n: t for n, t in tensors_of(saved).items() if "embed_tokens" not in n}
    write_tensors(tmp_path, {**tensors, "lm_head.weight": other_values("lm_head.weight")})
    change_config(tmp_path, tie_word_embeddings=False)
    expected = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path)
    found = opened(tmp_path).architecture.root.parameters
    assert found == sum(p.numel() for p in expected.parameters())


def test_formulas_count_an_untied_tensor(tmp_path: Path) -> None:
    save_untied(tmp_path)
    model = opened(tmp_path)
    root = model.with_counts().root
    values = {symbol.name: symbol.value for symbol in model.architecture.symbols}
    assert eval(root.count_formula, {}, values) == root.parameters
    assert root.count_formula.count("V*D") == 2
    assert model.stored(DECODER) != model.stored("bert.embeddings.word_embeddings.weight")


def test_cached_models_are_tied_by_their_values(tmp_path: Path) -> None:
    saved = save_model(tmp_path, "BertForMaskedLM")
    tensors = tensors_of(saved)
    counts = []
    for values in (tensors[DECODER], other_values(DECODER)) * 2:
        write_tensors(tmp_path, {**tensors, DECODER: values})
        counts.append(opened(tmp_path).architecture.root.parameters)
    assert counts[0] == counts[2]
    assert counts[1] == counts[3] == counts[0] + other_values(DECODER).numel()


def test_a_comparison_has_a_tensor_that_only_one_model_ties(tmp_path: Path) -> None:
    save_model(tmp_path / "left", "BertForMaskedLM")
    save_untied(tmp_path / "right")
    found = bertviewer.compare(tmp_path / "left", tmp_path / "right")
    assert isinstance(found, bertviewer.Comparison)
    assert [row["name"] for row in found.tensors() if row["state"] != "same"] == [DECODER]


def test_saved_runs_keep_untied_tensors(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_untied(folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrs"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    model = opened(folder)
    write(tmp_path / "a.bertviewer", run_file(model, run_sentence(model, Sentence("a b c"))))
    reopened = opened(tmp_path / "a.bertviewer")
    assert reopened.source.task.name == "masked-lm"
    assert ties(reopened) == ties(model)
    assert DECODER not in {name for name, _ in ties(reopened)}
