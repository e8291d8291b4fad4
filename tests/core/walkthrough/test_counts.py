"""A step's count is that of the modules that it names, in every family."""

import json
from pathlib import Path

import pytest

from bertviewer.core.building.transformer_base import register
from bertviewer.core.loading.deriving import with_flows
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.walkthrough import find_step
from tests.core.opened import plain
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
