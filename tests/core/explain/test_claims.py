"""Notes on formulas and explanations are true of their model, or are not shown."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from bertviewer.core.explain.answers import EXPLANATIONS, answers_for_module
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.schema.modules import ModuleNode
from tests.core.explain.claims import CLAIMS, Explained
from tests.core.formulas.claims import claim_of
from tests.core.formulas.note_cases import CASES, Case, case

WITHOUT_CLAIM = frozenset(
    {
        *("special-tokens", "first-token", "even-attention", "flat-lines", "growing-lines"),
        *("pieces", "marked-spaces", "marked-pieces", "alike-vectors", "outlier-features"),
        *("early-layers", "flops", "bytes"),
    }
)
"""Explanations about a run, and "bytes", for which these models are too small."""


def test_every_explanation_about_a_model_has_a_claim() -> None:
    assert CLAIMS.keys() | WITHOUT_CLAIM == {one.name for one in EXPLANATIONS}
    assert not CLAIMS.keys() & WITHOUT_CLAIM


def claims_of(one: Case) -> Iterator[tuple[ModuleNode, str, Callable[[], bool]]]:
    """Yield the notes and answers of a model, each once, with its module and its check."""
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
                yield (
                    node,
                    answer.text,
                    partial(CLAIMS[answer.name], Explained(one, node, (), answer)),
                )
            done.add((like, answer.text))


@pytest.mark.parametrize("one", CASES, ids=str)
def test_notes_and_answers_are_true_of_the_model(one: Case) -> None:
    for node, text, check in claims_of(one):
        assert check(), f"{node.path}: {text}"


USUAL = "heads scale gamma residual other-width"
"""Explanations of any model made of the Transformer's parts whose inner width is not 4 D."""


@pytest.mark.parametrize(
    ("one", "shown", "hidden"),
    [
        (
            case("bert"),
            f"{USUAL} mask start-token end-token segments mask-token pooler",
            "causal-mask one-segment unscaled tied-weights last-token gated-width",
        ),
        (case("bert", "masked-lm"), "tied-weights subtotal", "pooler"),
        (case("bert", intermediate_size=96), "four-times", "other-width"),
        (
            case("gpt2"),
            "heads scale gamma four-times causal-mask last-token positions",
            "start-token end-token mask-token mask pooler segments subtotal",
        ),
        (case("gpt2", scale_attn_weights=False), "heads", "scale unscaled"),
        (case("roberta", type_vocab_size=1), f"{USUAL} one-segment start-token", "segments"),
        (case("albert"), f"{USUAL} shared-layers pooler", "causal-mask"),
        (
            case("t5"),
            "unscaled gamma-of-rms distances heads-of-own-size tied-weights",
            "scale gamma start-token positions heads pooler subtotal",
        ),
        (
            case("llama"),
            "gamma-of-rms shared-keys gated-width causal-mask",
            "gamma heads other-width segments mask",
        ),
        (case("electra", "masked-lm"), "mask-token-of-generator start-token", "mask-token"),
        (case("distilbert"), f"{USUAL} start-token", "segments one-segment pooler"),
        (case("modernbert"), "gated-width gamma-alone", "gamma segments"),
        (case("mpnet"), f"{USUAL} distances positions", "unscaled"),
    ],
    ids=lambda value: str(value) if isinstance(value, Case) else "",
)
def test_explanations_of_a_family(one: Case, shown: str, hidden: str) -> None:
    architecture = one.architecture
    answers = (answers_for_module(architecture, node) for node in architecture.modules)
    names = {answer.name for each in answers for answer in each}
    assert set(shown.split()) <= names
    assert not set(hidden.split()) & names


def test_heads_do_not_multiply_the_weight_of_the_queries() -> None:
    one = case("bert")
    node = one.node("encoder.layer.0.attention.self.query")
    (answer,) = answers_for_module(one.architecture, node)
    assert answer.question == "Why 3 heads of size 8 rather than one of size 24?"
    assert answer.text.endswith("does not change the number of parameters.")
