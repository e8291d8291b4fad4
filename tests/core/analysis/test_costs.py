"""Outlines, costs of parts and of heads."""

import pytest

from bertviewer.core.analysis.costs import head_cost, outline_of, part_costs
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.outline import bundled_outlines
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from tests.core.opened import derived

ATTENTIONS = {
    "bert-base-uncased": "encoder.layer.3.attention.self",
    "distilbert-base-uncased": "transformer.layer.3.attention",
    "gpt2": "h.3.attn",
}
WIDTH, HEADS, SIZE = 768, 12, 64


@pytest.mark.parametrize("name", ATTENTIONS)
def test_the_parts_are_the_whole_and_the_largest_comes_first(name: str) -> None:
    architecture = derived(name)
    values = bindings(architecture, None)
    parts = part_costs(architecture, "", values)
    costs = architecture.costs
    assert costs is not None
    assert sum(part.macs for part in parts) == evaluate(costs.modules[""].macs or "0", values)
    assert [part.macs for part in parts] == sorted((part.macs for part in parts), reverse=True)
    tokens = values["B"] * values["S"]
    assert parts[0].macs == 4 * WIDTH * WIDTH * tokens * (6 if "distil" in name else 12)
    assert parts[0].label.count("–") == 1
    assert parts[0].path in costs.modules


@pytest.mark.parametrize(("name", "path"), ATTENTIONS.items())
def test_a_head_has_its_part_of_each_projection(name: str, path: str) -> None:
    architecture = derived(name)
    values = bindings(architecture, None)
    cost = head_cost(architecture, path, values)
    assert cost is not None
    assert cost.heads == HEADS
    assert cost.parameters == {
        **dict.fromkeys(("query", "key", "value"), (WIDTH + 1) * SIZE),
        "output": WIDTH * SIZE,
    }
    tokens, batch = values["S"], values["B"]
    projections = 3 * tokens * WIDTH * SIZE
    assert cost.macs == batch * (projections + 2 * tokens * tokens * SIZE)
    assert cost.output_macs == batch * tokens * WIDTH * SIZE


def test_what_a_module_does_itself_is_one_of_its_parts() -> None:
    architecture = derived("bert-base-uncased")
    values = bindings(architecture, None)
    parts = part_costs(architecture, "encoder.layer.0.attention.self", values)
    assert [part.label for part in parts] == ["query", "key", "value", ""]
    assert parts[3].macs == values["B"] * 2 * values["S"] ** 2 * WIDTH


def test_no_head_has_a_part_of_the_rest() -> None:
    architecture = derived("bert-base-uncased")
    values = bindings(architecture, None)
    for path in ("", "embeddings", "encoder.layer.0", "encoder.layer.0.output.dense"):
        assert head_cost(architecture, path, values) is None


def test_a_function_that_projects_too_is_counted_once() -> None:
    architecture = derived("transformer-base")
    path = "transformer.encoder.layers.0.self_attn"
    cost = head_cost(architecture, path, bindings(architecture, None))
    assert cost is not None
    assert cost.output_macs == 0
    assert cost.heads * cost.macs == evaluate(
        architecture.costs.modules[path].macs or "0" if architecture.costs else "0",
        bindings(architecture, None),
    )


NAMES = ("demo", *preset_names())


@pytest.mark.parametrize("name", NAMES)
def test_an_outline_that_comes_with_the_program_is_that_of_its_model(name: str) -> None:
    architecture = open_model(parse_source(name)).architecture
    outline = bundled_outlines()[name]
    assert outline == outline_of(architecture)
    stacks = sum(stack.stored * (stack.attention + stack.feed_forward) for stack in outline.stacks)
    assert outline.before + stacks + outline.after == architecture.root.parameters


def test_attention_is_told_from_the_rest_of_a_layer() -> None:
    (stack,) = bundled_outlines()["bert-base-uncased"].stacks
    width = 768
    norm = 2 * width
    assert stack.attention == 4 * (width * width + width) + norm
    assert stack.feed_forward == 2 * width * 4 * width + 5 * width + norm
    encoder, decoder = bundled_outlines()["transformer-base"].stacks
    assert decoder.attention == 2 * encoder.attention


def test_a_shared_layer_is_stored_once_and_called_often() -> None:
    (stack,) = bundled_outlines()["albert-base-v2"].stacks
    assert (stack.layers, stack.stored) == (12, 1)


def test_every_model_that_comes_with_the_program_has_one() -> None:
    assert tuple(bundled_outlines()) == NAMES
