"""Each explanation is true of the model that it stands beside, or is not there."""

import pytest

from bertviewer.core.explanations.asking import EXPLANATIONS, answers_for_module
from tests.core.explanations.registering import all_claims
from tests.core.formulas.note_cases import CASES, Case, case

CLAIMS = all_claims()
OF_RUNS = frozenset(
    {
        *("special-tokens", "first-token", "even-attention", "flat-lines", "growing-lines"),
        *("pieces", "marked-spaces", "marked-pieces", "alike-vectors", "outlier-features"),
        *("early-layers", "flops", "bytes"),
    }
)
"""Explanations of what a run shows; and one of a model's size, which these are too small for."""


def test_there_is_a_check_of_each() -> None:
    assert CLAIMS.keys() | OF_RUNS == {one.name for one in EXPLANATIONS}
    assert not CLAIMS.keys() & OF_RUNS


@pytest.mark.parametrize("one", CASES, ids=str)
def test_every_answer_is_true(one: Case) -> None:
    architecture = one.architecture
    flows, done = architecture.flows, set()
    for node in architecture.modules:
        like = flows.like.get(node.path, node.path) if flows else node.path
        for answer in answers_for_module(architecture, node):
            if (like, answer.text) in done:
                continue
            done.add((like, answer.text))
            check = CLAIMS[answer.name]
            assert check(one, node, answer), f"{node.path}: {answer.text}"


def asked(one: Case) -> set[str]:
    """Return the names of all that is asked anywhere in a model."""
    architecture = one.architecture
    return {
        answer.name
        for node in architecture.modules
        for answer in answers_for_module(architecture, node)
    }


USUAL = {"heads", "scale", "gamma", "residual", "other-width"}
"""What is asked of any model that is built after the Transformer's parts, 1.67 times as wide."""


@pytest.mark.parametrize(
    ("one", "there", "absent"),
    [
        (
            case("bert"),
            {*USUAL, "mask", "start-token", "end-token", "segments", "mask-token", "pooler"},
            {"causal-mask", "one-segment", "unscaled", "tied-weights", "last-token", "gated-width"},
        ),
        (case("bert", "masked-lm"), {"tied-weights", "subtotal"}, {"pooler"}),
        (case("bert", intermediate_size=96), {"four-times"}, {"other-width"}),
        (
            case("gpt2"),
            {"heads", "scale", "gamma", "four-times", "causal-mask", "last-token", "positions"},
            {"start-token", "end-token", "mask-token", "mask", "pooler", "segments", "subtotal"},
        ),
        (case("gpt2", scale_attn_weights=False), {"heads"}, {"scale", "unscaled"}),
        (
            case("roberta", type_vocab_size=1),
            {*USUAL, "one-segment", "start-token"},
            {"segments"},
        ),
        (case("albert"), {*USUAL, "shared-layers", "pooler"}, {"causal-mask"}),
        (
            case("t5"),
            {"unscaled", "gamma-of-rms", "distances", "heads-of-own-size", "tied-weights"},
            {"scale", "gamma", "start-token", "positions", "heads", "pooler", "subtotal"},
        ),
        (
            case("llama"),
            {"gamma-of-rms", "shared-keys", "gated-width", "causal-mask"},
            {"gamma", "heads", "other-width", "segments", "mask"},
        ),
        (
            case("electra", "masked-lm"),
            {"mask-token-of-generator", "start-token"},
            {"mask-token"},
        ),
        (case("distilbert"), {*USUAL, "start-token"}, {"segments", "one-segment", "pooler"}),
        (case("modernbert"), {"gated-width", "gamma-alone"}, {"gamma", "segments"}),
        (case("mpnet"), {*USUAL, "distances", "positions"}, {"unscaled"}),
    ],
    ids=lambda value: str(value) if isinstance(value, Case) else "",
)
def test_what_is_asked_is_right_for_the_family(
    one: Case, there: set[str], absent: set[str]
) -> None:
    assert there <= asked(one)
    assert not absent & asked(one)


def test_beside_the_weight_of_the_queries_stands_that_it_is_not_counted_by_heads() -> None:
    one = case("bert")
    node = one.node("encoder.layer.0.attention.self.query")
    (answer,) = answers_for_module(one.architecture, node)
    assert answer.question == "Why 3 heads of size 8 rather than one of size 24?"
    assert answer.text.endswith("nothing is counted 3 times.")
