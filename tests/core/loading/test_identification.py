"""Which model a checkpoint is: by its configuration, or by the names and shapes of its tensors."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import bertviewer
from bertviewer.core.building.backend import seeded, transformers
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.loading.identification import configuration_from_weights
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from bertviewer.report import summary
from tests.core.loading.tiny_models import (
    SIZES,
    change_config,
    opened,
    read_tensors,
    save_model,
    tensors_of,
    tiny_model,
    write_tensors,
)
from tests.core.tokenization.small_tokenizers import write_tokenizer

Shapes = dict[str, tuple[int, ...]]

BERT = {"hidden_size": 128, "num_hidden_layers": 3, "max_position_embeddings": 34}
ROBERTA = {**BERT, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
ELECTRA = {**BERT, "embedding_size": 64}
DISTILBERT = {"dim": 128, "n_layers": 3, "max_position_embeddings": 34}


def shapes_of(model: Any) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def identify(shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Any], str] | None:
    """Return the configuration and the notice for float32 tensors of these shapes."""
    tensors = {
        name: StoredTensor(name, "F32", shape, Path("x"), 0, 0) for name, shape in shapes.items()
    }
    return configuration_from_weights(Checkpoint((), tensors), "bare.safetensors")


def identified(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    found = identify(shapes)
    assert found is not None
    return found[0]


class TestTensors:
    """The configuration that names and shapes of tensors imply."""

    @pytest.mark.parametrize(
        ("class_name", "sizes", "model_type"),
        [
            ("BertModel", BERT, "bert"),
            ("BertForMaskedLM", BERT, "bert"),
            ("BertForPreTraining", BERT, "bert"),
            ("BertForQuestionAnswering", BERT, "bert"),
            ("RobertaModel", ROBERTA, "roberta"),
            ("RobertaForMaskedLM", ROBERTA, "roberta"),
            ("ElectraModel", ELECTRA, "electra"),
            ("ElectraForPreTraining", {**BERT, "embedding_size": 128}, "electra"),
            ("ElectraForMaskedLM", ELECTRA, "electra"),
            ("DistilBertModel", DISTILBERT, "distilbert"),
            ("DistilBertForQuestionAnswering", DISTILBERT, "distilbert"),
        ],
    )
    def test_sizes(self, class_name: str, sizes: dict[str, Any], model_type: str) -> None:
        model = tiny_model(class_name, **sizes)
        found = identify(shapes_of(model))
        assert found is not None
        config, notice = found
        assert config["model_type"] == model_type
        expected = model.config.to_dict()
        for key in {*SIZES[model_type], *sizes, "hidden_act", "activation"} & expected.keys():
            assert config.get(key) == expected[key], key
        assert "2 heads of 64 columns, the activation function gelu" in notice
        assert ("epsilon" in notice) == (model_type != "distilbert")  # it has no choice

    def test_labels(self) -> None:
        for family in ("Bert", "Roberta", "Electra", "DistilBert"):
            model = tiny_model(f"{family}ForSequenceClassification", num_labels=5)
            assert identified(shapes_of(model))["num_labels"] == 5

    def test_number_of_heads(self) -> None:
        for width, heads in {64: 1, 768: 12, 32: 1, 96: 2, 312: 12, 384: 12, 256: 4}.items():
            model = tiny_model("BertModel", hidden_size=width, num_attention_heads=1)
            assert identified(shapes_of(model))["num_attention_heads"] == heads

    def test_old_names_and_buffers(self) -> None:
        shapes = {
            key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): shape
            for key, shape in shapes_of(tiny_model("BertForMaskedLM", **BERT)).items()
        }
        config = identified(shapes | {"bert.embeddings.position_ids": (1, 34)})
        assert (config["model_type"], config["num_hidden_layers"]) == ("bert", 3)

    def test_prefixes_of_wrappers(self) -> None:
        shapes = shapes_of(tiny_model("BertForSequenceClassification", num_labels=3))
        for prefix in ("module.", "0.auto_model.", "model._orig_mod.", ""):
            config = identified({prefix + name: shape for name, shape in shapes.items()})
            assert (config["model_type"], config["num_labels"]) == ("bert", 3)

    QUERY = "encoder.layer.1.attention.self.query.weight"

    @pytest.mark.parametrize(
        ("class_name", "change"),
        [
            # The tensors with a part in their names are removed.
            *(
                ("BertModel", part)
                for part in ("word_embeddings", "position_embeddings", "encoder.layer.1.",
                             "encoder.", "attention.output.dense.bias", "pooler.dense.bias")
            ),
            *(
                ("DistilBertModel", part)
                for part in ("position_embeddings", "transformer.layer.1.", "transformer.",
                             "sa_layer_norm.bias")
            ),
            # Tensors have another shape, or are added.
            *(
                ("BertModel", {name: shape})
                for name, shape in (
                    (QUERY, (128, 64)),
                    (QUERY, (128,)),
                    ("embeddings.word_embeddings.weight", (0, 128)),
                    ("embeddings.position_embeddings.weight", (34, 64)),
                    ("encoder.layer.0.crossattention.self.query.weight", (128, 128)),
                    ("encoder.layer.x.output.dense.weight", (128, 128)),
                    ("encoder.layer.0.attention.self.distance_embedding.weight", (128, 128)),
                    ("embeddings.x_position_embeddings.weight", (34, 128)),
                    ("encoder.layer.", (128,)),
                )
            ),
            *(
                ("DistilBertModel", {name: shape})
                for name, shape in (
                    ("transformer.layer.1.ffn.lin2.weight", (128, 64)),
                    ("embeddings.token_type_embeddings.weight", (2, 128)),
                    ("pooler.dense.weight", (128, 128)),
                    ("encoder.layer.0.output.dense.weight", (128, 128)),
                )
            ),
        ],
    )  # fmt: skip
    def test_similar_models_are_not_identified(self, class_name: str, change: str | Shapes) -> None:
        shapes = shapes_of(
            tiny_model(class_name, **(BERT if class_name == "BertModel" else DISTILBERT))
        )
        assert identify(shapes) is not None
        if isinstance(change, str):
            changed = {name: shape for name, shape in shapes.items() if change not in name}
        else:
            changed = shapes | change
        assert identify(changed) is None

    def test_the_name_of_another_family_is_not_identified(self) -> None:
        for class_name, prefix in (("DistilBertModel", "bert."), ("BertModel", "distilbert.")):
            shapes = shapes_of(tiny_model(class_name))
            assert identify({prefix + name: shape for name, shape in shapes.items()}) is None
        assert identify({}) is None

    @pytest.mark.parametrize(
        "class_name", ["GPT2Model", "T5Model", "AlbertModel", "MPNetModel", "FlaubertModel"]
    )
    def test_other_families_are_not_identified(self, class_name: str) -> None:
        kind = getattr(transformers, class_name)
        with torch.device("meta"):
            assert identify(shapes_of(kind(kind.config_class()))) is None

    @pytest.mark.parametrize("class_name", ["BertModel", "DistilBertModel"])
    def test_an_identified_model_computes_the_same(
        self, class_name: str, tmp_path: Path, tiny_bert_folder: Path
    ) -> None:
        sizes = {"hidden_size": 128} if class_name == "BertModel" else {"dim": 128}
        model = tiny_model(class_name, vocab_size=200, **sizes)
        write_tensors(tmp_path, tensors_of(model))
        for name in ("vocab.txt", "tokenizer_config.json"):
            shutil.copy(tiny_bert_folder / name, tmp_path)
        loaded = opened(tmp_path / "model.safetensors")
        assert loaded.architecture.source.random_tensors == ()
        assert loaded.architecture.root.parameters == sum(p.numel() for p in model.parameters())
        run = run_sentence(loaded, Sentence("the cat sat"))
        ids = torch.tensor([[token.id for token in run.tokens]])
        with torch.no_grad():
            found = loaded.module(random_weights=False)(ids).last_hidden_state
            assert torch.equal(found, model(ids).last_hidden_state)
        if class_name == "BertModel":
            (notice,) = run.source.notices
            assert notice == (
                "model.safetensors has no config.json, so sizes are read off its tensors. The rest "
                "is guessed, and results are wrong if a guess is: 2 heads of 64 columns, the "
                "activation function gelu, epsilon 1e−12."
            )
            assert notice in summary.text(loaded.architecture, None, False)


class TestMissingType:
    """Configurations without a known ``model_type``."""

    @pytest.mark.parametrize("class_name", ["GPT2LMHeadModel", "T5ForConditionalGeneration"])
    def test_the_class_name_has_the_type(self, tmp_path: Path, class_name: str) -> None:
        saved = save_model(tmp_path, class_name)
        change_config(tmp_path, model_type=None)
        root = opened(tmp_path).architecture.root
        assert root.class_name == class_name
        assert root.parameters == sum(p.numel() for p in saved.parameters())

    @pytest.mark.parametrize(
        "class_name", ["BertModel", "RobertaForMaskedLM", "DistilBertForMaskedLM"]
    )
    def test_the_tensors_have_the_type(self, tmp_path: Path, class_name: str) -> None:
        save_model(tmp_path, class_name)
        change_config(tmp_path, model_type=None, architectures=None)
        architecture = opened(tmp_path).architecture
        config = architecture.config
        assert config["model_type"] == class_name.partition("For")[0].lower().removesuffix("model")
        # From the configuration: by the tensors it would be 1.
        assert config.get("num_attention_heads", config.get("n_heads")) == 2
        assert not architecture.source.notices

    def test_missing_values_are_guessed(self, tmp_path: Path) -> None:
        save_model(tmp_path, "BertModel")
        (tmp_path / "config.json").write_text(json.dumps({"num_attention_heads": 4}))
        (notice,) = opened(tmp_path).architecture.source.notices
        assert "has a config.json without model_type" in notice
        assert "heads" not in notice
        assert "the activation function gelu, epsilon" in notice

    def test_unknown_models_are_shown_by_their_tensors(self, tmp_path: Path) -> None:
        save_model(tmp_path, "GPT2LMHeadModel")
        change_config(tmp_path, model_type=None, architectures=None)
        assert opened(tmp_path).architecture.root.class_name == "Checkpoint"
        change_config(tmp_path, model_type="of_my_own")
        for task in ("auto", "masked-lm"):
            model = bertviewer.open(tmp_path, task=task)
            assert model.architecture.root.class_name == "Checkpoint"
            with pytest.raises(bertviewer.Error, match="model_type that transformers knows"):
                model.run("a")
        with pytest.raises(bertviewer.Error, match="'of_my_own' is unknown to transformers"):
            bertviewer.open(tmp_path / "config.json")

    def test_without_weights_the_type_is_required(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text('{"hidden_size": 16}')
        with pytest.raises(bertviewer.Error, match='add it, for example "model_type": "bert"'):
            bertviewer.open(tmp_path)


class TestSavedHead:
    """The task ``auto``: the head that a checkpoint was saved with."""

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
            ("LlamaForCausalLM", "causal-lm"),
            ("T5ForConditionalGeneration", "pretraining"),
            ("T5EncoderModel", "base"),
            ("MarianMTModel", "pretraining"),
            ("BartForConditionalGeneration", "masked-lm"),
        ],
    )
    def test_a_saved_model_opens_with_its_head(
        self, tmp_path: Path, class_name: str, task: str
    ) -> None:
        saved = save_model(tmp_path, class_name)
        model = opened(tmp_path)
        source, root = model.architecture.source, model.architecture.root
        assert (root.class_name, source.task, model.source.task.name) == (class_name, task, task)
        assert root.parameters == sum(p.numel() for p in saved.parameters())
        assert source.random_tensors == source.notices == ()

    def test_an_encoder_decoder_of_two_models_runs_as_in_transformers(self, tmp_path: Path) -> None:
        sizes = {**SIZES["bert"], "vocab_size": 120, "initializer_range": 0.5}
        config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(
            transformers.BertConfig(**sizes),
            transformers.BertConfig(**sizes, is_decoder=True, add_cross_attention=True),
        )
        config.decoder_start_token_id, config.pad_token_id = 2, 0
        with seeded(1):
            saved = transformers.EncoderDecoderModel(config).eval()
        saved.save_pretrained(tmp_path)
        write_tokenizer("bert", tmp_path)
        model = bertviewer.open(tmp_path)
        run = model.run("abc")
        source, target = (
            torch.tensor([[token["id"] for token in run.tokens if token["segment"] == segment]])
            for segment in (0, 1)
        )
        with torch.no_grad():
            expected = saved(input_ids=source, decoder_input_ids=target, use_cache=False).logits
        assert torch.allclose(torch.from_numpy(run.values().gave["logits"]), expected, atol=1e-5)
        assert model.architecture.root.parameters == sum(p.numel() for p in saved.parameters())

    @pytest.mark.parametrize(
        ("named", "reason"),
        [
            ("BertForMultipleChoice", "BertForMultipleChoice, which is not one of the heads"),
            ("RobertaForMaskedLM", "RobertaForMaskedLM, which is not one of the heads"),
            ("NoSuchThing", "can be opened for model type 'bert'"),
            ("BertForSequenceClassification", "lacks tensors of that head (classifier.weight)"),
        ],
    )
    def test_without_that_head_the_base_model_opens_with_a_notice(
        self, tmp_path: Path, named: str, reason: str
    ) -> None:
        save_model(tmp_path, "BertForMaskedLM")
        change_config(tmp_path, architectures=[named])
        first, cached = opened(tmp_path), opened(tmp_path)
        assert (first.config is None, cached.config is None) == (False, True)
        for model in (first, cached):
            (notice,) = model.architecture.source.notices
            assert reason in notice
            assert notice.endswith("BertModel is shown without a head.")
            assert model.architecture.root.class_name == "BertModel"

    def test_a_head_of_another_size_is_left_out(self, tmp_path: Path) -> None:
        save_model(tmp_path, "BertForSequenceClassification", num_labels=3)
        change_config(tmp_path, id2label=None, label2id=None)
        architecture = opened(tmp_path).architecture
        (notice,) = architecture.source.notices
        assert (
            "classifier.weight has the shape [3, 16], but the configuration requires [2," in notice
        )
        assert architecture.root.class_name == "BertModel"

    @pytest.mark.parametrize("named", [None, [], [3], "BertForMaskedLM", ["a b"]])
    def test_without_a_class_name_the_base_model_opens(self, tmp_path: Path, named: object) -> None:
        save_model(tmp_path, "BertForMaskedLM")
        change_config(tmp_path, architectures=named)
        assert opened(tmp_path).architecture.source.task == "base"

    def test_a_head_without_its_pooler_is_kept(self, tmp_path: Path) -> None:
        save_model(tmp_path, "BertForSequenceClassification")
        kept = {n: t for n, t in read_tensors(tmp_path).items() if "pooler" not in n}
        write_tensors(tmp_path, kept)
        source = opened(tmp_path).architecture.source
        assert source.task == "sequence-classification"
        assert len(source.random_tensors) == 2

    def test_configurations_without_weights_are_base_models(self, tmp_path: Path) -> None:
        save_model(tmp_path, "BertForMaskedLM")
        assert opened(tmp_path, "base").architecture.root.class_name == "BertModel"
        assert parse_source(str(tmp_path / "config.json")).task.name == "base"
        assert {parse_source(name).task.name for name in preset_names()} == {"base"}
        (tmp_path / "model.safetensors").unlink()
        assert opened(tmp_path).architecture.root.class_name == "BertModel"

    def test_models_with_different_heads_are_compared_without_them(self, tmp_path: Path) -> None:
        left, right = tmp_path / "left", tmp_path / "right"
        save_model(left, "BertForMaskedLM")
        save_model(right, "BertForSequenceClassification")
        found = bertviewer.compare(left, right)
        assert isinstance(found, bertviewer.Comparison)
        assert {row["name"] for row in found.tensors()} == {
            name for name, _ in tiny_model("BertModel").named_parameters()
        }
        assert not any(row["state"] == "only left" for row in found.tensors())
        rows = bertviewer.compare(bertviewer.open(left), right).tensors()
        assert "cls.predictions.bias" in [row["name"] for row in rows]
