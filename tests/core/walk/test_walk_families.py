"""The walk through every other family: its own steps, and sums that reconcile."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.loaded_model import LoadedModel
from bertviewer.core.loading import open_model
from bertviewer.core.source import parse_source
from bertviewer.core.walk.building import build_walk
from bertviewer.core.walk.walk import Walk, WalkStep
from tests.core.formulas.formula_models import architecture_of
from tests.core.opened import plain
from tests.core.walk.test_walk import SEVENTEEN


def configured(folder: Path, **config: Any) -> LoadedModel:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return open_model(parse_source(str(path)))


def names(walk: Walk) -> list[str]:
    return [step.name for step in walk.steps]


def step(walk: Walk, name: str) -> WalkStep:
    return next(step for step in walk.steps if step.name == name)


class TestFamilies:
    def test_roberta_has_the_seventeen(self) -> None:
        walk = build_walk(plain("roberta-base"))
        assert names(walk)[:8] == [name for name, _, _ in SEVENTEEN[:8]]
        assert step(walk, "Embedding-Position").count.numbers == "514*768"

    def test_distilbert_has_no_segments_and_no_pooler(self) -> None:
        walk = build_walk(plain("distilbert-base-uncased"))
        assert names(walk) == [
            "Input-Token",
            "Embedding-Token",
            "Embedding-Position",
            "Add",
            "Embedding-Norm",
            "Embedding-Dropout",
            "MultiHeadSelfAttention",
            "Add",
            "Norm",
            "FeedForward",
            "Dropout",
            "Add",
            "Norm",
            "the other 5 layers",
        ]

    def test_gpt2_norms_first(self) -> None:
        walk = build_walk(plain("gpt2"))
        assert names(walk) == [
            "Input-Token",
            "Embedding-Token",
            "Embedding-Position",
            "Add",
            "Embedding-Dropout",
            "Norm",
            "MultiHeadSelfAttention",
            "Dropout",
            "Add",
            "Norm",
            "FeedForward",
            "Dropout",
            "Add",
            "the other 11 layers",
            "Norm",
        ]
        attention = step(walk, "MultiHeadSelfAttention")
        assert attention.count.numbers == "(768*2304+2304)+(768*768+768)"

    def test_albert_stores_one_layer(self) -> None:
        walk = build_walk(plain("albert-base-v2"))
        again = step(walk, "the same layer, 11 more times")
        assert again.count.parameters == 0
        assert "applied 12 times" in again.note
        projection = step(walk, "Embedding-Projection")
        assert projection.count.numbers == "128*768+768"
        assert projection.output_shape is not None
        assert projection.output_shape.text == "[B, S, 768]"
        assert step(walk, "Pooler").count.parameters == 590_592

    def test_a_small_electra_widens_its_embeddings(self, tmp_path: Path) -> None:
        sizes = {"vocab_size": 90, "embedding_size": 16, "hidden_size": 32}
        sizes |= {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
        walk = build_walk(configured(tmp_path, model_type="electra", **sizes).with_formulas())
        projection = step(walk, "Embedding-Projection")
        assert projection.count.symbols == "E*D+D"
        assert projection.input_shape is not None
        assert projection.input_shape.text == "[B, S, E]"
        assert walk.reconciles

    def test_the_transformer_walks_twice(self) -> None:
        walk = build_walk(plain("transformer-base"))
        assert [part.title for part in walk.parts] == [
            "Embeddings",
            "One encoder layer",
            "The rest of the encoder",
            "Embeddings of the target",
            "One decoder layer",
            "The rest of the decoder",
        ]
        tables = [s for s in walk.steps if s.name == "Embedding-Token"]
        # One table for both; it counts once.
        assert [s.count.parameters for s in tables] == [18_944_000, 0]
        assert "MultiHeadCrossAttention" in names(walk)
        assert [s.name for s in walk.parts[2].steps] == ["the other 5 layers", "Norm"]

    def test_a_tied_head_counts_nothing(self) -> None:
        walk = build_walk(plain("bert-base-chinese", "masked-lm"))
        head = walk.steps[-1]
        assert (head.path, head.count.parameters) == ("cls", 613_256)
        assert head.note.startswith("tied to bert.embeddings.word_embeddings.weight")


SMALL: Mapping[str, Mapping[str, Any]] = {
    "bart": {
        "d_model": 32, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 48,
    },
    "t5": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 3, "num_heads": 4},
    "llama": {
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2,
    },
    "deberta-v2": {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4,
    },
    "bert": {
        "hidden_size": 32, "intermediate_size": 60, "num_hidden_layers": 1,
        "num_attention_heads": 4, "is_decoder": True, "add_cross_attention": True,
    },
    "albert": {
        "embedding_size": 16, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4,
        "num_hidden_groups": 2, "inner_group_num": 2, "num_attention_heads": 4,
    },
}  # fmt: skip


@pytest.mark.parametrize("family", SMALL)
def test_any_other_family_adds_up(family: str, tmp_path: Path) -> None:
    model = configured(tmp_path, model_type=family, vocab_size=90, **SMALL[family])
    walk = build_walk(model.architecture)
    assert walk.reconciles
    assert walk.parameters == walk.expected
    assert [part.kind for part in walk.parts[:2]] == ["embeddings", "layer"]
    assert names(walk)[:1] == ["Input-Token"]
    assert sum(s.stands_for_others for s in walk.steps) == (
        {"bart": 2, "t5": 2}.get(family, 0 if family == "bert" else 1)
    )


def test_a_decoder_layer_of_bert_has_cross_attention(tmp_path: Path) -> None:
    model = configured(tmp_path, model_type="bert", vocab_size=90, **SMALL["bert"])
    walk = build_walk(model.architecture)
    layer = [s.name for s in walk.parts[1].steps]
    assert layer[4:8] == ["MultiHeadCrossAttention", "Dropout", "Add", "Norm"]


LLAMA_LAYER = ["Norm", "MultiHeadSelfAttention", "Add", "Norm", "FeedForward", "Add"]
CROSS_ATTENTION = ["MultiHeadCrossAttention", "Add", "Norm"]


@pytest.mark.parametrize(
    ("family", "part", "expected"),
    [
        ("llama", 1, LLAMA_LAYER),
        ("t5", 1, LLAMA_LAYER),
        ("t5", -2, [*LLAMA_LAYER[:4], *CROSS_ATTENTION, *LLAMA_LAYER[4:]]),
        ("bart", 1, [*LLAMA_LAYER[1:], "Norm"]),
        ("bart", -2, [*LLAMA_LAYER[1:4], *CROSS_ATTENTION, "FeedForward", "Add", "Norm"]),
    ],
)
def test_layers_in_the_order_of_their_computation(
    family: str, part: int, expected: list[str], tmp_path: Path
) -> None:
    model = configured(tmp_path, model_type=family, vocab_size=90, **SMALL[family])
    layer = build_walk(model.architecture).parts[part]
    assert [s.name for s in layer.steps] == expected
    assert layer.is_planned


END = ["Dropout", "Add", "Norm"]
POST_NORM = ["MultiHeadSelfAttention", *END, "FeedForward", *END]
PRE_NORM = ["Norm", *POST_NORM[:3], "Norm", *POST_NORM[4:7]]
WORDS = ["Input-Token", "Embedding-Token"]
SEGMENTED = ["Input-Token", "Input-Segment", "Embedding-Token", "Embedding-Segment", "Add"]
LAST = ["Embedding-Norm", "Embedding-Dropout"]


@pytest.mark.parametrize(
    ("family", "embeddings", "layer", "rest"),
    [
        (
            "deberta",
            [*WORDS, "Embedding-Position", "Add", *LAST, "Embedding-Distance"],
            POST_NORM,
            [],
        ),
        (
            "deberta-v2",
            [*WORDS, *LAST, "Embedding-Distance", "Embedding-Distance-Norm"],
            POST_NORM,
            [],
        ),
        (
            "roformer",
            [*SEGMENTED, *LAST, "Embedding-Projection", "Embedding-Position"],
            POST_NORM,
            [],
        ),
        ("esm", WORDS, PRE_NORM, ["Norm", "Pooler", "EsmContactPredictionHead"]),
        ("big_bird", [*SEGMENTED, "Embedding-Position", *LAST], POST_NORM, ["Pooler"]),
        ("squeezebert", [*SEGMENTED, "Embedding-Position", *LAST], POST_NORM, ["Pooler"]),
    ],
)
def test_berts_kin_walks_in_the_order_of_its_computation(
    family: str, embeddings: list[str], layer: list[str], rest: list[str]
) -> None:
    walk = build_walk(architecture_of(family))
    assert walk.reconciles
    assert all(part.is_planned for part in walk.parts)
    found = [[step.name for step in part.steps] for part in walk.parts]
    assert found == [embeddings, layer, ["the other layer", *rest]]


def test_a_table_of_distances_is_not_looked_up_by_tokens() -> None:
    distances = step(build_walk(architecture_of("deberta")), "Embedding-Distance")
    assert (distances.input_shape, distances.output_shape) == (None, None)
    assert distances.count.parameters == 2 * 32 * 24


def test_a_layer_without_a_plan_is_in_the_order_of_the_tree(tmp_path: Path) -> None:
    model = configured(tmp_path, model_type="mpnet", vocab_size=90, **SMALL["deberta-v2"])
    layer = build_walk(model.architecture).parts[1]
    assert not layer.is_planned
    assert "Add" not in [s.name for s in layer.steps]


def test_images_are_no_sentences(tmp_path: Path) -> None:
    sizes = {key: SMALL["bert"][key] for key in ("hidden_size", "num_hidden_layers")}
    sizes |= {"num_attention_heads": 4, "intermediate_size": 60, "image_size": 32}
    walk = build_walk(configured(tmp_path, model_type="vit", **sizes).architecture)
    assert walk.reconciles
    assert {s.input_shape for s in walk.steps} == {None}
    assert {s.output_shape for s in walk.steps} == {None}
