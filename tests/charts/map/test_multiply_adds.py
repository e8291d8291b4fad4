"""Multiply-adds of the nodes of the map, for the tokens of a run."""

import pytest

from bertviewer.charts.map.multiply_adds import MultiplyAdds
from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.core.schema.activation_run import (
    ActivationRun,
    ModuleActivation,
    Sentence,
    Token,
)
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import Statistics
from tests.core.opened import derived
from tests.core.walkthrough.small_walkthroughs import small

NOTHING = Statistics(0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0)
PRESETS = ["bert-base-uncased", "gpt2", "albert-base-v2", "transformer-base"]


def run(
    architecture: Architecture,
    tokens: int,
    target: int = 0,
    modules: tuple[ModuleActivation, ...] = (),
) -> ActivationRun:
    """Return a run of so many tokens with these modules."""
    segments = [0] * tokens + [1] * target
    read = tuple(Token(place, "a", segment) for place, segment in enumerate(segments))
    return ActivationRun(architecture.source, Sentence("a"), "bert", read, modules, (), 0.0, 0.0)


@pytest.mark.parametrize("name", PRESETS)
def test_nodes_add_up_to_the_formula_of_their_module_at_any_length(name: str) -> None:
    architecture = derived(name)
    graphs, flows, costs = PartGraphs(architecture), architecture.flows, architecture.costs
    assert flows is not None
    assert costs is not None
    target = 9 if architecture.config.get("is_encoder_decoder") else 0
    for found in (None, run(architecture, 37, target), run(architecture, 1, target)):
        counts = MultiplyAdds(graphs, found)
        for path, flow in flows.distinct.items():
            if not flow.macs:
                continue
            values = [counts.of_node(Scope(path), node) for node in flow.nodes if node.macs]
            assert None not in values, path
            whole = costs.macs(path, counts.values)
            traced = costs.macs(path, {**counts.values, **flows.lengths})
            assert whole is not None
            assert traced is not None
            # A layer that is called twelve times is drawn as it is called once.
            total = sum(value for value in values if value is not None)
            assert total * traced == whole * flow.macs, path
            assert counts.of_module(path) == pytest.approx(total)


def test_the_steps_of_an_attention_share_its_products() -> None:
    architecture = derived("bert-base-uncased")
    graphs = PartGraphs(architecture)
    layer = Scope("encoder.layer.3")
    flow = graphs.flow(layer)
    assert flow is not None
    (attention,) = [node for node in flow.nodes if node.operation == "attention"]
    inner = layer.group(attention.id)
    steps = graphs.flow(inner)
    assert steps is not None
    counts = MultiplyAdds(graphs, run(architecture, 20))
    found = {node.name: counts.of_node(inner, node) for node in steps.nodes if node.macs}
    assert found == {"Q Kᵀ": 20 * 20 * 768, "P V": 20 * 20 * 768}
    assert counts.of_node(layer, attention) == 2 * 20 * 20 * 768


def test_counts_of_a_run_precede_formulas() -> None:
    architecture = small("mixtral")
    path = "layers.0.mlp.experts"
    counted = ModuleActivation(path, "Experts", None, (1,), (NOTHING, NOTHING), 600)
    counts = MultiplyAdds(PartGraphs(architecture), run(architecture, 5, modules=(counted,)))
    assert counts.of_module(path) == 300.0
    mlp = Scope("layers.0.mlp")
    flow = PartGraphs(architecture).flow(mlp)
    assert flow is not None
    (experts,) = [node for node in flow.nodes if node.operation == "experts"]
    assert counts.of_node(mlp, experts) == 300.0
    # Counts of other modules are unknown for this sentence.
    assert counts.of_module("layers.0.self_attn") is None


def test_the_sentence_has_the_number_of_tokens() -> None:
    bert = derived("bert-base-uncased")
    assert MultiplyAdds(PartGraphs(bert)).sentence("figures") == "figures for 128 tokens"
    after = MultiplyAdds(PartGraphs(bert), run(bert, 18))
    assert after.sentence("figures") == "figures for 18 tokens"
    both = derived("transformer-base")
    assert MultiplyAdds(PartGraphs(both), run(both, 7, 5)).sentence("figures") == (
        "figures for 7 and 5 tokens"
    )
    # Without formulas, counts are those of the traced sentence.
    assert MultiplyAdds(PartGraphs(small("bert"))).sentence("figures") == "figures for 16 tokens"
    assert MultiplyAdds(PartGraphs(small("vit"))).sentence("figures") == "figures for one input"
