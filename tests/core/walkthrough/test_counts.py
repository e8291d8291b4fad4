"""Parameter counts of components, spelled out, and the count without poolers and heads."""

import pytest

from bertviewer.core.expressions.polynomials import Relation
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import (
    ComponentCounts,
    Subtotal,
    count_components,
    relations_text,
    subtotal,
    usual_relations,
)
from tests.core.formulas.formula_models import architecture_of
from tests.core.opened import derived, plain
from tests.core.walkthrough.small_walkthroughs import flowing


def components_of(architecture: Architecture, *, is_substituted: bool = True) -> ComponentCounts:
    relations = usual_relations(architecture.symbols) if is_substituted else ()
    return count_components(build_walkthrough(architecture), architecture, relations)


def test_components_of_a_masked_language_model() -> None:
    counts = components_of(derived("bert-base-chinese", "masked-lm"))
    embedding, blocks, head = counts.components
    assert (embedding.title, blocks.title, head.title) == ("Embedding", "Blocks", "Head")
    assert embedding.spelled == "V*D + 2*D + L*D + 2*D"
    assert embedding.parameters == 16_622_592
    assert blocks.text == (
        "N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D) = N·(12·D² + 13·D) = 85,054,464"
    )
    assert head.collected == "V + D**2 + 3*D"
    assert (counts.total, counts.tensors) == (102_290_312, 202)
    assert counts.reconciles


def test_components_of_a_classifier_and_their_places() -> None:
    counts = components_of(derived("bert-base-uncased", "sequence-classification"))
    assert [(each.title, each.places, each.parameters) for each in counts.components[1:]] == [
        ("Blocks", ("bert.encoder.layer.0\u00a0…\u00a011",), 85_054_464),
        ("Pooler", ("bert.pooler",), 590_592),
        ("Head", ("classifier",), 1_538),
    ]
    t5 = components_of(architecture_of("t5")).components
    assert [(each.title, each.places) for each in t5] == [
        ("Embedding", ("shared",)),
        ("Encoder block 0", ("encoder.block.0",)),
        ("Encoder block 1", ("encoder.block.1",)),
        ("Decoder block 0", ("decoder.block.0",)),
        ("Decoder block 1", ("decoder.block.1",)),
        ("After the blocks", ("encoder.final_layer_norm", "decoder.final_layer_norm")),
    ]


def test_components_without_substitutions() -> None:
    architecture = derived("bert-base-chinese", "masked-lm")
    counts = components_of(architecture, is_substituted=False)
    embedding, blocks, _ = counts.components
    assert embedding.spelled == "V*D + T*D + L*D + 2*D"
    assert blocks.text == (
        "N·(4·(D·D+D) + 2·D + D·I + I + I·D + D + 2·D) = N·(4·D² + 2·D·I + 9·D + I) = 85,054,464"
    )
    values = {symbol.name: symbol.value for symbol in architecture.symbols}
    assert counts.reconciles
    for each in counts.components:
        assert eval(each.collected, {"__builtins__": {}}, values) == each.parameters, each.title


def test_usual_substitutions() -> None:
    assert relations_text(usual_relations(plain("bert-large-chinese").symbols)) == "I = 4·D, T = 2"
    assert usual_relations(plain("gpt2").symbols) == ()
    # E = D holds in ELECTRA base, none of whose formulas has an E.
    architecture = derived("bert-base-chinese", "masked-lm")
    counts = components_of(architecture)
    more = (*counts.relations, Relation("E", "D", "E = D"))
    assert count_components(build_walkthrough(architecture), architecture, more) == counts


def test_a_square_is_not_repeated_as_a_second_sum() -> None:
    *_, pooler = components_of(derived("bert-base-uncased")).components
    assert (pooler.spelled, pooler.collected) == ("D*D + D", "D**2 + D")
    assert pooler.lines == ("D·D + D",)
    assert pooler.text == "D·D + D = 590,592"


def test_components_of_two_stacks_and_without_formulas() -> None:
    titles = [each.title for each in components_of(flowing("transformer-base")).components]
    assert titles == ["Embedding", "Encoder blocks", "Decoder blocks", "After the blocks"]
    counts = components_of(flowing("bert-base-uncased"))
    assert [(each.spelled, each.collected) for each in counts.components] == [("", "")] * 3
    assert counts.components[0].text == "23,837,184"
    assert counts.reconciles


def subtotal_of(architecture: Architecture) -> Subtotal | None:
    return subtotal(build_walkthrough(architecture), architecture)


@pytest.mark.parametrize(
    ("name", "task", "parameters", "total", "difference"),
    [
        ("bert-large-chinese", "base", 324_472_832, 325_522_432, "pooler 1,049,600"),
        ("bert-base-uncased", "base", 108_891_648, 109_482_240, "pooler 590,592"),
        (
            "bert-base-uncased",
            "sequence-classification",
            108_891_648,
            109_483_778,
            "pooler 590,592 and head 1,538",
        ),
        # The decoder's weight is the table of the token embeddings.
        ("bert-base-chinese", "masked-lm", 101_677_056, 102_290_312, "head 613,256"),
    ],
)
def test_subtotals_leave_out_poolers_and_heads(
    name: str, task: str, parameters: int, total: int, difference: str
) -> None:
    for architecture in (plain(name, task), flowing(name, task)):
        found = subtotal_of(architecture)
        assert found is not None
        assert (found.parameters, found.total, found.difference) == (parameters, total, difference)


@pytest.mark.parametrize("family", ["gpt2", "t5", "llama", "distilbert", "transformer-base"])
def test_models_without_pooler_and_head_have_no_subtotal(family: str) -> None:
    assert subtotal_of(architecture_of(family)) is None


def test_what_belongs_to_a_head() -> None:
    gpt2 = subtotal_of(architecture_of("gpt2", "sequence-classification"))
    assert gpt2 is not None
    assert gpt2.paths == ("score",)  # not the last norm
    mpnet = subtotal_of(architecture_of("mpnet", "masked-lm"))
    assert mpnet is not None
    # One head of several parts.
    assert mpnet.difference == f"head {mpnet.total - mpnet.parameters:,}"
