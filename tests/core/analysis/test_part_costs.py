"""What multiplies most, and what one head has of it."""

import pytest

from bertviewer.core.analysis.costs import head_cost, part_costs
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.schema.bindings import letter_values
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
    values = letter_values(architecture, None)
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
    values = letter_values(architecture, None)
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
    values = letter_values(architecture, None)
    parts = part_costs(architecture, "encoder.layer.0.attention.self", values)
    assert [part.label for part in parts] == ["query", "key", "value", ""]
    assert parts[3].macs == values["B"] * 2 * values["S"] ** 2 * WIDTH


def test_no_head_has_a_part_of_the_rest() -> None:
    architecture = derived("bert-base-uncased")
    values = letter_values(architecture, None)
    for path in ("", "embeddings", "encoder.layer.0", "encoder.layer.0.output.dense"):
        assert head_cost(architecture, path, values) is None


def test_a_function_that_projects_too_is_counted_once() -> None:
    architecture = derived("transformer-base")
    path = "transformer.encoder.layers.0.self_attn"
    cost = head_cost(architecture, path, letter_values(architecture, None))
    assert cost is not None
    assert cost.output_macs == 0
    assert cost.heads * cost.macs == evaluate(
        architecture.costs.modules[path].macs or "0" if architecture.costs else "0",
        letter_values(architecture, None),
    )
