"""The attentions of a run in order, and which one a selected module means."""

from typing import Any

import numpy as np
import pytest

from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers, shown_layer
from bertviewer.core.analysis.attention_maps import AttentionMaps, most_attended, most_attending
from bertviewer.core.schema.activation_run import Sentence
from tests.core.analysis.runs import run_of
from tests.core.replay.model_runs import opened

PAIR = Sentence("a b c d e", "f g")


def layers_of(family: str, **changes: Any) -> tuple[AttentionLayer, ...]:
    it = opened(family, sentence=PAIR, **changes)
    return attention_layers(it.model.architecture, it.run)


def test_one_stack() -> None:
    found = layers_of("bert")
    assert [layer.name for layer in found] == ["layer 0", "layer 1"]
    assert [layer.label for layer in found] == ["0", "1"]
    assert found[1].path == "encoder.layer.1.attention.self"


@pytest.mark.parametrize("family", ["bart", "t5", "transformer-base"])
def test_an_encoder_and_a_decoder(family: str) -> None:
    found = layers_of(family)
    decoder = [
        (f"decoder layer {n}, {kind}", f"d {n} {kind}")
        for n in (0, 1)
        for kind in ("self", "cross")
    ]
    encoder = [(f"encoder layer {n}", f"e {n}") for n in (0, 1)]
    assert [(layer.name, layer.label) for layer in found] == [*encoder, *decoder]
    assert len({layer.path for layer in found}) == 6


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_a_decoder_of_one_layer(family: str) -> None:
    key = "decoder_layers" if family == "bart" else "num_decoder_layers"
    names = [layer.name for layer in layers_of(family, **{key: 1})]
    encoder = ["encoder layer 0", "encoder layer 1"]
    assert names == [*encoder, "decoder layer 0, self", "decoder layer 0, cross"]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"num_hidden_layers": 3}, ["layer 0", "layer 1", "layer 2"]),
        (
            {"num_hidden_layers": 4, "num_hidden_groups": 2},
            ["layer 0", "layer 1", "layer 2", "layer 3"],
        ),
        (
            {"num_hidden_layers": 2, "inner_group_num": 2},
            ["layer 0", "layer 1", "layer 2", "layer 3"],
        ),
    ],
)
def test_calls_of_shared_layers(changes: dict[str, int], names: list[str]) -> None:
    found = layers_of("albert", **changes)
    assert [layer.name for layer in found] == names
    assert len({(layer.path, layer.call) for layer in found}) == len(found)


def test_the_order_of_calls() -> None:
    """As ALBERT makes them: all layers of a group in turn, but each group on its own."""

    def order(**changes: int) -> list[tuple[str, int]]:
        return [
            ("".join(filter(str.isdigit, layer.path)), layer.call)
            for layer in layers_of("albert", **changes)
        ]

    in_turn = order(num_hidden_layers=2, inner_group_num=2)
    assert in_turn == [("00", 0), ("01", 0), ("00", 1), ("01", 1)]
    on_its_own = order(num_hidden_layers=4, num_hidden_groups=2)
    assert on_its_own == [("00", 0), ("00", 1), ("10", 0), ("10", 1)]


def test_a_model_without_attention() -> None:
    it = opened("bert")
    assert attention_layers(it.model.architecture, run_of(())) == ()
    assert shown_layer(it.model.architecture, (), "encoder.layer.1", None) is None


def test_which_one_is_meant() -> None:
    it = opened("bart", sentence=PAIR)
    architecture = it.model.architecture
    layers = attention_layers(architecture, it.run)
    names = {layer.name: layer for layer in layers}
    before = None
    for path, expected in (
        ("", "encoder layer 0"),
        ("encoder.layers.1.fc1", "encoder layer 1"),
        ("decoder.layernorm_embedding", "encoder layer 1"),
        ("decoder.layers.0", "decoder layer 0, self"),
        ("decoder.layers.0.encoder_attn.k_proj", "decoder layer 0, cross"),
        ("decoder.layers.0.fc1", "decoder layer 0, cross"),
        ("decoder.layers.1", "decoder layer 1, cross"),
        ("decoder.layers.1.self_attn", "decoder layer 1, self"),
        ("decoder", "decoder layer 1, self"),
    ):
        before = shown_layer(architecture, layers, path, before)
        assert before == names[expected], path


def test_a_shared_layer_stays_at_its_call() -> None:
    it = opened("albert", num_hidden_layers=3)
    layers = attention_layers(it.model.architecture, it.run)
    path = layers[0].path
    assert shown_layer(it.model.architecture, layers, path, None) == layers[0]
    assert shown_layer(it.model.architecture, layers, path, layers[2]) == layers[2]
    # Of another run with fewer layers there is no such call.
    assert shown_layer(it.model.architecture, layers[:2], path, layers[2]) == layers[0]


def test_what_a_token_looks_at_most() -> None:
    shares = np.array([[[0.1, 0.6, 0.3, 0.0], [0.25, np.nan, 0.25, 0.5]]], dtype=np.float32)
    maps = AttentionMaps("x", 0, 1, shares, (7, 8), (3, 4, 5, 6), np.zeros(1), None)
    assert [token for token, _ in most_attended(maps, 0, 7, 9)] == [4, 5, 3]
    assert most_attended(maps, 0, 8, 2) == ((6, 0.5), (3, 0.25))
    assert most_attended(maps, 0, 3, 5) == ()
    assert [token for token, _ in most_attending(maps, 0, 3, 5)] == [8, 7]
    assert most_attending(maps, 0, 6, 5) == ((8, 0.5),)
    assert most_attending(maps, 0, 7, 5) == ()
