"""What the colours and figures of the map are of."""

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
from bertviewer.charts.theme import DARK, LIGHT, mixed
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
    """Return a run in which each module's std is its place, times a scale."""
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


def place_of(path: str) -> int:
    return [node.path for node in small("bert").modules].index(path)


def node(atlas: PartGraphs, part: Scope, name: str) -> Node:
    flow = atlas.flow(part)
    assert flow is not None
    return next(each for each in flow.nodes if name in (each.name, each.operation))


def test_parameters_of_modules_groups_and_decks() -> None:
    atlas = PartGraphs(small("bert"))
    values = MapValues(atlas, MapData())
    modules = {each.path: each.parameters for each in small("bert").modules}
    layer = modules["encoder.layer.1"]
    network = sum(
        modules[f"encoder.layer.1.{path}"] for path in ("intermediate.dense", "output.dense")
    )
    assert values.of_node(PARAMETERS, WHOLE, node(atlas, WHOLE, "layer 0")) == 2 * layer
    assert values.of_node(PARAMETERS, LAYER, node(atlas, LAYER, "query")) == 24 * 24 + 24
    assert values.of_node(PARAMETERS, LAYER, node(atlas, LAYER, "feed-forward")) == network
    assert values.of_node(PARAMETERS, LAYER, node(atlas, LAYER, "residual")) is None
    assert values.of_node(PARAMETERS, LAYER, node(atlas, LAYER, "hidden states")) is None


def test_a_group_has_the_statistic_of_the_module_that_gives_what_it_gives() -> None:
    atlas = PartGraphs(small("bert"))
    values = MapValues(atlas, MapData(run()))
    heads, network = node(atlas, LAYER, "attention"), node(atlas, LAYER, "feed-forward")
    path = "encoder.layer.1.attention.self"
    assert values.of_node(STD, LAYER, heads) == pytest.approx(place_of(path))
    end = "encoder.layer.1.output.dense"
    assert values.of_node(STD, LAYER, network) == pytest.approx(place_of(end))


def test_an_attention_within_its_module_has_no_statistic_of_that() -> None:
    # GPT-2's module gives what its projection gives, and not what the heads do.
    architecture = small("gpt2")
    atlas, layer = PartGraphs(architecture), Scope("h.1")
    modules = tuple(
        ModuleActivation(each.path, each.class_name, None, (1,), (statistics(2.0),), None)
        for each in architecture.modules
    )
    values = MapValues(atlas, MapData(replace(run(), modules=modules)))
    assert values.of_node(STD, layer, node(atlas, layer, "attention")) is None
    assert values.of_node(STD, layer, node(atlas, layer, "c_attn")) == pytest.approx(2.0)


def test_a_difference_is_of_modules_that_both_runs_called() -> None:
    atlas = PartGraphs(small("bert"))
    path = "encoder.layer.1.attention.self.query"
    values = MapValues(atlas, MapData(run(3.0), run(1.0)))
    query = node(atlas, LAYER, "query")
    assert values.of_node(B_MINUS_A, LAYER, query) == pytest.approx(2.0 * place_of(path))
    without = MapValues(atlas, MapData(run(3.0), run(1.0, path)))
    assert without.of_node(B_MINUS_A, LAYER, query) is None


def test_a_shared_layer_has_the_statistic_of_each_call() -> None:
    architecture = flowing("albert-base-v2")
    atlas = PartGraphs(architecture)
    flow = atlas.flow(WHOLE)
    assert flow is not None
    blocks = [block for block in strips_of(flow)[0].blocks if block.is_layer]
    calls = tuple(statistics(float(number)) for number in range(12))
    shared = ModuleActivation(blocks[0].path, "AlbertLayerGroup", None, (1,), calls, None)
    values = MapValues(atlas, MapData(replace(run(), modules=(shared,))))
    found = [values.of_block(STD, block, 12) for block in blocks]
    assert found == pytest.approx([float(number) for number in range(12)])
    # Its parameters are stored once.
    plain = MapColoring(atlas, MapValues(atlas, MapData()), PART, LIGHT)
    figures = [plain.block(block, 12).figure for block in blocks]
    assert figures[0].endswith("%")
    assert set(figures[1:]) == {"repeated"}


def test_a_check_tells_whether_all_steps_in_a_node_hold() -> None:
    atlas = PartGraphs(small("bert"))
    path = "encoder.layer.1.attention.self"
    steps = (
        CheckStep(f"{path}.query", "output", 1e-7, 1e-6, True),
        CheckStep(path, "output", 1e-3, 1e-6, False),
    )
    values = MapValues(atlas, MapData(run(), None, {path: Check(steps)}))
    assert values.of_node(CHECK, LAYER, node(atlas, LAYER, "query")) == 1
    assert values.of_node(CHECK, LAYER, node(atlas, LAYER, "attention")) == 0.5
    assert values.of_node(CHECK, LAYER, node(atlas, LAYER, "key")) is None
    coloring = MapColoring(atlas, values, CHECK, LIGHT)
    colors = coloring.node_colors(LAYER)
    assert colors is not None
    assert colors[node(atlas, LAYER, "query").id].figure == "✓"
    assert colors[node(atlas, LAYER, "attention").id].figure == "✗"


def test_larger_values_are_stronger_and_signs_have_hues_of_their_own() -> None:
    atlas = PartGraphs(small("bert"))
    coloring = MapColoring(atlas, MapValues(atlas, MapData(run())), STD, LIGHT)
    colors = coloring.node_colors(LAYER)
    assert colors is not None
    query, last = (colors[node(atlas, LAYER, name).id] for name in ("query", "feed-forward"))
    assert query.strength < last.strength
    means = MapValues(atlas, MapData(run(1.0), run(3.0)))
    signed = MapColoring(atlas, means, B_MINUS_A, LIGHT).node_colors(LAYER)
    assert signed is not None
    assert signed[node(atlas, LAYER, "query").id].hue == LIGHT.diverging[1]
    scale = MapColoring(atlas, means, B_MINUS_A, LIGHT).legend().scale
    assert scale is not None
    assert scale.least.lstrip("−+") == scale.most.lstrip("−+")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_written_on_a_colour_can_be_read(theme: object) -> None:
    assert theme in (LIGHT, DARK)
    found = LIGHT if theme is LIGHT else DARK
    atlas = PartGraphs(small("bert"))
    known = MapData(run(3.0), run(1.0))
    for measure in (PARAMETERS, MACS, STD, B_MINUS_A):
        coloring = MapColoring(atlas, MapValues(atlas, known), measure, found)
        for part in (WHOLE, LAYER):
            for color in (coloring.node_colors(part) or {}).values():
                fill = mixed(color.hue, found.surface, color.strength)
                assert contrast(found.text, fill) >= 4.5, (measure, color)


def test_figures_are_short_and_right() -> None:
    assert [share_text(share) for share in (0, 0.00002, 0.0065, 0.0781, 0.524, 1.0)] == [
        "0%", "<0.1%", "0.7%", "7.8%", "52%", "100%",
    ]  # fmt: skip
    assert figure_text(B_MINUS_A, 0.25) == "+0.25"
    assert figure_text(B_MINUS_A, -0.25) == "\N{MINUS SIGN}0.25"
    assert figure_text(PART, None) == ""
    for count in (12, 147_456, 11_720_448, 1_430_000_000):
        assert printable(figure_text(MACS, count)) == figure_text(MACS, count)
