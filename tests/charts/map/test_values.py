"""Values and colours of the nodes and blocks of the map."""

import pytest
from msgspec.structs import replace

from bertviewer.charts.map.blocks import strips_of
from bertviewer.charts.map.coloring import MapColoring
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.map.values import (
    CHECK,
    MACS,
    PARAMETERS,
    PART,
    MapData,
    MapMeasure,
    MapValues,
    figure_text,
    share_text,
)
from bertviewer.charts.theme import DARK, LIGHT, Theme, mixed
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, Sentence
from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.core.schema.flow import Node
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.util.text import printable
from tests.charts.colors import contrast
from tests.core.walkthrough.small_walkthroughs import flowing, small

LAYER = Scope("encoder.layer.1")
STD = MapMeasure("statistic", "std")
B_MINUS_A = MapMeasure("difference", "std")


def run(scale: float = 1.0, path: str = "") -> ActivationRun:
    """Return a run in which the std of each module is its index times a scale."""
    architecture = small("bert")
    modules = [
        ModuleActivation(
            node.path, node.class_name, None, (1, 4), (statistics(scale * number),), None
        )
        for number, node in enumerate(architecture.modules)
        if node.path != path
    ]
    return ActivationRun(
        architecture.source, Sentence("a"), "bert", (), tuple(modules), (), 0.0, 0.0
    )


def statistics(std: float) -> Statistics:
    return Statistics(4, 0, 0, 0, 0.0, 4 * std * std, -std, std)


def index_of(path: str) -> int:
    return [node.path for node in small("bert").modules].index(path)


def node(graphs: PartGraphs, part: Scope, name: str) -> Node:
    flow = graphs.flow(part)
    assert flow is not None
    return next(each for each in flow.nodes if name in (each.name, each.operation))


def test_parameters_of_modules_groups_and_decks() -> None:
    graphs = PartGraphs(small("bert"))
    values = MapValues(graphs, MapData())
    modules = {each.path: each.parameters for each in small("bert").modules}
    layer = modules["encoder.layer.1"]
    network = sum(
        modules[f"encoder.layer.1.{path}"] for path in ("intermediate.dense", "output.dense")
    )
    assert values.of_node(PARAMETERS, WHOLE, node(graphs, WHOLE, "layer 0")) == 2 * layer
    assert values.of_node(PARAMETERS, LAYER, node(graphs, LAYER, "query")) == 24 * 24 + 24
    assert values.of_node(PARAMETERS, LAYER, node(graphs, LAYER, "feed-forward")) == network
    assert values.of_node(PARAMETERS, LAYER, node(graphs, LAYER, "residual")) is None
    assert values.of_node(PARAMETERS, LAYER, node(graphs, LAYER, "hidden states")) is None


def test_a_group_has_the_statistic_of_the_module_with_the_same_output() -> None:
    graphs = PartGraphs(small("bert"))
    values = MapValues(graphs, MapData(run()))
    heads, network = node(graphs, LAYER, "attention"), node(graphs, LAYER, "feed-forward")
    path = "encoder.layer.1.attention.self"
    assert values.of_node(STD, LAYER, heads) == pytest.approx(index_of(path))
    end = "encoder.layer.1.output.dense"
    assert values.of_node(STD, LAYER, network) == pytest.approx(index_of(end))


def test_heads_before_an_output_projection_have_no_statistic() -> None:
    # The output of GPT-2's module is that of its projection.
    architecture = small("gpt2")
    graphs, layer = PartGraphs(architecture), Scope("h.1")
    modules = tuple(
        ModuleActivation(each.path, each.class_name, None, (1,), (statistics(2.0),), None)
        for each in architecture.modules
    )
    values = MapValues(graphs, MapData(replace(run(), modules=modules)))
    assert values.of_node(STD, layer, node(graphs, layer, "attention")) is None
    assert values.of_node(STD, layer, node(graphs, layer, "c_attn")) == pytest.approx(2.0)


def test_differences_of_modules_that_both_runs_called() -> None:
    graphs = PartGraphs(small("bert"))
    path = "encoder.layer.1.attention.self.query"
    values = MapValues(graphs, MapData(run(3.0), run(1.0)))
    query = node(graphs, LAYER, "query")
    assert values.of_node(B_MINUS_A, LAYER, query) == pytest.approx(2.0 * index_of(path))
    without = MapValues(graphs, MapData(run(3.0), run(1.0, path)))
    assert without.of_node(B_MINUS_A, LAYER, query) is None


