"""Values and colours of the nodes and blocks of the map."""

import pytest
from msgspec.structs import replace

from bertviewer.charts.map.blocks import strips_of
from bertviewer.charts.map.coloring import MapColoring, measure_title
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
from tests.charts.described import Golden
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


def node(graphs: PartGraphs, part: Scope, name: str) -> Node:
    flow = graphs.flow(part)
    assert flow is not None
    return next(each for each in flow.nodes if name in (each.name, each.operation))


def test_values_figures_and_colours_of_nodes(golden: Golden) -> None:
    graphs = PartGraphs(small("bert"))
    attention = "encoder.layer.1.attention.self"
    steps = (
        CheckStep(f"{attention}.query", "output", 1e-7, 1e-6, True),
        CheckStep(attention, "output", 1e-3, 1e-6, False),
    )
    # Run A did not call the keys' layer.
    data = MapData(run(3.0), run(1.0, f"{attention}.key"), {attention: Check(steps)})
    values, lines = MapValues(graphs, data), []
    for measure, parts in (
        (PART, (WHOLE, LAYER)), (PARAMETERS, (WHOLE, LAYER)), (STD, (LAYER,)),
        (B_MINUS_A, (LAYER,)), (CHECK, (LAYER,)),
    ):  # fmt: skip
        coloring = MapColoring(graphs, values, measure, LIGHT)
        for part in parts:
            flow, colors = graphs.flow(part), coloring.node_colors(part)
            assert flow is not None
            lines.append(f"{measure_title(measure)} of {part.path or 'the model'}")
            for each in flow.nodes:
                color = colors[each.id] if colors else None
                value = values.of_node(measure, part, each)
                shown = color and f"{color.figure!r} {color.hue} {color.strength:.3f}"
                lines.append(f"    {each.name} ({each.operation}): {value} {shown}")
        lines.append(f"    {coloring.legend()}")
    shares = " ".join(map(share_text, (0, 0.00002, 0.0065, 0.0781, 0.524, 1.0)))
    lines.append(f"shares: {shares}")
    golden("charts/map values.txt", "\n".join(lines) + "\n")


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


def test_signs_are_drawn_by_every_font() -> None:
    assert figure_text(B_MINUS_A, -0.25) == "\N{MINUS SIGN}0.25"
    for count in (12, 147_456, 11_720_448, 1_430_000_000):
        assert printable(figure_text(MACS, count)) == figure_text(MACS, count)
