"""The reference numbers of the models that everybody knows, as literals."""

import json

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import demo_folder

TEST_SENTENCE = "this is a 12212121 test sentence"
TEST_IDS = [101, 2023, 2003, 1037, 13092, 12521, 12521, 2487, 3231, 6251, 102]


def architecture_of(name: str, task: str = "base") -> Architecture:
    return open_model(parse_source(name, task)).architecture


def parameters(architecture: Architecture, path: str) -> int:
    (found,) = (node.parameters for node in architecture.modules if node.path == path)
    return found


@pytest.mark.parametrize(
    ("name", "task", "expected"),
    [
        ("bert-base-uncased", "base", 109_482_240),
        ("bert-base-uncased", "sequence-classification", 109_483_778),
        ("bert-base-uncased", "masked-lm", 109_514_298),
        ("bert-base-uncased", "pretraining", 110_106_428),
        ("bert-large-uncased", "base", 335_141_888),
        ("bert-base-chinese", "masked-lm", 102_290_312),
        ("bert-large-chinese", "base", 325_522_432),
        ("roberta-base", "base", 124_645_632),
        ("distilbert-base-uncased", "base", 66_362_880),
        ("albert-base-v2", "base", 11_683_584),
        ("gpt2", "base", 124_439_808),
        ("demo", "base", 22_713_216),
    ],
)
def test_total(name: str, task: str, expected: int) -> None:
    architecture = architecture_of(name, task)
    assert architecture.root.parameters == expected
    assert architecture.root.trainable == expected
    assert architecture.to_json()["totals"]["parameters"] == expected
    assert sum(architecture.shares.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "task", "expected"),
    [
        ("bert-base-uncased", "base", 199),
        ("bert-base-chinese", "masked-lm", 202),
        ("gpt2", "base", 148),
        ("demo", "base", 103),
    ],
)
def test_tensor_count(name: str, task: str, expected: int) -> None:
    assert architecture_of(name, task).tensor_count == expected


class TestBertBaseUncased:
    def test_shares(self) -> None:
        assert architecture_of("bert-base-uncased").shares == {
            "embeddings": 0.21772649152958506,
            "encoder": 0.776879099295009,
            "pooler": 0.005394409175405983,
        }

    def test_classifier_adds_its_weight_and_bias(self) -> None:
        architecture = architecture_of("bert-base-uncased", "sequence-classification")
        assert parameters(architecture, "classifier") == 1_538
        assert parameters(architecture, "bert") == 109_482_240

    def test_twelve_layers_fold_into_one_row(self) -> None:
        encoder = fold(architecture_of("bert-base-uncased")).children[1]
        (layers,) = encoder.children[0].children
        assert layers.label == "0–11"
        assert layers.class_label == "12 × BertLayer"
        assert layers.parameters == 85_054_464

    def test_named_parameters_come_in_groups(self) -> None:
        names = [tensor.name for tensor in architecture_of("bert-base-uncased").parameters]
        assert len(names) == 199
        assert names[:5] == [
            "embeddings.word_embeddings.weight",
            "embeddings.position_embeddings.weight",
            "embeddings.token_type_embeddings.weight",
            "embeddings.LayerNorm.weight",
            "embeddings.LayerNorm.bias",
        ]
        assert all(name.startswith("encoder.layer.0.") for name in names[5:21])
        assert names[21].startswith("encoder.layer.1.")
        assert names[-2:] == ["pooler.dense.weight", "pooler.dense.bias"]

    def test_its_flops_at_128_tokens(self) -> None:
        # Every one of these words is a token, and [CLS] and [SEP] go around them.
        model = open_model(parse_source("bert-base-uncased"))
        run = run_sentence(model, Sentence("the " * 126), random_weights=True)
        assert len(run.tokens) == 128
        root = run.activation("")
        assert root is not None
        assert root.macs is not None
        assert 2 * root.macs == 22_348_431_360

    def test_torch_counts_the_same_flops(self) -> None:
        source = parse_source("bert-base-uncased")
        config = build_config(read_configuration(source.path), source.name)
        # The counter does not see into the CPU's fused attention kernel.
        config._attn_implementation = "eager"
        model = build_on_meta(config, source.task, source.name).eval()
        with FlopCounterMode(display=False) as counter:
            model(torch.zeros(1, 128, dtype=torch.long, device="meta"))
        assert counter.get_total_flops() == 22_348_431_360


class TestMaskedChineseBert:
    """Counting by symbols: V = 21128, D = 768, L = 512, N = 12, T = 2, I = 3072."""

    V, D, L, N, T = 21_128, 768, 512, 12, 2

    def test_embeddings(self) -> None:
        V, D, L, T = self.V, self.D, self.L, self.T  # noqa: N806 - the symbols' own names
        count = parameters(architecture_of("bert-base-chinese", "masked-lm"), "bert.embeddings")
        assert count == V * D + T * D + L * D + 2 * D == 16_622_592

    def test_blocks(self) -> None:
        D, N = self.D, self.N  # noqa: N806
        count = parameters(architecture_of("bert-base-chinese", "masked-lm"), "bert.encoder")
        assert count == N * (12 * D * D + 13 * D) == 85_054_464

    def test_head_without_the_tied_decoder(self) -> None:
        V, D = self.V, self.D  # noqa: N806
        architecture = architecture_of("bert-base-chinese", "masked-lm")
        assert parameters(architecture, "cls") == V + D * D + 3 * D
        tied = {tensor.name: tensor.tied_to for tensor in architecture.parameters}
        assert tied["cls.predictions.decoder.weight"] == "bert.embeddings.word_embeddings.weight"


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_a_plain_transformer_as_torch_builds_it() -> None:
    with torch.device("meta"):
        model = torch.nn.Transformer()
    expected = 44_140_544
    assert sum(parameter.numel() for parameter in model.parameters()) == expected
    architecture = architecture_of("transformer-base")
    assert parameters(architecture, "transformer") == expected
    assert parameters(architecture, "embedding") == 37_000 * 512


