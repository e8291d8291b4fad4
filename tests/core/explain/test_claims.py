"""Each note and each explanation is true of its model, or is not shown."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from bertviewer.core.explain.answers import EXPLANATIONS, answers_for_module
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.schema.modules import ModuleNode
from tests.core.explain.claims import CLAIMS
from tests.core.formulas.claims import claim_of
from tests.core.formulas.note_cases import CASES, Case, case

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


def claims_of(one: Case) -> Iterator[tuple[ModuleNode, str, Callable[[], bool]]]:
    """Yield each note and answer on a model once, with its module and what evaluates it."""
    architecture = one.architecture
    flows = architecture.flows
    done = set()
    for node in architecture.modules:
        like = flows.like.get(node.path, node.path) if flows else node.path
        formula = formula_of(node, architecture)
        for note in () if formula is None else formula.notes:
            assert "?}" not in note
            if (like, note) not in done and (claim := claim_of(note)):
                yield node, note, partial(claim[0], one, node, claim[1])
            done.add((like, note))
        for answer in answers_for_module(architecture, node):
            if (like, answer.text) not in done:
                yield node, answer.text, partial(CLAIMS[answer.name], one, node, answer)
            done.add((like, answer.text))


@pytest.mark.parametrize("one", CASES, ids=str)
def test_every_note_and_answer_is_true(one: Case) -> None:
    for node, text, check in claims_of(one):
        assert check(), f"{node.path}: {text}"


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
