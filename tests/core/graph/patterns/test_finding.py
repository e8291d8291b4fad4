"""Patterns are recognised by what they compute, never by class names."""

from collections import Counter

import pytest

from bertviewer.core.graph.trace_graph import Pattern
from bertviewer.core.util.serialization import Scalar
from tests.core.graph.readers import reader_of

_KINDS = (
    *("layer norm", "rms norm", "attention", "rotary", "feed-forward", "gated feed-forward"),
    *("routing", "experts", "residual", "position bias", "scale and shift"),
)


def patterns_of(name: str, operation: str = "") -> list[Pattern]:
    found = reader_of(name).patterns.outer.values()
    patterns = {id(pattern): pattern for pattern in found}.values()
    return [pattern for pattern in patterns if operation in pattern.operation]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert", {"layer norm": 5, "attention": 2, "feed-forward": 2, "residual": 4}),
        ("albert", {"layer norm": 5, "attention": 2, "feed-forward": 2, "residual": 4}),
        ("gpt2", {"layer norm": 5, "attention": 2, "feed-forward": 2, "residual": 4}),
        ("bart", {"layer norm": 12, "attention": 6, "feed-forward": 4, "residual": 10}),
        ("t5", {"rms norm": 12, "attention": 6, "feed-forward": 4, "residual": 10}),
        (
            "llama",
            {"rms norm": 5, "rotary": 4, "attention": 2, "gated feed-forward": 2, "residual": 4},
        ),
        (
            "gemma2",
            {"rms norm": 9, "rotary": 4, "attention": 2, "gated feed-forward": 2, "residual": 4},
        ),
        (
            "mixtral",
            {"rms norm": 5, "rotary": 4, "attention": 2, "routing": 2, "experts": 2, "residual": 4},
        ),
        (
            "modernbert",
            {"layer norm": 9, "rotary": 8, "attention": 4, "gated feed-forward": 4, "residual": 8},
        ),
        # Attention and feed-forward network in parallel, added in one sum.
        (
            "gptj",
            {"layer norm": 3, "rotary": 4, "attention": 2, "feed-forward": 2, "residual": 2},
        ),
        (
            "cohere2",
            {"layer norm": 3, "rotary": 4, "attention": 2, "gated feed-forward": 2, "residual": 2},
        ),
        (
            "roformer",
            {"layer norm": 5, "rotary": 4, "attention": 2, "feed-forward": 2, "residual": 4},
        ),
        (
            "xlnet",
            {"layer norm": 4, "attention": 2, "position bias": 2, "feed-forward": 2, "residual": 4},
        ),
    ],
)
def test_patterns_of_small_models(name: str, expected: dict[str, int]) -> None:
    found = Counter[str](pattern.operation for pattern in patterns_of(name))
    assert {kind: found[kind] for kind in _KINDS if found[kind]} == expected


def test_disentangled_attention_has_a_bias_of_two_products() -> None:
    words = reader_of("deberta").graph.words
    biases = patterns_of("deberta", "position bias")
    assert [sum(words[each] == "matmul" for each in bias.operations) for bias in biases] == [2, 2]


def test_a_scale_and_a_shift_are_not_a_norm() -> None:
    assert len(patterns_of("mobilebert", "scale and shift")) > 10
    assert not patterns_of("mobilebert", "layer norm")


@pytest.mark.parametrize(
    ("name", "heads", "key_value_heads"),
    [
        ("bert", {3}, {3}),
        ("llama", {4}, {2}),
        ("gemma2", {4}, {2}),
        ("t5", {3}, {3}),
        ("swin", {2, 3}, {2, 3}),  # windows are not heads
    ],
)
def test_heads_of_attention(name: str, heads: set[int], key_value_heads: set[int]) -> None:
    attentions = patterns_of(name, "attention")
    assert {each.details["heads"] for each in attentions} == heads
    assert {each.details["key_value_heads"] for each in attentions} == key_value_heads


@pytest.mark.parametrize(
    ("name", "operation", "details"),
    [
        ("bert", "feed-forward", {"activation": "GELU"}),
        ("gpt2", "feed-forward", {"activation": "GELU (tanh)"}),  # written with tanh and a cube
        ("llama", "feed-forward", {"activation": "SiLU"}),
        ("t5", "feed-forward", {"activation": "ReLU"}),
        ("albert", "feed-forward", {"activation": "GELU (tanh)"}),
        ("modernbert", "feed-forward", {"activation": "GELU"}),
        ("mixtral", "routing", {"experts": 4, "chosen": 2}),
    ],
)
def test_details(name: str, operation: str, details: dict[str, Scalar]) -> None:
    found = patterns_of(name, operation)
    assert found
    assert all(details.items() <= pattern.details.items() for pattern in found)


@pytest.mark.parametrize(
    ("name", "causal"),
    [
        ("bert", [False, False]),
        ("gpt2", [True, True]),  # an argument
        ("gptj", [True, True]),  # a mask
        ("gemma2", [True, True]),
        # The encoder's, and in each decoder layer self-attention and cross-attention.
        ("t5", [False, False, True, False, True, False]),  # in the position bias
        ("bart", [False, False, True, False, True, False]),
        ("transformer-base", [False, False, True, False, True, False]),
    ],
)
def test_attention_is_causal_where_later_tokens_are_hidden(name: str, causal: list[bool]) -> None:
    attentions = patterns_of(name, "attention")
    assert [pattern.details.get("causal", False) for pattern in attentions] == causal
