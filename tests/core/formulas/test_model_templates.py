"""Embeddings, stacks, models and heads are recognised by their graphs, whatever their class is."""

from typing import Any

import pytest

from tests.core.formulas.flow_models import with_flows
from tests.core.formulas.formula_models import TINY
from tests.core.formulas.found_formulas import formula_at
from tests.tools.small_models import small_configuration

LOOKED_UP = 'W_"word")'

_IMAGE = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3, "image_size": 4}
MORE: dict[str, dict[str, Any]] = {
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
    "opt": {
        **{"vocab_size": 97, "hidden_size": 24, "ffn_dim": 40, "word_embed_proj_dim": 24},
        **{"num_hidden_layers": 1, "num_attention_heads": 3, "max_position_embeddings": 32},
    },
    "beit": {**_IMAGE, "intermediate_size": 40, "patch_size": 2},
    "dinov2": {**_IMAGE, "mlp_ratio": 2, "patch_size": 2},
    "pegasus_x": {
        **{"vocab_size": 97, "d_model": 24, "encoder_layers": 1, "decoder_layers": 1},
        **{"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "block_size": 16},
        **{"encoder_attention_heads": 3, "decoder_attention_heads": 3},
    },
}

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
    ("big_bird", {}, "question-answering", "", "Question answering model", "limits(q)_(S times 1)"),
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
    ("vit", "embeddings", "Patch embeddings", '(x_"cls", z_0, dots, z_195) + limits(P)_(197'),
    ("deit", "embeddings", "Patch embeddings", '(x_"cls", x_"dist", z_0, dots, z_195) + limits(P)'),
    ("clip_vision_model", "embeddings", "Patch embeddings", "z_48) + limits(P)_(50 times 768)"),
    ("beit", "embeddings", "Patch embeddings", '= (x_"cls", z_0, dots, z_195)'),
    ("mamba", "", "Decoder-only model", LOOKED_UP),
    ("fnet", "", "Encoder model", '= "Embeddings"(t, g)'),
    ("xlnet", "", "Encoder model", LOOKED_UP),
    ("opt", "decoder", "Decoder with its embeddings", 'W_"pos")'),
    ("fnet", "encoder.layer.0.fourier.output", "Add & norm", "limits(R)_(S times 768) + limits(Z)"),
]


@pytest.mark.parametrize(("family", "path", "title", "part"), OTHERS)
def test_a_pattern_of_another_family(family: str, path: str, title: str, part: str) -> None:
    configuration = {**small_configuration(family), "model_type": family}
    formula = formula_at(with_flows(configuration, "base"), path)
    assert formula.title == title
    assert part in " ".join(formula.maths)


SPECIAL: list[tuple[str, dict[str, Any], str, str]] = [
    # What layers are given that is made from positions.
    *(
        ("deberta", {"position_biased_input": is_added}, "encoder", f"Positions enter {where}")
        for is_added, where in ((True, "both here and in the"), (False, "here, not in the"))
    ),
    ("deberta-v2", {}, "encoder", "R: distance vectors, for all layers"),
    ("deberta-v2", {"norm_rel_ebd": "none"}, "encoder", "the vectors of the distances"),
    ("mpnet", {}, "encoder", "B: distance bias on the scores, one per head and pair"),
    ("mpnet", {}, "encoder", "The table relative_attention_bias, [32, 3], has a row for each"),
    ("mpnet", {}, "encoder.layer.0.attention", "The child “attn” is the attention with its output"),
    ("roformer", {}, "encoder", "P: sines and cosines of all positions, for all layers"),
    ("roformer", {}, "encoder", "Su et al. 2021, section 3.2"),
    # Of one layer the steps are part of the stack's own graph.
    ("deberta", {"num_hidden_layers": 1}, "encoder", "the vectors of the distances between them."),
    ("roformer", {"num_hidden_layers": 1}, "encoder", "limits(P)_(S times 8) = "),
    ("xlnet", {}, "", "every layer is given the sines and cosines of the distances"),
    # What is special to a family's norms, embeddings, children and scales.
    ("modernbert", {}, "layers.0", "Transformer layer, pre-norm"),
    ("modernbert", {}, "layers.0", "each preceded by a layer norm"),
    ("modernbert", {}, "layers.0", "The first layer has no norm before its attention"),
    ("modernbert", {}, "embeddings", "attention rotates queries and keys according to their"),
    ("esm", {}, "", "“contact_head” is not part of a normal forward pass."),
    ("opt", {}, "", "All is computed by the child “decoder”, embeddings included."),
    ("squeezebert", {}, "encoder", "each layer have shape [24, S], those of the stack [S, 24]."),
    ("beit", {}, "layers.0", "lambda_2: learnt scale of each of the 24 features (layer scale)"),
    ("beit", {}, "layers.0", "limits(lambda_1)_(24) dot.o"),
    ("dinov2", {}, "encoder.layer.0", '"Attention"(op("LayerNorm")(X)) dot.o lambda_1'),
]


@pytest.mark.parametrize(("family", "changes", "path", "said"), SPECIAL)
def test_what_is_special_to_a_family(
    family: str, changes: dict[str, Any], path: str, said: str
) -> None:
    configuration = TINY.get(family) or MORE[family]
    formula = formula_at(with_flows({**configuration, "model_type": family, **changes}), path)
    terms = (f"{term.symbol}: {term.meaning}" for term in formula.terms)
    texts = (formula.title, formula.summary, *formula.maths, *terms, *formula.notes, formula.source)
    assert said in "\n".join(texts)


@pytest.mark.parametrize("tokens", [2, 12, 16])
def test_global_tokens_are_no_position_table(tokens: int) -> None:
    configuration = {**MORE["pegasus_x"], "num_global_tokens": tokens}
    architecture = with_flows({**configuration, "model_type": "pegasus_x"})
    encoder = formula_at(architecture, "encoder")
    assert not [note for note in encoder.notes if "osition table" in note or "enter" in note]
    assert 'W_"pos"' not in " ".join(encoder.maths)
    summary = formula_at(architecture, "encoder.embed_global").summary
    assert summary == "Maps each index to a learnt vector."


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


def test_numbers_may_be_lists_with_one_for_each_stage() -> None:
    model = with_flows({"model_type": "cvt"})
    assert model.root.forward_formula is not None
