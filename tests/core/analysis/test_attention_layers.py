"""The attentions of a run: their order and names, and the one to show for a selected module."""

from functools import cache
from typing import Any

import pytest

from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers, shown_layer
from bertviewer.core.schema.architecture import Architecture
from tests.core.analysis.runs import run_of
from tests.core.replay.model_runs import known, opened


@cache
def layers_of(family: str, **changes: Any) -> tuple[Architecture, tuple[AttentionLayer, ...]]:
    one = opened(family, **changes) if changes else known(family)
    return one.model.architecture, attention_layers(one.model.architecture, one.run)


ENCODER = ["encoder layer 0", "encoder layer 1"]
DECODER = [f"decoder layer {n}, {kind}" for n in (0, 1) for kind in ("self", "cross")]


@pytest.mark.parametrize(
    ("family", "changes", "names"),
    [
        ("bert", {}, ["layer 0", "layer 1"]),
        ("bart", {}, [*ENCODER, *DECODER]),
        ("t5", {}, [*ENCODER, *DECODER]),
        ("transformer-base", {}, [*ENCODER, *DECODER]),
        ("bart", {"decoder_layers": 1}, [*ENCODER, *DECODER[:2]]),
        ("t5", {"num_decoder_layers": 1}, [*ENCODER, *DECODER[:2]]),
    ],
)
def test_layers_are_named_by_stack_number_and_kind(
    family: str, changes: dict[str, Any], names: list[str]
) -> None:
    _, found = layers_of(family, **changes)
    assert [layer.name for layer in found] == names
    assert len({layer.path for layer in found}) == len(found)


def test_labels_are_short_names() -> None:
    labels = [layer.label for layer in layers_of("bart")[1]]
    assert labels == ["e 0", "e 1", "d 0 self", "d 0 cross", "d 1 self", "d 1 cross"]
    assert [layer.label for layer in layers_of("bert")[1]] == ["0", "1"]


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({"num_hidden_layers": 3}, [("00", 0), ("00", 1), ("00", 2)]),
        # All layers of a group in turn …
        (
            {"num_hidden_layers": 2, "inner_group_num": 2},
            [("00", 0), ("01", 0), ("00", 1), ("01", 1)],
        ),
        # … but one group after the other.
        (
            {"num_hidden_layers": 4, "num_hidden_groups": 2},
            [("00", 0), ("00", 1), ("10", 0), ("10", 1)],
        ),
    ],
)
def test_shared_layers_have_one_entry_per_call_in_execution_order(
    changes: dict[str, int], calls: list[tuple[str, int]]
) -> None:
    _, found = layers_of("albert", **changes)
    assert [("".join(filter(str.isdigit, one.path)), one.call) for one in found] == calls
    assert [one.name for one in found] == [f"layer {n}" for n in range(len(calls))]


def test_a_run_without_attention_has_none() -> None:
    architecture, _ = layers_of("bert")
    assert attention_layers(architecture, run_of(())) == ()
    assert shown_layer(architecture, (), "encoder.layer.1", None) is None


def test_the_shown_attention_follows_the_selection_and_keeps_its_kind() -> None:
    architecture, layers = layers_of("bart")
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


def test_the_shown_call_of_a_shared_layer_stays() -> None:
    architecture, layers = layers_of("albert", num_hidden_layers=3)
    path = layers[0].path
    assert shown_layer(architecture, layers, path, None) == layers[0]
    assert shown_layer(architecture, layers, path, layers[2]) == layers[2]
    # A run with fewer layers has no third call.
    assert shown_layer(architecture, layers[:2], path, layers[2]) == layers[0]