def test_a_shared_layer_has_the_statistic_of_each_call() -> None:
    architecture = flowing("albert-base-v2")
    graphs = PartGraphs(architecture)
    flow = graphs.flow(WHOLE)
    assert flow is not None
    blocks = [block for block in strips_of(flow)[0].blocks if block.is_layer]
    calls = tuple(statistics(float(number)) for number in range(12))
    shared = ModuleActivation(blocks[0].path, "AlbertLayerGroup", None, (1,), calls, None)
    values = MapValues(graphs, MapData(replace(run(), modules=(shared,))))
    found = [values.of_block(STD, block, 12) for block in blocks]
    assert found == pytest.approx([float(number) for number in range(12)])
    # Its parameters are stored once.
    plain = MapColoring(graphs, MapValues(graphs, MapData()), PART, LIGHT)
    figures = [plain.block(block, 12).figure for block in blocks]
    assert figures[0].endswith("%")
    assert set(figures[1:]) == {"repeated"}


def test_a_check_says_whether_all_steps_of_a_node_passed() -> None:
    graphs = PartGraphs(small("bert"))
    path = "encoder.layer.1.attention.self"
    steps = (
        CheckStep(f"{path}.query", "output", 1e-7, 1e-6, True),
        CheckStep(path, "output", 1e-3, 1e-6, False),
    )
    values = MapValues(graphs, MapData(run(), None, {path: Check(steps)}))
    assert values.of_node(CHECK, LAYER, node(graphs, LAYER, "query")) == 1
    assert values.of_node(CHECK, LAYER, node(graphs, LAYER, "attention")) == 0.5
    assert values.of_node(CHECK, LAYER, node(graphs, LAYER, "key")) is None
    coloring = MapColoring(graphs, values, CHECK, LIGHT)
    colors = coloring.node_colors(LAYER)
    assert colors is not None
    assert colors[node(graphs, LAYER, "query").id].figure == "✓"
    assert colors[node(graphs, LAYER, "attention").id].figure == "✗"


def test_larger_values_are_stronger_and_signs_differ_in_hue() -> None:
    graphs = PartGraphs(small("bert"))
    coloring = MapColoring(graphs, MapValues(graphs, MapData(run())), STD, LIGHT)
    colors = coloring.node_colors(LAYER)
    assert colors is not None
    query, last = (colors[node(graphs, LAYER, name).id] for name in ("query", "feed-forward"))
    assert query.strength < last.strength
    means = MapValues(graphs, MapData(run(1.0), run(3.0)))
    signed = MapColoring(graphs, means, B_MINUS_A, LIGHT).node_colors(LAYER)
    assert signed is not None
    assert signed[node(graphs, LAYER, "query").id].hue == LIGHT.diverging[1]
    scale = MapColoring(graphs, means, B_MINUS_A, LIGHT).legend().scale
    assert scale is not None
    assert scale.least.lstrip("−+") == scale.most.lstrip("−+")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_on_colours_are_legible(theme: Theme) -> None:
    graphs = PartGraphs(small("bert"))
    values = MapValues(graphs, MapData(run(3.0), run(1.0)))
    for measure in (PARAMETERS, MACS, STD, B_MINUS_A):
        coloring = MapColoring(graphs, values, measure, theme)
        for part in (WHOLE, LAYER):
            for color in (coloring.node_colors(part) or {}).values():
                fill = mixed(color.hue, theme.surface, color.strength)
                assert contrast(theme.text, fill) >= 4.5, (measure, color)


def test_texts_of_values() -> None:
    assert [share_text(share) for share in (0, 0.00002, 0.0065, 0.0781, 0.524, 1.0)] == [
        "0%", "<0.1%", "0.7%", "7.8%", "52%", "100%",
    ]  # fmt: skip
    assert figure_text(B_MINUS_A, 0.25) == "+0.25"
    assert figure_text(B_MINUS_A, -0.25) == "\N{MINUS SIGN}0.25"
    assert figure_text(PART, None) == ""
    for count in (12, 147_456, 11_720_448, 1_430_000_000):
        assert printable(figure_text(MACS, count)) == figure_text(MACS, count)
