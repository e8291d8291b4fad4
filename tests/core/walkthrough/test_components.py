"""The teacher's sums by groups, as text."""

from bertviewer.core.expressions.polynomials import Relation
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import (
    ComponentCounts,
    count_components,
    relations_text,
    usual_relations,
)
from tests.core.opened import derived, plain
from tests.core.walkthrough.small_walkthroughs import flowing


def groups_of(architecture: Architecture, as_a_teacher: bool = True) -> ComponentCounts:
    relations = usual_relations(architecture.symbols) if as_a_teacher else ()
    return count_components(build_walkthrough(architecture), architecture, relations)


def test_bert_base_chinese_with_its_masked_lm_head() -> None:
    """S2, word for word."""
    groups = groups_of(derived("bert-base-chinese", "masked-lm"))
    embedding, blocks, head = groups.components
    assert (embedding.title, blocks.title, head.title) == ("Embedding", "Blocks", "Head")
    assert embedding.spelled == "V*D + 2*D + L*D + 2*D"
    assert embedding.parameters == 16_622_592
    assert blocks.text == (
        "N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D) = N·(12·D² + 13·D) = 85,054,464"
    )
    assert head.collected == "V + D**2 + 3*D"
    assert (groups.total, groups.tensors) == (102_290_312, 202)
    assert groups.reconciles


def test_the_wider_layer_kept_apart() -> None:
    groups = groups_of(derived("bert-base-chinese", "masked-lm"), as_a_teacher=False)
    embedding, blocks, _ = groups.components
    assert embedding.spelled == "V*D + T*D + L*D + 2*D"
    assert blocks.text == (
        "N·(4·(D·D+D) + 2·D + D·I + I + I·D + D + 2·D) = N·(4·D² + 2·D·I + 9·D + I) = 85,054,464"
    )


def test_the_relations_of_a_teacher() -> None:
    chinese = usual_relations(plain("bert-large-chinese").symbols)
    assert relations_text(chinese) == "I = 4·D, T = 2"
    assert usual_relations(plain("gpt2").symbols) == ()


def test_only_relations_that_a_count_needs() -> None:
    """E = D holds in ELECTRA base, and no formula of its has an E."""
    groups = groups_of(derived("bert-base-chinese", "masked-lm"))
    more = Relation("E", "D", "E = D")
    architecture = derived("bert-base-chinese", "masked-lm")
    again = count_components(
        build_walkthrough(architecture), architecture, (*groups.relations, more)
    )
    assert again == groups


def test_groups_add_up_and_evaluate() -> None:
    architecture = derived("bert-base-chinese", "masked-lm")
    groups = groups_of(architecture, as_a_teacher=False)
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    assert groups.reconciles
    for group in groups.components:
        assert eval(group.collected, {"__builtins__": {}}, values) == group.parameters, group.title


def test_a_square_alone_is_no_second_line() -> None:
    *_, pooler = groups_of(derived("bert-base-chinese")).components
    assert (pooler.spelled, pooler.collected) == ("D*D + D", "D**2 + D")
    assert pooler.lines == ("D·D + D",)
    assert pooler.text == "D·D + D = 590,592"


def test_the_transformers_two_stacks() -> None:
    titles = [group.title for group in groups_of(flowing("transformer-base")).components]
    assert titles == ["Embedding", "Encoder blocks", "Decoder blocks", "After the blocks"]


def test_no_formula_is_no_text() -> None:
    groups = groups_of(flowing("bert-base-uncased"))
    assert [(group.spelled, group.collected) for group in groups.components] == [("", "")] * 3
    assert groups.components[0].text == "23,837,184"
    assert groups.reconciles
