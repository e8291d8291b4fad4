"""Multiply-adds of parts and of heads, and the outlines that come with the program."""

import pytest
from msgspec.structs import replace

from bertviewer.core.analysis.costs import head_cost, outline_of, part_costs
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.outline import bundled_outlines
from bertviewer.core.sources.presets import preset_names
from tests.core.formulas.formula_models import architecture_of
from tests.core.opened import derived, plain

WIDTH, HEADS, SIZE = 768, 12, 64


def test_parts_and_heads_add_up() -> None:
    architecture = derived("bert-base-uncased")
    costs, values = architecture.costs, bindings(architecture, None)
    assert costs is not None
    batch, tokens = values["B"], values["S"]

    parts = part_costs(architecture, "", values)
    macs = [part.macs for part in parts]
    assert sum(macs) == evaluate(costs.modules[""].macs or "0", values)
    assert macs == sorted(macs, reverse=True)
    assert macs[0] == 4 * WIDTH * WIDTH * batch * tokens * 12
    assert parts[0].label.count("–") == 1  # a range of layers
    assert parts[0].path in costs.modules

    head = head_cost(architecture, "encoder.layer.3.attention.self", values)
    assert head is not None
    assert head.heads == HEADS
    assert head.parameters == {
        **dict.fromkeys(("query", "key", "value"), (WIDTH + 1) * SIZE),
        "output": WIDTH * SIZE,
    }
    assert head.macs == batch * (3 * tokens * WIDTH * SIZE + 2 * tokens * tokens * SIZE)
    assert head.output_macs == batch * tokens * WIDTH * SIZE


def test_a_modules_own_products_are_one_of_its_parts() -> None:
    architecture = derived("bert-base-uncased")
    values = bindings(architecture, None)
    parts = part_costs(architecture, "encoder.layer.0.attention.self", values)
    assert [part.label for part in parts] == ["query", "key", "value", ""]
    assert parts[3].macs == values["B"] * 2 * values["S"] ** 2 * WIDTH
    for path in ("", "embeddings", "encoder.layer.0", "encoder.layer.0.output.dense"):
        assert head_cost(architecture, path, values) is None


SCORES = "2*B*S**2*D"


@pytest.mark.parametrize(
    ("name", "path", "macs", "output_macs"),
    [
        # One fused projection.
        (
            "gpt2",
            "h.0.attn",
            {"": f"4*B*S*D**2 + {SCORES}", ".c_attn": "3*B*S*D**2", ".c_proj": "B*S*D**2"},
            5 * 24 * 8,
        ),
        # A function that also projects.
        (
            "transformer-base",
            "transformer.encoder.layers.0.self_attn",
            {"": f"4*B*S*D**2 + {SCORES}"},
            0,
        ),
    ],
)
def test_all_heads_cost_what_their_attention_costs(
    name: str, path: str, macs: dict[str, str], output_macs: int
) -> None:
    modules = {f"{path}{part}": ModuleCosts(text, (), ()) for part, text in macs.items()}
    architecture = replace(architecture_of(name), costs=Costs((), modules, ()))
    values = {"B": 1, "S": 5, "D": 24}
    cost = head_cost(architecture, path, values)
    assert cost is not None
    assert cost.output_macs == output_macs
    assert cost.heads * (cost.macs + cost.output_macs) == evaluate(macs[""], values)


NAMES = ("demo", *preset_names())


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_outline_is_that_of_its_model(name: str) -> None:
    architecture, outline = plain(name), bundled_outlines()[name]
    assert outline == outline_of(architecture)
    stacks = sum(stack.stored * (stack.attention + stack.feed_forward) for stack in outline.stacks)
    assert outline.before + stacks + outline.after == architecture.root.parameters


def test_outlines_of_layers() -> None:
    outlines = bundled_outlines()
    assert tuple(outlines) == NAMES
    (stack,), norm = outlines["bert-base-uncased"].stacks, 2 * WIDTH
    assert stack.attention == 4 * (WIDTH * WIDTH + WIDTH) + norm
    assert stack.feed_forward == 2 * WIDTH * 4 * WIDTH + 5 * WIDTH + norm
    encoder, decoder = outlines["transformer-base"].stacks
    assert decoder.attention == 2 * encoder.attention
    (shared,) = outlines["albert-base-v2"].stacks
    assert (shared.layers, shared.stored) == (12, 1)
