"""The symbols of a configuration."""

import keyword

import pytest

from bertviewer.core.expressions.symbols import (
    MAX_OTHERS,
    MAX_SYMBOLS,
    STANDARD_SYMBOLS,
    config_part,
    dimension_kind,
    is_standard,
    other_symbols_of,
    shape_text,
    standard_name,
    symbols_of,
)


def values_of(config: dict[str, object]) -> dict[str, int]:
    return {symbol.name: symbol.value for symbol in symbols_of(config)}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {
                **{"vocab_size": 21128, "hidden_size": 768, "num_hidden_layers": 12},
                **{"num_attention_heads": 12, "intermediate_size": 3072, "type_vocab_size": 2},
                **{"max_position_embeddings": 512, "id2label": {0: "a", 1: "b", 2: "c"}},
            },
            {"V": 21128, "L": 512, "T": 2, "C": 3, "N": 12, "A": 12, "D": 768, "I": 3072},
        ),
        # Other names of the same sizes.
        ({"n_embd": 8, "n_layer": 2, "n_head": 4, "n_inner": None}, {"D": 8, "N": 2, "A": 4}),
        (
            {"dim": 8, "n_layers": 2, "n_heads": 4, "hidden_dim": 5},
            {"D": 8, "N": 2, "A": 4, "I": 5},
        ),
        ({"embedding_size": 3, "hidden_size": 8}, {"E": 3, "D": 8}),
        # A second key of the same meaning keeps its name.
        ({"d_model": 4, "hidden_size": 8}, {"D": 8, "d_model": 4}),
        # E is the embeddings' width, or else the number of experts.
        ({"num_local_experts": 8}, {"E": 8}),
        ({"num_experts": 8, "embedding_size": 4}, {"E": 4, "num_experts": 8}),
        # Encoder and decoder.
        (
            {"encoder_layers": 3, "decoder_layers": 4, "num_hidden_layers": 3},
            {"N_e": 3, "N_d": 4},
        ),
        ({"num_layers": 3, "num_decoder_layers": 4}, {"N_e": 3, "N_d": 4}),
        ({"num_encoder_layers": 3, "num_decoder_layers": 4}, {"N_e": 3, "N_d": 4}),
        # Numbers that are no sizes.
        (
            {
                **{"pad_token_id": 3, "bos_token_id": 1, "eos_token_ids": 7, "seed": 42},
                **{"layer_index": 4, "tie_word_embeddings": True, "chunk_size_feed_forward": 9},
                **{"type_vocab_size": 0, "max_relative_positions": -1, "initializer_range": 0.02},
                **{"rope_parameters": {"factor": 8}},
            },
            {},
        ),
    ],
)
def test_symbols_of_families(config: dict[str, object], expected: dict[str, int]) -> None:
    assert values_of(config) == expected


def test_other_keys_become_unique_identifiers() -> None:
    config = {"lambda": 2, "2d size": 3, "V": 4, "a-b": 5, "a_b": 6, "vocab_size": 7}
    symbols = symbols_of(config)
    names = [symbol.name for symbol in symbols]
    assert len(set(names)) == len(config)
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    assert [symbol.key for symbol in symbols if symbol.name == "V"] == ["vocab_size"]
    assert [is_standard(s) for s in symbols_of({"vocab_size": 3, "buckets": 1})] == [True, False]


def test_the_number_of_symbols_is_limited() -> None:
    config = {"hidden_size": 8, **{f"k{number}": number % 10 for number in range(10_000)}}
    assert len(symbols_of(config)) == MAX_SYMBOLS
    assert len(other_symbols_of(config)) == MAX_OTHERS
    assert symbols_of(config)[0].name == "D"


def test_kinds_of_dimensions() -> None:
    config = {"num_labels": 3, "extra_layers": 1, "q_groups": 2, "size": 4}
    assert {s.key: dimension_kind(s) for s in symbols_of(config)} == {
        "num_labels": "size",
        "extra_layers": "layers",
        "q_groups": "heads",
        "size": "width",
    }


def test_every_key_has_one_standard_symbol() -> None:
    keys = [key for symbol in STANDARD_SYMBOLS for key in symbol.keys]
    assert len(set(keys)) == len(keys)
    assert [s.name for s in STANDARD_SYMBOLS].count("E") == 2  # see above


def test_symbols_of_a_part_have_its_name_as_index() -> None:
    config = {
        "hidden_size": 2,
        "text_config": {"hidden_size": 3, "num_key_value_heads": 4, "mlp_size": 5},
        "audio": {"model_type": "x", "inner_config": {"hidden_size": 6}},
        "rope_parameters": {"factor": 8},
    }
    found = {symbol.name: symbol for symbol in symbols_of(config)}
    assert {s.key: s.name for s in found.values()} == {
        "hidden_size": "D",
        "text_config.hidden_size": "D_text",
        "text_config.num_key_value_heads": "A_kv_text",
        "text_config.mlp_size": "mlp_size_text",
        "audio.inner_config.hidden_size": "D_audio_inner",
    }
    assert found["D_text"].meaning == "hidden size (features per token) of text_config"
    assert dimension_kind(found["A_kv_text"]) == "heads"
    assert config_part(found["D_audio_inner"]) == "audio.inner_config"
    assert standard_name(found["A_kv_text"]) == "A_kv"


def test_lists_of_sizes() -> None:
    config = {
        "hidden_sizes": [8, 16],
        "conv_dim": [512, 512, 512],
        "depths": [2, 2, 6],
        "out_indices": [1, 2],
        "layer_types": ["a", "b"],
        "cross_layers": [3, 5],
        "dilations": [],
        "long": list(range(1, 40)),
    }
    found = symbols_of(config)
    assert {s.key: s.value for s in found} == {
        **{"hidden_sizes.0": 8, "hidden_sizes.1": 16, "conv_dim": 512},
        **{"depths.0": 2, "depths.1": 2, "depths.2": 6},
    }
    assert [s.name for s in found][:2] == ["hidden_sizes_0", "hidden_sizes_1"]
    assert {dimension_kind(s) for s in found if s.key.startswith("depths")} == {"layers"}
    assert {config_part(s) for s in found} == {""}


def test_shapes_in_numbers_and_symbols() -> None:
    assert shape_text(None) == ""
    assert shape_text(()) == "[]"
    assert shape_text((30522, 768)) == "[30522, 768]"
    assert shape_text(("V", "D")) == "[V, D]"
