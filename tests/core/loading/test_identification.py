"""A bare file of a BERT opens as the model that it is; anything else is not taken for one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace
from safetensors.torch import save_file

from bertviewer.core.building.backend import transformers
from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.loading.identification import configuration_from_weights
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report import summary

SIZES = {
    "vocab_size": 90,
    "hidden_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 192,
    "max_position_embeddings": 34,
    "type_vocab_size": 2,
}
ROBERTA = {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
ELECTRA = {**SIZES, "embedding_size": 64}
DISTILBERT = {
    "vocab_size": 90,
    "dim": 128,
    "n_layers": 3,
    "n_heads": 2,
    "hidden_dim": 192,
    "max_position_embeddings": 34,
}

Tensors = dict[str, torch.Tensor]


def tensors_of(model: Any) -> Tensors:
    """Return a model's tensors under their names, each with memory of its own."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def build(name: str, sizes: Mapping[str, Any], **more: Any) -> Any:
    """Return a small model of transformers' class ``name``."""
    cls = getattr(transformers, name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return cls(cls.config_class(**sizes, **more)).eval()


def saved(tensors: Tensors, tmp_path: Path, name: str = "bare.safetensors") -> Path:
    folder = tmp_path / "alone"
    folder.mkdir(exist_ok=True)
    save_file(tensors, folder / name, {"format": "pt"})
    return folder / name


def checkpoint(tensors: Tensors, tmp_path: Path) -> Checkpoint:
    found = find_checkpoint(saved(tensors, tmp_path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "sizes", "model_type"),
    [
        ("BertModel", SIZES, "bert"),
        ("BertForMaskedLM", SIZES, "bert"),
        ("BertForPreTraining", SIZES, "bert"),
        ("BertForQuestionAnswering", SIZES, "bert"),
        ("BertForTokenClassification", SIZES, "bert"),
        ("RobertaModel", ROBERTA, "roberta"),
        ("RobertaForMaskedLM", ROBERTA, "roberta"),
        ("ElectraModel", ELECTRA, "electra"),
        ("ElectraForPreTraining", SIZES, "electra"),
        ("ElectraForMaskedLM", ELECTRA, "electra"),
        ("DistilBertModel", DISTILBERT, "distilbert"),
        ("DistilBertForMaskedLM", DISTILBERT, "distilbert"),
        ("DistilBertForQuestionAnswering", DISTILBERT, "distilbert"),
    ],
)
def test_the_sizes_are_read_off(
    name: str, sizes: Mapping[str, Any], model_type: str, tmp_path: Path
) -> None:
    model = build(name, sizes)
    found = configuration_from_weights(checkpoint(tensors_of(model), tmp_path), "bare.safetensors")
    assert found is not None
    config, guess = found
    assert config["model_type"] == model_type
    theirs = model.config.to_dict()
    assert {key: config[key] for key in sizes} == {key: theirs[key] for key in sizes}
    activation = "activation" if model_type == "distilbert" else "hidden_act"
    assert config[activation] == theirs[activation]
    assert "2 heads of 64 columns, the activation function gelu" in guess


def test_the_labels_are_read_off(tmp_path: Path) -> None:
    for name, sizes in (
        ("BertForSequenceClassification", SIZES),
        ("RobertaForSequenceClassification", ROBERTA),
        ("ElectraForSequenceClassification", ELECTRA),
        ("DistilBertForSequenceClassification", DISTILBERT),
    ):
        tensors = tensors_of(build(name, sizes, num_labels=5))
        found = configuration_from_weights(checkpoint(tensors, tmp_path), "x")
        assert found is not None
        assert found[0]["num_labels"] == 5


def test_old_names_and_counting_buffers(tmp_path: Path) -> None:
    tensors = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for key, tensor in tensors_of(build("BertForMaskedLM", SIZES)).items()
    }
    tensors["bert.embeddings.position_ids"] = torch.arange(34)[None]
    found = configuration_from_weights(checkpoint(tensors, tmp_path), "x")
    assert found is not None
    assert (found[0]["model_type"], found[0]["num_hidden_layers"]) == ("bert", 3)


@pytest.mark.parametrize(("name", "sizes"), [("BertModel", SIZES), ("DistilBertModel", DISTILBERT)])
def test_it_calculates_what_the_model_did(
    name: str, sizes: Mapping[str, Any], tmp_path: Path, tiny_bert_folder: Path
) -> None:
    model = build(name, {**sizes, "vocab_size": 200})
    file = saved(tensors_of(model), tmp_path)
    # A vocabulary beside it, and no configuration.
    (file.parent / "vocab.txt").write_bytes((tiny_bert_folder / "vocab.txt").read_bytes())
    (file.parent / "tokenizer_config.json").write_bytes(
        (tiny_bert_folder / "tokenizer_config.json").read_bytes()
    )
    opened = open_model(parse_source(str(file)))
    assert type(opened) is LoadedModel
    assert opened.architecture.source.random_tensors == ()
    assert opened.architecture.root.parameters == sum(p.numel() for p in model.parameters())
    run = run_sentence(opened, Sentence("the cat sat"), random_weights=False)
    ids = torch.tensor([[token.id for token in run.tokens]])
    expected = model(ids).last_hidden_state.detach()
    found = opened.module(random_weights=False)(ids).last_hidden_state.detach()
    assert torch.equal(found, expected)


