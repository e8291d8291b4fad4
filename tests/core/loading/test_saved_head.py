"""The task ``auto``: the head that a checkpoint was saved with."""

from pathlib import Path

import pytest
import torch

import bertviewer
from bertviewer.core.building.backend import seeded, transformers
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from tests.core.loading.tiny_models import (
    SIZES,
    change_config,
    opened,
    read_tensors,
    save_model,
    write_tensors,
)
from tests.core.tokenization.small_tokenizers import write_tokenizer


@pytest.mark.parametrize(
    ("class_name", "task"),
    [
        ("BertModel", "base"),
        ("BertForMaskedLM", "masked-lm"),
        ("BertForPreTraining", "pretraining"),
        ("BertLMHeadModel", "causal-lm"),
        ("BertForSequenceClassification", "sequence-classification"),
        ("BertForNextSentencePrediction", "next-sentence"),
        ("DistilBertForQuestionAnswering", "question-answering"),
        ("RobertaForTokenClassification", "token-classification"),
        ("ElectraForPreTraining", "pretraining"),
        ("GPT2LMHeadModel", "causal-lm"),
        ("LlamaForCausalLM", "causal-lm"),
        ("T5ForConditionalGeneration", "pretraining"),
        ("T5EncoderModel", "base"),
        ("MT5ForConditionalGeneration", "pretraining"),
        ("MarianMTModel", "pretraining"),
        ("M2M100ForConditionalGeneration", "pretraining"),
        ("BartForConditionalGeneration", "masked-lm"),
    ],
)
def test_a_saved_model_opens_as_what_it_is(tmp_path: Path, class_name: str, task: str) -> None:
    saved = save_model(tmp_path, class_name)
    model = opened(tmp_path)
    source, root = model.architecture.source, model.architecture.root
    assert (root.class_name, source.task, model.source.task.name) == (class_name, task, task)
    assert root.parameters == sum(p.numel() for p in saved.parameters())
    assert source.random_tensors == source.notices == ()


def test_two_models_joined_to_one_run_as_transformers_runs_them(tmp_path: Path) -> None:
    sizes = {**SIZES["bert"], "vocab_size": 120, "initializer_range": 0.5}
    parts = (
        transformers.BertConfig(**sizes),
        transformers.BertConfig(**sizes, is_decoder=True, add_cross_attention=True),
    )
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(*parts)
    config.decoder_start_token_id, config.pad_token_id = 2, 0
    with seeded(1):
        saved = transformers.EncoderDecoderModel(config).eval()
    saved.save_pretrained(tmp_path)
    write_tokenizer("bert", tmp_path)
    model = bertviewer.open(tmp_path)
    run = model.run("abc")
    ids = [
        torch.tensor([[token["id"] for token in run.tokens if token["segment"] == segment]])
        for segment in (0, 1)
    ]
    with torch.no_grad():
        expected = saved(input_ids=ids[0], decoder_input_ids=ids[1], use_cache=False).logits
    assert torch.allclose(torch.from_numpy(run.values().gave["logits"]), expected, atol=1e-5)
    assert model.architecture.root.parameters == sum(p.numel() for p in saved.parameters())


def test_another_head_can_still_be_asked_for(tmp_path: Path) -> None:
    save_model(tmp_path, "BertForMaskedLM")
    assert opened(tmp_path, "base").architecture.root.class_name == "BertModel"
    assert bertviewer.open(tmp_path, task="base").task == "base"
    assert bertviewer.open(tmp_path).task == "masked-lm"


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("BertForMultipleChoice", "config.json names BertForMultipleChoice, which is not one of"),
        ("RobertaForMaskedLM", "RobertaForMaskedLM, which is not one of the heads"),
        ("NoSuchThing", "can be opened for model type 'bert'"),
        ("BertForSequenceClassification", "lacks tensors of that head (classifier.weight)"),
    ],
)
def test_what_is_not_there_is_the_base_model_and_says_so(
    tmp_path: Path, named: str, says: str
) -> None:
    save_model(tmp_path, "BertForMaskedLM")
    change_config(tmp_path, architectures=[named])
    model = opened(tmp_path)
    (notice,) = model.architecture.source.notices
    assert says in notice
    assert notice.endswith("BertModel is shown without a head.")
    assert model.architecture.root.class_name == "BertModel"


def test_a_head_of_another_size_is_left_out(tmp_path: Path) -> None:
    save_model(tmp_path, "BertForSequenceClassification", num_labels=3)
    change_config(tmp_path, id2label=None, label2id=None)
    model = opened(tmp_path)
    (notice,) = model.architecture.source.notices
    assert "classifier.weight has the shape [3, 16], but the configuration requires [2," in notice
    assert model.architecture.root.class_name == "BertModel"


@pytest.mark.parametrize("named", [None, [], [3], "BertForMaskedLM", [""], ["a b"]])
def test_without_a_name_it_is_the_base_model(tmp_path: Path, named: object) -> None:
    save_model(tmp_path, "BertForMaskedLM")
    change_config(tmp_path, architectures=named)
    assert opened(tmp_path).architecture.source.task == "base"


def test_a_head_without_its_pooler_keeps_the_head(tmp_path: Path) -> None:
    save_model(tmp_path, "BertForSequenceClassification")
    kept = {n: t for n, t in read_tensors(tmp_path).items() if "pooler" not in n}
    write_tensors(tmp_path, kept)
    source = opened(tmp_path).architecture.source
    assert source.task == "sequence-classification"
    assert len(source.random_tensors) == 2


def test_configurations_alone_are_base_models(tmp_path: Path) -> None:
    save_model(tmp_path, "BertForMaskedLM")
    assert parse_source(str(tmp_path / "config.json")).task.name == "base"
    assert {parse_source(name).task.name for name in preset_names()} == {"base"}
    (tmp_path / "model.safetensors").unlink()
    assert opened(tmp_path).architecture.root.class_name == "BertModel"


def test_it_is_the_same_when_it_was_seen_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BERTVIEWER_NO_CACHE", raising=False)
    save_model(tmp_path, "BertForMaskedLM")
    change_config(tmp_path, architectures=["BertForMultipleChoice"], hidden_dropout_prob=0.3)
    first, second = opened(tmp_path), opened(tmp_path)
    assert first.config is not None
    assert second.config is None
    assert first.architecture.source == second.architecture.source


def test_two_models_of_different_heads_are_compared_without_them(tmp_path: Path) -> None:
    folders = [tmp_path / "left", tmp_path / "right"]
    save_model(folders[0], "BertForMaskedLM")
    save_model(folders[1], "BertForSequenceClassification")
    found = bertviewer.compare(folders[0], folders[1])
    assert isinstance(found, bertviewer.Comparison)
    rows = found.tensors()
    assert {row["name"] for row in rows if row["state"] == "only left"} == set()
    assert {row["name"] for row in rows} == {
        name for name, _ in transformers.BertModel.from_pretrained(folders[1]).named_parameters()
    }
    left = bertviewer.open(folders[0])
    names = [row["name"] for row in bertviewer.compare(left, folders[1]).tensors()]
    assert "cls.predictions.bias" in names
