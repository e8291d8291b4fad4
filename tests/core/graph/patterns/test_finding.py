"""Groups are recognised by what they compute, in families that nobody described."""

from collections import Counter

import pytest

from bertviewer.core.graph.trace_graph import Pattern
from tests.core.graph.readers import reader_of

_KINDS = (
    *("layer norm", "rms norm", "attention", "rotary", "feed-forward", "gated feed-forward"),
    *("routing", "experts", "residual", "position bias", "scale and shift"),
)


def groups_of(name: str) -> list[Pattern]:
    found = reader_of(name).patterns.outer.values()
    return list({id(group): group for group in found}.values())


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
        # Attention and feed-forward network side by side, added in one sum.
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
def test_groups_of_small_models(name: str, expected: dict[str, int]) -> None:
    found = Counter[str](group.operation for group in groups_of(name))

    assert {kind: found[kind] for kind in _KINDS if found[kind]} == expected


def test_disentangled_attention_has_a_bias_of_two_products_of_its_own() -> None:
    biases = [group for group in groups_of("deberta") if group.operation == "position bias"]

    words = reader_of("deberta").graph.words
    assert [sum(words[each] == "matmul" for each in bias.operations) for bias in biases] == [2, 2]


def test_a_norm_without_norm_is_a_scale_and_a_shift() -> None:
    kinds = Counter(group.operation for group in groups_of("mobilebert"))

    assert kinds["scale and shift"] > 10
    assert kinds["layer norm"] == 0


@pytest.mark.parametrize(
    ("name", "heads", "of_keys"), [("bert", 3, 3), ("llama", 4, 2), ("gemma2", 4, 2), ("t5", 3, 3)]
)
def test_attention_tells_its_heads(name: str, heads: int, of_keys: int) -> None:
    attentions = [group for group in groups_of(name) if group.operation == "attention"]

    assert {group.details["heads"] for group in attentions} == {heads}
    assert {group.details["key_value_heads"] for group in attentions} == {of_keys}


def test_windows_are_no_heads() -> None:
    attentions = [group for group in groups_of("swin") if group.operation == "attention"]

    assert {group.details["heads"] for group in attentions} == {2, 3}
    assert all(each.details["key_value_heads"] == each.details["heads"] for each in attentions)


@pytest.mark.parametrize(
    ("name", "activation"),
    [
        ("bert", "GELU"),
        ("gpt2", "GELU (tanh)"),  # written out with tanh and a cube
        ("llama", "SiLU"),
        ("t5", "ReLU"),
        ("albert", "GELU (tanh)"),
        ("modernbert", "GELU"),
    ],
)
def test_activations_are_named_by_what_they_give(name: str, activation: str) -> None:
    networks = [group for group in groups_of(name) if "feed-forward" in group.operation]

    assert {group.details["activation"] for group in networks} == {activation}


def test_routing_says_how_many_experts_are_chosen() -> None:
    (router, *_) = (group for group in groups_of("mixtral") if group.operation == "routing")

    assert router.details["experts"] == 4
    assert router.details["chosen"] == 2


@pytest.mark.parametrize("name", ["bert", "mixtral", "xlnet", "deberta", "mobilebert"])
def test_no_operation_is_in_two_groups(name: str) -> None:
    numbers = [number for group in groups_of(name) for number in group.operations]

    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    ("name", "causal"),
    [
        ("bert", [False, False]),
        ("gpt2", [True, True]),  # torch is told
        ("gptj", [True, True]),  # by a mask
        ("gemma2", [True, True]),
        # The encoder's; in each block of the decoder its own, and that to the encoder.
        ("t5", [False, False, True, False, True, False]),  # within the bias of positions
        ("bart", [False, False, True, False, True, False]),
        ("transformer-base", [False, False, True, False, True, False]),
    ],
)
def test_attention_tells_whether_it_hides_what_comes_after(name: str, causal: list[bool]) -> None:
    attentions = [group for group in groups_of(name) if group.operation == "attention"]

    assert [group.details.get("causal", False) for group in attentions] == causal
