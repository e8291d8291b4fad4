"""Counts of steps and components add up to the model."""

import json
from pathlib import Path

import pytest

from bertviewer.core.building.transformer_base import register
from bertviewer.core.expressions.polynomials import Relation
from bertviewer.core.loading.deriving import with_flows
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import (
    ComponentCounts,
    Subtotal,
    count_components,
    relations_text,
    subtotal,
    usual_relations,
)
from bertviewer.core.walkthrough.walkthrough import find_step
from tests.core.formulas.formula_models import architecture_of
from tests.core.opened import derived, plain
from tests.core.walkthrough.small_walkthroughs import MORE, SMALL, flowing, small, step

register()

COPIES = ("xlm-roberta", "camembert")
"""Families whose code is a copy of RoBERTa's."""


def check_counts(architecture: Architecture) -> None:
    """Compare each step with the parameters of its modules, by their own counts."""
    stored = {t.name: t.tied_to or t.name for t in architecture.parameters}
    sizes = {t.name: t.numel for t in architecture.parameters if t.tied_to is None}
    modules = {node.path: node.parameters for node in architecture.modules}
    counted: set[str] = set()
    walkthrough = build_walkthrough(architecture)
    for at in walkthrough.steps:
        below = [t.name for path in at.paths for t in architecture.tensors_below(path)]
        held = {name for name in below if name in sizes}
        if at.paths:
            assert sum(sizes[name] for name in held - counted) == at.count.parameters, at
        if not held & counted:
            assert sum(modules[path] for path in at.paths) in (0, at.count.parameters), at
        counted |= held | {stored[name] for name in at.reads if name in stored}
        if at.count.numbers:  # Python does the sum, thousands separators aside
            assert eval(at.count.numbers.replace(",", "")) == at.count.parameters, at
    assert walkthrough.reconciles
    assert sum(at.count.parameters for at in walkthrough.steps) == architecture.root.parameters
    assert walkthrough.trainable == architecture.root.trainable
    for part in walkthrough.sections:
        assert part.reconciles, part.title
        if walkthrough.sections[0].is_executed:
            assert {at.is_layers for at in part.steps} == {part.kind == "others"}, part.title
    for node in architecture.modules[1:]:
        if node.parameters:
            assert find_step(walkthrough.steps, architecture, node.path), node.path


@pytest.mark.parametrize("family", [*(f for f in SMALL if f not in COPIES), *MORE])
def test_a_step_counts_what_its_modules_hold(family: str) -> None:
    check_counts(small(family))


@pytest.mark.parametrize("family", ["bert", "distilbert", "modernbert"])
def test_with_a_head(family: str) -> None:
    check_counts(small(family, "masked-lm"))


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "transformer-base"])
def test_without_a_data_flow(name: str) -> None:
    check_counts(plain(name))


def test_projections_and_norms_of_one_module_are_named_apart() -> None:
    walkthrough = build_walkthrough(flowing("bert-base-uncased"))
    attention = step(walkthrough, "Multi-head self-attention")
    layer = "encoder.layer.0"
    assert attention.paths == (f"{layer}.attention.self", f"{layer}.attention.output.dense")
    assert attention.count.parameters == 2_362_368
    network = step(walkthrough, "Feed-forward network")
    assert network.paths == (f"{layer}.intermediate", f"{layer}.output.dense")
    assert network.count.parameters == 4_722_432


def test_a_part_of_a_module_says_so() -> None:
    """XLNet's projections are tensors of a module that also has a norm and unused tensors."""
    attention = step(build_walkthrough(small("xlnet")), "Multi-head self-attention")
    assert attention.paths == ()
    assert attention.locations == ("in layer.0.rel_attn",)


def test_layers_are_named_by_their_numbers() -> None:
    steps = build_walkthrough(small("modernbert", num_hidden_layers=7)).steps
    assert [at.locations for at in steps if at.is_layers] == [
        ("layers.2, 4, 5",),
        ("layers.6",),
    ]
    others = build_walkthrough(flowing("bert-base-uncased")).steps[16]
    assert others.locations == ("encoder.layer.1\N{NO-BREAK SPACE}…\N{NO-BREAK SPACE}11",)


def test_a_table_for_both_sides_is_named_where_it_is_stored() -> None:
    tables = [s for s in build_walkthrough(small("t5")).steps if s.name == "Token embedding"]
    assert [(at.paths, at.count.parameters) for at in tables] == [
        (("shared",), 97 * 24),
        (("decoder.embed_tokens",), 0),
    ]


def test_experts_without_a_token_count_too(tmp_path: Path) -> None:
    """A model that is traced with weights calls the experts that its tokens are routed to."""
    config = {**SMALL["t5"], "num_experts": 3, "num_sparse_encoder_layers": 1}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "switch_transformers", **config}), encoding="utf-8")
    source = parse_source(str(path))
    architecture = with_flows(open_model(source).architecture, source, no_progress)
    experts = step(build_walkthrough(architecture), "Experts")
    assert experts.count.parameters == 3 * 2 * 24 * 40
    assert experts.count.numbers == "3*(24*40+40*24)"


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
    values = {symbol.name: symbol.value for symbol in architecture.symbols}
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


def subtotal_of(architecture: Architecture) -> Subtotal | None:
    return subtotal(build_walkthrough(architecture), architecture)


def test_the_count_of_the_layers_alone_stands_beside_the_model_s() -> None:
    found = subtotal_of(plain("bert-large-chinese"))
    assert found is not None
    assert (found.parameters, found.total) == (324_472_832, 325_522_432)
    assert found.difference == "pooler 1,049,600"
    assert found.paths == ("pooler",)


@pytest.mark.parametrize(
    ("name", "task", "parameters", "total", "difference"),
    [
        ("bert-base-uncased", "base", 108_891_648, 109_482_240, "pooler 590,592"),
        (
            "bert-base-uncased",
            "sequence-classification",
            108_891_648,
            109_483_778,
            "pooler 590,592 and head 1,538",
        ),
        # Its decoder's weight is the table of words.
        ("bert-base-chinese", "masked-lm", 101_677_056, 102_290_312, "head 613,256"),
        ("bert-base-uncased", "masked-lm", 108_891_648, 109_514_298, "head 622,650"),
    ],
)
def test_poolers_and_heads_are_left_out(
    name: str, task: str, parameters: int, total: int, difference: str
) -> None:
    found = subtotal_of(plain(name, task))
    assert found is not None
    assert (found.parameters, found.total, found.difference) == (parameters, total, difference)


@pytest.mark.parametrize(
    ("name", "task", "parameters"),
    [("bert-large-chinese", "base", 324_472_832), ("bert-base-chinese", "masked-lm", 101_677_056)],
)
def test_a_walk_in_the_order_of_execution_gives_the_same(
    name: str, task: str, parameters: int
) -> None:
    found = subtotal_of(flowing(name, task))
    assert found is not None
    assert found.parameters == parameters


@pytest.mark.parametrize("family", ["gpt2", "t5", "llama", "distilbert", "transformer-base"])
def test_a_model_with_nothing_on_top_has_none(family: str) -> None:
    assert subtotal_of(architecture_of(family)) is None


def test_a_last_norm_is_of_the_layers() -> None:
    architecture = architecture_of("gpt2", "sequence-classification")
    found = subtotal_of(architecture)
    assert found is not None
    assert found.paths == ("score",)


def test_the_parts_of_a_head_are_one() -> None:
    found = subtotal_of(architecture_of("mpnet", "masked-lm"))
    assert found is not None
    assert found.difference == f"head {found.total - found.parameters:,}"
