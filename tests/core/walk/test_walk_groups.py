"""The teacher's sums by groups, as text."""

import pytest

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.expressions.grouping import Relation
from bertviewer.core.walk.building import build_walk
from bertviewer.core.walk.groups import CountGroups, group_counts, relations_text, teacher_relations
from tests.core.opened import derived, plain
from tests.core.walk.walked import flowing


def groups_of(architecture: Architecture, as_a_teacher: bool = True) -> CountGroups:
    relations = teacher_relations(architecture.symbols) if as_a_teacher else ()
    return group_counts(build_walk(architecture), architecture, relations)


def test_bert_base_chinese_with_its_masked_lm_head() -> None:
    """S2, word for word."""
    groups = groups_of(derived("bert-base-chinese", "masked-lm"))
    embedding, blocks, head = groups.groups
    assert (embedding.title, blocks.title, head.title) == ("Embedding", "Blocks", "Head")
    assert embedding.spelled == "V*D + 2*D + L*D + 2*D"
    assert embedding.result == 16_622_592
    assert blocks.text == (
        "N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D) = N·(12·D² + 13·D) = 85,054,464"
    )
    assert head.collected == "V + D**2 + 3*D"
    assert (groups.total, groups.tensors) == (102_290_312, 202)
    assert groups.reconciles


def test_the_wider_layer_kept_apart() -> None:
    groups = groups_of(derived("bert-base-chinese", "masked-lm"), as_a_teacher=False)
    embedding, blocks, _ = groups.groups
    assert embedding.spelled == "V*D + T*D + L*D + 2*D"
    assert blocks.text == (
        "N·(4·(D·D+D) + 2·D + D·I + I + I·D + D + 2·D) = N·(4·D² + 2·D·I + 9·D + I) = 85,054,464"
    )


def test_the_relations_of_a_teacher() -> None:
    chinese = teacher_relations(plain("bert-large-chinese").symbols)
    assert relations_text(chinese) == "I = 4·D, T = 2"
    assert teacher_relations(plain("gpt2").symbols) == ()


def test_only_relations_that_a_count_needs() -> None:
    """E = D holds in ELECTRA base, and no formula of its has an E."""
    groups = groups_of(derived("bert-base-chinese", "masked-lm"))
    more = Relation("E", "D", "E = D")
    architecture = derived("bert-base-chinese", "masked-lm")
    again = group_counts(build_walk(architecture), architecture, (*groups.relations, more))
    assert again == groups


@pytest.mark.parametrize(("name", "task"), [("bert-base-chinese", "masked-lm"), ("gpt2", "base")])
def test_groups_add_up_and_evaluate(name: str, task: str) -> None:
    architecture = derived(name, task)
    groups = groups_of(architecture, as_a_teacher=False)
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    assert groups.reconciles
    for group in groups.groups:
        assert eval(group.collected, {"__builtins__": {}}, values) == group.result, group.title


def test_a_square_alone_is_no_second_line() -> None:
    *_, pooler = groups_of(derived("bert-base-chinese")).groups
    assert (pooler.spelled, pooler.collected) == ("D*D + D", "D**2 + D")
    assert pooler.lines == ("D·D + D",)
    assert pooler.text == "D·D + D = 590,592"


def test_the_transformers_two_stacks() -> None:
    titles = [group.title for group in groups_of(flowing("transformer-base")).groups]
    assert titles == ["Embedding", "Encoder blocks", "Decoder blocks", "After the blocks"]


def test_no_formula_is_no_text() -> None:
    groups = groups_of(flowing("bert-base-uncased"))
    assert [(group.spelled, group.collected) for group in groups.groups] == [("", "")] * 3
    assert groups.groups[0].text == "23,837,184"
    assert groups.reconciles
