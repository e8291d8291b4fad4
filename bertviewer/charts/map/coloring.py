"""Colours of the map by a measure, and the legend that explains them."""

from collections.abc import Sequence
from math import log10

from msgspec import Struct

from bertviewer.charts.graph.draw_items import MAX_STRENGTH, NodeColor, NodeColors, part_color
from bertviewer.charts.graph.node_labels import node_labels
from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.map.values import (
    COUNTED,
    SPREAD,
    MapMeasure,
    MapValues,
    figure_text,
    share_text,
)
from bertviewer.charts.theme import Part, Theme, mixed
from bertviewer.charts.translation import translate

_MIN_STRENGTH, _STEPS, _CHECKED = 0.05, 16, 0.28
_PARTS: Sequence[Part] = ("embeddings", "attention", "feed-forward", "norm", "head")
_NEGATIVE, _POSITIVE = 1, 5
"""Indices of the two hues in a diverging colour map."""
_SHORT = {"zero_fraction": "zeros", "nan_count": "NaN", "inf_count": "Inf"}
"""Short names of statistics."""


class Key(Struct, frozen=True):
    """A square of a legend: its colour and text."""

    color: str
    text: str


class Scale(Struct, frozen=True):
    """A colour bar with the values at its ends."""

    colors: tuple[str, ...]
    least: str
    most: str


class Legend(Struct, frozen=True):
    """The legend of the map: a title, squares, and a colour bar if there is one."""

    title: str = ""
    keys: tuple[Key, ...] = ()
    scale: Scale | None = None


class MapColoring:
    """Returns the colours of nodes, blocks and modules by one measure."""

    def __init__(
        self, graphs: PartGraphs, values: MapValues, measure: MapMeasure, theme: Theme
    ) -> None:
        self._graphs, self._values, self._theme = graphs, values, theme
        self.measure = measure
        self._range = None if measure.kind in ("part", "check") else values.range_of(measure)

    def node_colors(self, part: Scope) -> NodeColors | None:
        """Return the colours of the nodes of a part, ``None`` for those of the model's parts."""
        flow = self._graphs.flow(part)
        if self.measure.kind == "part" or flow is None:
            return None
        values = ((n.id, self._values.of_node(self.measure, part, n)) for n in flow.nodes)
        return {key: self._color(value, figure_text(self.measure, value)) for key, value in values}

    def block(self, block: Block, calls: int = 1) -> NodeColor:
        """Return the colour and number of a block in the strip."""
        if self.measure.kind == "part":
            return NodeColor(figure=self._plain_figure(block, calls))
        value = self._values.of_block(self.measure, block, calls)
        text = figure_text(self.measure, value)
        if text and self.measure.statistic and self.measure.kind == "statistic":
            text = f"{_short(self.measure.statistic)} {text}"
        return self._color(value, text)

    def _plain_figure(self, block: Block, calls: int) -> str:
        """Return the std of a block after a run, otherwise its share of the parameters."""
        if self._values.data.run is not None:
            std = self._values.of_block(MapMeasure("statistic", "std"), block, calls)
            return "" if std is None else f"std {std:.2f}"
        if self._values.is_tied(block.path):
            return translate("map", "tied")
        share = self._values.of_block(self.measure, block, calls)
        if share is None:
            return translate("map", "repeated") if block.part.call else ""
        return share_text(share)

    def module(self, path: str, hue: Part, figure: str) -> NodeColor:
        """Return the colour of a module in the treemap; ``figure`` is written on a part's hue."""
        if self.measure.kind == "part":
            return part_color(hue, figure, self._theme)
        value = self._values.of_module(self.measure, path)
        return self._color(value, figure_text(self.measure, value))

    def legend(self) -> Legend:
        """Return the legend."""
        kind, theme = self.measure.kind, self._theme
        if kind == "part":
            return Legend(keys=tuple(self._part_keys()))
        if kind == "check":
            passed, failed, unchecked = (
                translate("map", text) for text in ("✓ passed", "✗ failed", "not checked")
            )
            keys = (
                Key(self._mixed(1.0), passed),
                Key(self._mixed(0.0), failed),
                Key(theme.surface, unchecked),
            )
            return Legend(keys=keys)
        title = measure_title(self.measure)
        if kind == "macs":
            title = self._values.macs.sentence(title)
        without = {
            "macs": translate("map", "no matrix product"),
            "parameters": translate("map", "no parameters"),
        }
        squares = (Key(theme.surface, without[kind]),) if kind in without else ()
        if self._range is None:
            return Legend(title, squares)
        least, most = self._bounds()
        shares = [step / _STEPS for step in range(_STEPS + 1)]
        if kind in SPREAD:
            values = [least * (most / least) ** share for share in shares]
        else:
            values = [least + (most - least) * share for share in shares]
        ends = (figure_text(self.measure, value) for value in (least, most))
        return Legend(title, squares, Scale(tuple(map(self._mixed, values)), *ends))

    def _part_keys(self) -> Sequence[Key]:
        flows = self._graphs.architecture.flows
        seen: set[Part] = set()
        for flow in () if flows is None else flows.distinct.values():
            seen.update(label.part for label in node_labels(flow).values())
        return [Key(self._theme.parts[p], translate("map", p)) for p in _PARTS if p in seen]

    def _mixed(self, value: float) -> str:
        color = self._color(value, "")
        return mixed(color.hue, self._theme.surface, color.strength)

    def _color(self, value: float | None, figure: str) -> NodeColor:
        theme = self._theme
        if value is None:
            return NodeColor(theme.faint, 0.0, figure)
        if self.measure.kind == "check":
            return NodeColor(theme.right if value >= 1 else theme.warning, _CHECKED, figure)
        least, most = self._bounds()
        hue = theme.accent
        if least < 0:
            hue = theme.diverging[_POSITIVE if value >= 0 else _NEGATIVE]
            share = abs(value) / max(-least, most)
        else:
            if self.measure.kind in SPREAD:
                value, least, most = (log10(max(each, least)) for each in (value, least, most))
            share = (value - least) / (most - least) if most > least else 1.0
        share = min(max(share, 0.0), 1.0)
        return NodeColor(hue, _MIN_STRENGTH + (MAX_STRENGTH - _MIN_STRENGTH) * share, figure)

    def _bounds(self) -> tuple[float, float]:
        """Return the values at the ends of the colours, symmetric about 0 if some are negative."""
        least, most = self._range or (0.0, 1.0)
        if self.measure.kind in COUNTED:
            return max(least, 1.0), max(most, 1.0)
        if self.measure.kind == "change":
            return (least, most) if least > 0 else (0.1, 1.0)
        if least < 0 or self.measure.kind == "difference":
            far = max(abs(least), abs(most)) or 1.0
            return -far, far
        return least, most


def measure_title(measure: MapMeasure) -> str:
    """Return the name of a measure in menus and in the legend."""
    match measure.kind:
        case "part":
            return translate("map", "part")
        case "parameters":
            return translate("map", "parameters")
        case "macs":
            return translate("map", "multiply-adds")
        case "check":
            return translate("map", "check")
        case "change":
            return translate("map", "difference from {0}").format(measure.other)
        case "statistic":
            return translate("map", "{0} of the output").format(_short(measure.statistic))
        case "difference":
            return translate("map", "{0} of the output, B − A").format(_short(measure.statistic))


def _short(statistic: str) -> str:
    return _SHORT.get(statistic, statistic)