def test_gpt2_with_its_tied_head_counts_the_same() -> None:
    config = transformers.GPT2Config()
    with torch.device("meta"):
        model = transformers.GPT2LMHeadModel(config)
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


class TestLargeChineseBert:
    """The walk through 24 layers, D = 1024, V = 21128."""

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("embeddings.word_embeddings", 21_635_072),
            ("embeddings.token_type_embeddings", 2_048),
            ("embeddings.position_embeddings", 524_288),
            ("embeddings.LayerNorm", 2_048),
            ("embeddings.dropout", 0),
            ("embeddings", 22_163_456),
            ("encoder.layer.0.attention.output.LayerNorm", 2_048),
            ("encoder.layer.0.output.LayerNorm", 2_048),
            ("encoder.layer.23", 12_596_224),
            ("encoder", 24 * 12_596_224),
            ("pooler", 1_049_600),
        ],
    )
    def test_step(self, path: str, expected: int) -> None:
        assert parameters(architecture_of("bert-large-chinese"), path) == expected

    def test_self_attention_and_feed_forward_of_a_layer(self) -> None:
        architecture = architecture_of("bert-large-chinese")
        layer = "encoder.layer.0"
        attention = [f"{layer}.attention.self.{name}" for name in ("query", "key", "value")]
        attention.append(f"{layer}.attention.output.dense")
        assert sum(parameters(architecture, path) for path in attention) == 4_198_400
        feed_forward = [f"{layer}.intermediate.dense", f"{layer}.output.dense"]
        assert sum(parameters(architecture, path) for path in feed_forward) == 8_393_728

    def test_without_the_pooler(self) -> None:
        architecture = architecture_of("bert-large-chinese")
        assert architecture.root.parameters - parameters(architecture, "pooler") == 324_472_832


def test_albert_stores_one_layer() -> None:
    architecture = architecture_of("albert-base-v2")
    assert architecture.config["num_hidden_layers"] == 12
    layers = [node for node in architecture.modules if node.class_name == "AlbertLayer"]
    assert len(layers) == 1


class TestDemo:
    """One sentence through a real pretrained BERT: 6 layers, D = 384."""

    def test_configuration_is_shown_whole(self, demo_source: ModelSource) -> None:
        config = open_model(demo_source).architecture.config
        on_disk = json.loads((demo_folder() / "config.json").read_text())
        for key in ("hidden_act", "hidden_dropout_prob", "layer_norm_eps", "hidden_size"):
            assert config[key] == on_disk[key]
        assert (config["hidden_act"], config["layer_norm_eps"]) == ("gelu", 1e-12)
        assert config["hidden_dropout_prob"] == 0.1

    def test_tokens_and_shapes(self, demo_source: ModelSource) -> None:
        run = run_sentence(open_model(demo_source), Sentence(TEST_SENTENCE))
        assert [token.id for token in run.tokens] == TEST_IDS
        assert {token.segment for token in run.tokens} == {0}
        assert run.tokenizer == "model"
        root, layer = run.activation(""), run.activation("encoder.layer.5")
        assert root is not None
        assert layer is not None
        assert root.output_shape == layer.output_shape == (1, 11, 384)
        assert len(run.token_norms) == 6 + 1
        assert all(len(norms) == 11 for norms in run.token_norms)

    def test_two_sentences_give_two_segments(self, demo_source: ModelSource) -> None:
        run = run_sentence(open_model(demo_source), Sentence("one", "two"))
        assert [token.segment for token in run.tokens] == [0, 0, 0, 1, 1]

    @torch.inference_mode()
    def test_layer_0_by_hand_is_hidden_state_1(self, demo_source: ModelSource) -> None:
        model = open_model(demo_source).module(random_weights=False)
        output = model(torch.tensor([TEST_IDS]), output_hidden_states=True)
        assert len(output) == 3
        states = output.hidden_states
        assert len(states) == 7
        assert {tuple(state.shape) for state in states} == {(1, 11, 384)}

        embedded = model.get_submodule("embeddings")(torch.tensor([TEST_IDS]))
        torch.testing.assert_close(embedded, states[0])
        layer = model.get_submodule("encoder.layer.0")
        attended = layer.get_submodule("attention.self")(embedded)[0]
        assert attended.shape == (1, 11, 384)
        normed = layer.get_submodule("attention.output")(attended, embedded)
        assert normed.shape == (1, 11, 384)
        wide = layer.get_submodule("intermediate")(normed)
        assert wide.shape == (1, 11, 4 * 384)
        result = layer.get_submodule("output")(wide, normed)
        assert result.shape == (1, 11, 384)
        torch.testing.assert_close(result, states[1], rtol=1e-5, atol=1e-6)

    @torch.inference_mode()
    def test_pooler_is_tanh_of_a_linear_of_the_first_token(self, demo_source: ModelSource) -> None:
        model = open_model(demo_source).module(random_weights=False)
        output = model(torch.tensor([TEST_IDS]))
        dense = model.get_submodule("pooler.dense")
        by_hand = torch.tanh(dense(output.last_hidden_state[:, 0]))
        torch.testing.assert_close(by_hand, output.pooler_output)
