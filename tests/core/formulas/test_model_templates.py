"""Embeddings, stacks, models and heads are recognised by their graphs, whatever their class is."""

from typing import Any

import pytest

from tests.core.formulas.flow_models import with_flows
from tests.core.formulas.formula_models import TINY
from tests.core.formulas.found_formulas import formula_at
from tests.small_models import small_configuration

LOOKED_UP = 'W_"word")'

CASES: list[tuple[str, dict[str, Any], str, str, str, str]] = [
    # Of one layer the steps are part of the stack's own graph.
    ("bert", {"num_hidden_layers": 1}, "base", "", "Encoder model", '"Encoder"(X_0)'),
    ("bert", {"num_hidden_layers": 1}, "base", "encoder", "Stack of layers", "quad l = 0"),
    ("llama", {"num_hidden_layers": 1}, "base", "", "Decoder-only model", LOOKED_UP),
    ("t5", {"num_decoder_layers": 1}, "base", "decoder", "Decoder with its embeddings", "_l (X_l"),
    # Every stored group of a stack with shared layers.
    *(
        ("albert", {"num_hidden_groups": 2, "num_hidden_layers": 4}, "base", path, title, line)
        for path, title, line in (
            ("encoder", "Stack with shared layers", "floor(l dot 2 / 4)"),
            ("encoder.albert_layer_groups.0", "Group of layers", "_l (X_l)"),
            ("encoder.albert_layer_groups.1", "Group of layers", "_l (X_l)"),
        )
    ),
    ("bert", {"is_decoder": True}, "base", "", "Decoder-only model", '"Encoder"(X_0)'),
    (
        "bert",
        {"is_decoder": True, "add_cross_attention": True},
        "base",
        "encoder",
        "Stack of layers",
        'X_"enc"',
    ),
    # Tables, what is added to them and what follows.
    ("deberta", {"embedding_size": 16}, "base", "embeddings", "Embeddings", "W^top"),
    ("big_bird", {"rescale_embeddings": True}, "base", "embeddings", "Embeddings", "sqrt(24)"),
    (
        "bart",
        {"scale_embedding": True},
        "base",
        "encoder",
        "Encoder with its embeddings",
        "sqrt(24) thick",
    ),
    (
        "esm",
        {"position_embedding_type": "absolute"},
        "base",
        "embeddings",
        "Embeddings",
        "0.88 thin",
    ),
    # Heads.
    (
        "modernbert",
        {"classifier_pooling": "mean"},
        "sequence-classification",
        "",
        "Sequence classification model",
        "1/S sum_s x_s",
    ),
    ("gemma", {}, "sequence-classification", "", "Sequence classification model", "Z_e"),
    ("bert", {}, "pretraining", "", "Pretraining model", ', limits(z)_(2) = "Head"(X, p)'),
    ("t5", {}, "pretraining", "", "Encoder-decoder language model", '"Decoder"(u, X_"enc")'),
    ("bart", {}, "causal-lm", "", "Causal language model", 'limits(X)_(S times 24) = "Base"'),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_pattern_of_an_unusual_configuration(
    case: tuple[str, dict[str, Any], str, str, str, str],
) -> None:
    family, changes, task, path, title, part = case
    architecture = with_flows({**TINY[family], "model_type": family, **changes}, task)
    formula = formula_at(architecture, path)
    assert formula.title == title
    assert part in " ".join(formula.maths)


OTHERS = [
    ("vit", "", "Image encoder", '= "Embeddings"(I)'),
    ("vit", "embeddings", "Patch embeddings", 'x_"cls", Z'),
    ("mamba", "", "Decoder-only model", LOOKED_UP),
    ("fnet", "", "Encoder model", '= "Embeddings"(t, g)'),
    ("xlnet", "", "Encoder model", LOOKED_UP),
    ("opt", "decoder", "Decoder with its embeddings", 'W_"pos")'),
]


@pytest.mark.parametrize(("family", "path", "title", "part"), OTHERS)
def test_a_pattern_of_another_family(family: str, path: str, title: str, part: str) -> None:
    configuration = {**small_configuration(family), "model_type": family}
    formula = formula_at(with_flows(configuration, "base"), path)
    assert formula.title == title
    assert part in " ".join(formula.maths)


def test_what_mixes_positions_without_attention() -> None:
    for family, words in (("mamba", "carries a state"), ("fnet", "Fourier transform")):
        configuration = {**small_configuration(family), "model_type": family}
        notes = " ".join(formula_at(with_flows(configuration, "base"), "").notes)
        assert "There is no attention" in notes
        assert words in notes


LED: dict[str, Any] = {
    **{"model_type": "led", "vocab_size": 97, "d_model": 24, "attention_window": [8]},
    **{"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32},
    **{"encoder_attention_heads": 3, "decoder_attention_heads": 3},
    **{"max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
}


def test_an_encoder_of_unknown_attention_is_no_decoder() -> None:
    architecture = with_flows(LED)
    encoder, decoder = (formula_at(architecture, path) for path in ("encoder", "decoder"))
    assert encoder.title == "Encoder with its embeddings"
    assert not [note for note in encoder.notes if "causal" in note]
    assert decoder.title == "Decoder with its embeddings"
    assert [note for note in decoder.notes if "Attention is causal" in note]


def test_positions_of_an_image_are_no_tokens() -> None:
    # Nine patches, [CLS] and two registers: as many as the sentence has tokens.
    image = {"image_size": 6, "patch_size": 2, "num_register_tokens": 2, "hidden_size": 24}
    model = {"model_type": "dinov2_with_registers", "num_attention_heads": 3, **image}
    architecture = with_flows({**model, "num_hidden_layers": 1})
    for path in ("", "encoder", "encoder.layer.0", "encoder.layer.0.mlp"):
        (term, *_) = formula_at(architecture, path).terms
        assert (term.symbol, term.meaning.partition(" (")[0]) == ("S", "number of positions")
    (term, *_) = formula_at(with_flows({**TINY["bert"], "model_type": "bert"}), "encoder").terms
    assert term.symbol != "S" or term.meaning.startswith("number of tokens")


def test_sub_layers_of_t5_name_its_paper() -> None:
    for family, path, is_named in (
        ("t5", "encoder.block.0.layer.0", True),
        ("mt5", "decoder.block.0.layer.1", True),
        ("t5", "decoder.block.0.layer.2", True),
        ("llama", "layers.0", False),
    ):
        architecture = with_flows({**TINY[family], "model_type": family})
        assert ("Raffel et al. 2020" in formula_at(architecture, path).source) is is_named
