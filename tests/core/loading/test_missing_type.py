"""A config.json that does not say which model it is of is at least as good as none."""

import json
from pathlib import Path

import pytest

import bertviewer
from tests.core.loading.tiny_models import (
    change_config,
    opened,
    read_tensors,
    save_model,
    write_tensors,
)


@pytest.mark.parametrize(
    "class_name", ["GPT2LMHeadModel", "T5ForConditionalGeneration", "AlbertForMaskedLM"]
)
def test_its_class_says_it(tmp_path: Path, class_name: str) -> None:
    saved = save_model(tmp_path, class_name)
    change_config(tmp_path, model_type=None)
    model = opened(tmp_path)
    assert model.architecture.root.class_name == class_name
    assert model.architecture.root.parameters == sum(p.numel() for p in saved.parameters())


@pytest.mark.parametrize("class_name", ["BertModel", "RobertaForMaskedLM", "DistilBertForMaskedLM"])
def test_else_its_tensors_do_and_its_values_are_kept(tmp_path: Path, class_name: str) -> None:
    save_model(tmp_path, class_name)
    change_config(tmp_path, model_type=None, architectures=None)
    architecture = opened(tmp_path).architecture
    config = architecture.config
    assert config["model_type"] == class_name.partition("For")[0].lower().removesuffix("model")
    # Its tensors alone would be taken for one head of 16 columns.
    assert config.get("num_attention_heads", config.get("n_heads")) == 2
    assert not architecture.source.notices


def test_a_type_that_transformers_does_not_have_shows_the_tensors(tmp_path: Path) -> None:
    save_model(tmp_path, "BertForMaskedLM")
    change_config(tmp_path, model_type="of_my_own")
    for task in ("auto", "masked-lm"):
        model = bertviewer.open(tmp_path, task=task)
        assert model.architecture.root.class_name == "Checkpoint"
        with pytest.raises(bertviewer.Error, match="model_type that transformers knows"):
            model.run("a")
    with pytest.raises(bertviewer.Error, match="'of_my_own' is unknown to transformers"):
        bertviewer.open(tmp_path / "config.json")


def test_what_neither_tells_is_guessed_and_said(tmp_path: Path) -> None:
    save_model(tmp_path, "BertModel")
    (tmp_path / "config.json").write_text(json.dumps({"num_attention_heads": 4}))
    (note,) = opened(tmp_path).architecture.source.notices
    assert "has a config.json without model_type" in note
    assert "heads" not in note
    assert "the activation function gelu, epsilon" in note


def test_names_with_prefixes_tell_a_model_too(tmp_path: Path) -> None:
    save_model(tmp_path, "BertForSequenceClassification", num_labels=3)
    tensors = read_tensors(tmp_path)
    (tmp_path / "config.json").unlink()
    for prefix in ("module.", "0.auto_model.", "model._orig_mod.", ""):
        write_tensors(tmp_path, {prefix + name: tensor for name, tensor in tensors.items()})
        config = opened(tmp_path).architecture.config
        assert (config["model_type"], len(config["id2label"])) == ("bert", 3)


def test_without_weights_it_is_refused_with_what_to_add(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"hidden_size": 16}')
    with pytest.raises(bertviewer.Error, match='add it, for example "model_type": "bert"'):
        bertviewer.open(tmp_path)


def test_unknown_tensors_are_shown_by_their_names(tmp_path: Path) -> None:
    save_model(tmp_path, "GPT2LMHeadModel")
    change_config(tmp_path, model_type=None, architectures=None)
    assert opened(tmp_path).architecture.root.class_name == "Checkpoint"