def test_the_guess_is_told(tmp_path: Path) -> None:
    file = saved(tensors_of(build("BertModel", SIZES)), tmp_path)
    architecture = open_model(parse_source(str(file))).architecture
    (notice,) = architecture.source.notices
    assert notice == (
        "bare.safetensors has no config.json, so sizes are read off its tensors. The rest is "
        "guessed, and results are wrong if a guess is: 2 heads of 64 columns, the activation "
        "function gelu, epsilon 1e−12."
    )
    assert notice in summary.text(architecture, None, False)


def test_no_epsilon_is_guessed_where_there_is_only_one(tmp_path: Path) -> None:
    found = configuration_from_weights(
        checkpoint(tensors_of(build("DistilBertModel", DISTILBERT)), tmp_path), "x"
    )
    assert found is not None
    assert found[1].endswith("is: 2 heads of 64 columns, the activation function gelu.")


@pytest.mark.parametrize(
    ("width", "heads"), [(64, 1), (768, 12), (32, 1), (96, 2), (312, 12), (384, 12), (256, 4)]
)
def test_how_many_heads(width: int, heads: int, tmp_path: Path) -> None:
    sizes = {**SIZES, "hidden_size": width, "num_attention_heads": 1, "num_hidden_layers": 1}
    found = configuration_from_weights(
        checkpoint(tensors_of(build("BertModel", sizes)), tmp_path), "x"
    )
    assert found is not None
    assert found[0]["num_attention_heads"] == heads


def changed(base: Checkpoint, name: str, **changes: Any) -> Checkpoint:
    tensor = replace(base.tensors[name], **changes)
    return replace(base, tensors={**base.tensors, name: tensor})


def without(base: Checkpoint, part: str) -> Checkpoint:
    return replace(base, tensors={k: t for k, t in base.tensors.items() if part not in k})


def with_one_more(base: Checkpoint, name: str) -> Checkpoint:
    like = next(iter(base.tensors.values()))
    return replace(base, tensors={**base.tensors, name: replace(like, name=name)})


QUERY = "encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize(
    "change",
    [
        lambda base: without(base, "word_embeddings"),
        lambda base: without(base, "position_embeddings"),
        lambda base: without(base, "encoder.layer.1."),
        lambda base: without(base, "encoder."),
        lambda base: without(base, "attention.output.dense.bias"),
        lambda base: without(base, "pooler.dense.bias"),
        lambda base: changed(base, QUERY, shape=(128, 64)),
        lambda base: changed(base, QUERY, shape=(128,)),
        lambda base: changed(base, "embeddings.word_embeddings.weight", shape=(0, 128)),
        lambda base: changed(base, "embeddings.position_embeddings.weight", shape=(34, 64)),
        lambda base: with_one_more(base, "encoder.layer.0.crossattention.self.query.weight"),
        lambda base: with_one_more(base, "encoder.layer.x.output.dense.weight"),
        lambda base: with_one_more(
            base, "encoder.layer.0.attention.self.distance_embedding.weight"
        ),
        lambda base: with_one_more(base, "embeddings.x_position_embeddings.weight"),
        lambda base: with_one_more(base, "encoder.layer."),
        lambda base: Checkpoint((), {}),
    ],
)
def test_what_is_nearly_a_bert_is_none(
    change: Callable[[Checkpoint], Checkpoint], tmp_path: Path
) -> None:
    base = checkpoint(tensors_of(build("BertModel", SIZES)), tmp_path)
    assert configuration_from_weights(base, "x") is not None
    assert configuration_from_weights(change(base), "x") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda base: without(base, "position_embeddings"),
        lambda base: without(base, "transformer.layer.1."),
        lambda base: without(base, "transformer."),
        lambda base: without(base, "sa_layer_norm.bias"),
        lambda base: changed(base, "transformer.layer.1.ffn.lin2.weight", shape=(128, 64)),
        lambda base: with_one_more(base, "embeddings.token_type_embeddings.weight"),
        lambda base: with_one_more(base, "pooler.dense.weight"),
        lambda base: with_one_more(base, "encoder.layer.0.output.dense.weight"),
    ],
)
def test_what_is_nearly_a_distilbert_is_none(
    change: Callable[[Checkpoint], Checkpoint], tmp_path: Path
) -> None:
    base = checkpoint(tensors_of(build("DistilBertModel", DISTILBERT)), tmp_path)
    assert configuration_from_weights(base, "x") is not None
    assert configuration_from_weights(change(base), "x") is None


def test_a_familys_name_before_anothers_tensors_is_none(tmp_path: Path) -> None:
    for name, sizes, prefix in (
        ("DistilBertModel", DISTILBERT, "bert."),
        ("BertModel", SIZES, "distilbert."),
    ):
        tensors = {prefix + key: tensor for key, tensor in tensors_of(build(name, sizes)).items()}
        assert configuration_from_weights(checkpoint(tensors, tmp_path), "x") is None


@pytest.mark.parametrize(
    "name", ["GPT2Model", "T5Model", "AlbertModel", "MPNetModel", "BartModel", "FlaubertModel"]
)
def test_other_families_are_none(name: str, tmp_path: Path) -> None:
    config = getattr(transformers, name).config_class()
    with torch.device("meta"):
        model = getattr(transformers, name)(config)
    file = tmp_path / "x"
    tensors = {
        key: StoredTensor(key, "F32", tuple(tensor.shape), file, 0, tensor.numel() * 4)
        for key, tensor in model.state_dict().items()
    }
    assert configuration_from_weights(Checkpoint((), tensors), "x") is None
