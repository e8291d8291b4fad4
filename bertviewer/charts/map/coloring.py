"""Values as colours, and the legend that says what they mean."""

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
from bertviewer.charts.theme import Part as Hue
from bertviewer.charts.theme import Theme, mixed
from bertviewer.charts.translation import translate

_LEAST, _STEPS = 0.05, 16
_HUES: Sequence[Hue] = ("embeddings", "attention", "feed-forward", "norm", "head")
NEGATIVE, POSITIVE = 1, 5
"""Where a diverging map has its two hues."""


class Key(Struct, frozen=True):
    """A square of a legend: its colour and what it means."""

    color: str
    text: str


class Scale(Struct, frozen=True):
    """A bar of colours from left to right, with the values at its ends."""

    colors: tuple[str, ...]
    least: str
    most: str


class Legend(Struct, frozen=True):
    """What the colours of the map mean: squares, or a bar; ``title`` says of what."""

    title: str = ""
    keys: tuple[Key, ...] = ()
    scale: Scale | None = None


class MapColoring:
    """Colours the nodes and blocks of a model by one measure."""

    def __init__(
        self, atlas: PartGraphs, values: MapValues, measure: MapMeasure, theme: Theme
    ) -> None:
        self._atlas, self._values, self._theme = atlas, values, theme
        self.measure = measure
        self._range = None if measure.kind in ("part", "check") else values.range_of(measure)

    def tints(self, part: Scope) -> NodeColors | None:
        """Return the colours of a part's nodes, ``None`` for those of the parts of a model."""
        flow = self._atlas.flow(part)
        if self.measure.kind == "part" or flow is None:
            return None
        found = {}
        for node in flow.nodes:
            value = self._values.of_node(self.measure, part, node)
            found[node.id] = self._tint(value, figure_text(self.measure, value))
        return found

    def block(self, block: Block, calls: int = 1) -> NodeColor:
        """Return the colour and the figure of a block in the strip."""
        if self.measure.kind == "part":
            return NodeColor(figure=self._plain_figure(block, calls))
        value = self._values.of_block(self.measure, block, calls)
        text = figure_text(self.measure, value)
        if text and self.measure.statistic and self.measure.kind == "statistic":
            text = f"{_short(self.measure.statistic)} {text}"
        return self._tint(value, text)

    def module(self, path: str, hue: Hue, figure: str) -> NodeColor:
        """Return the colour of a module in the treemap; ``figure`` is written on a part's hue."""
        if self.measure.kind == "part":
            return part_color(hue, figure, self._theme)
        value = self._values.of_module(self.measure, path)
        return self._tint(value, figure_text(self.measure, value))

    def legend(self) -> Legend:
        """Return what the colours mean."""
        theme = self._theme
        if self.measure.kind == "part":
            return Legend(keys=tuple(self._part_keys()))
        if self.measure.kind == "check":
            right, wrong, open_ = (
                translate("map", text) for text in ("✓ passed", "✗ failed", "not checked")
            )
            keys = (
                Key(self._color(self._tint(1.0, "")), right),
                Key(self._color(self._tint(0.0, "")), wrong),
                Key(theme.surface, open_),
            )
            return Legend(keys=keys)
        title = measure_title(self.measure)
        if self.measure.kind == "macs":
            title = self._values.macs.sentence(title)
        without = {
            "macs": translate("map", "no matrix product"),
            "parameters": translate("map", "no parameters"),
        }.get(self.measure.kind)
        squares = () if without is None else (Key(theme.surface, without),)
        if self._range is None:
            return Legend(title, squares)
        least, most = self._bounds()
        shares = [place / _STEPS for place in range(_STEPS + 1)]
        if self.measure.kind in SPREAD:
            steps = [least * (most / least) ** share for share in shares]
        else:
            steps = [least + (most - least) * share for share in shares]
        colors = tuple(self._color(self._tint(value, "")) for value in steps)
        ends = (figure_text(self.measure, value) for value in (least, most))
        return Legend(title, squares, Scale(colors, *ends))

    def _part_keys(self) -> Sequence[Key]:
        flows = self._atlas.architecture.flows
        seen: set[Hue] = set()
        for flow in () if flows is None else flows.distinct.values():
            seen.update(words.part for words in node_labels(flow).values())
        return [Key(self._theme.parts[hue], translate("map", hue)) for hue in _HUES if hue in seen]

    def _plain_figure(self, block: Block, calls: int) -> str:
        if self._values.known.run is not None:
            value = self._values.of_block(MapMeasure("statistic", "std"), block, calls)
            return "" if value is None else f"std {value:.2f}"
        if self._values.is_tied(block.path):
            return translate("map", "tied")
        share = self._values.of_block(self.measure, block, calls)
        if share is None:
            return translate("map", "repeated") if block.part.call else ""
        return share_text(share)

    def _tint(self, value: float | None, figure: str) -> NodeColor:
        theme = self._theme
        if value is None:
            return NodeColor(theme.faint, 0.0, figure)
        if self.measure.kind == "check":
            return NodeColor(theme.right if value >= 1 else theme.warning, 0.28, figure)
        least, most = self._bounds()
        if least < 0:
            hue = theme.diverging[POSITIVE if value >= 0 else NEGATIVE]
            share = abs(value) / max(-least, most)
        elif self.measure.kind in SPREAD:
            hue, span = theme.accent, log10(most) - log10(least)
            share = (log10(max(value, least)) - log10(least)) / span if span else 1.0
        else:
            hue, span = theme.accent, most - least
            share = (value - least) / span if span else 1.0
        share = min(max(share, 0.0), 1.0)
        return NodeColor(hue, _LEAST + (MAX_STRENGTH - _LEAST) * share, figure)

    def _bounds(self) -> tuple[float, float]:
        """Return the values between which colours go; about 0 where some are below it."""
        least, most = self._range or (0.0, 1.0)
        if self.measure.kind in COUNTED:
            return max(least, 1.0), max(most, 1.0)
        if self.measure.kind == "change":
            return (least, most) if least > 0 else (0.1, 1.0)
        if least < 0 or self.measure.kind == "difference":
            far = max(abs(least), abs(most)) or 1.0
            return -far, far
        return least, most

    def _color(self, tint: NodeColor) -> str:
        return mixed(tint.hue, self._theme.surface, tint.strength)


def measure_title(measure: MapMeasure) -> str:
    """Return what a measure is called in the menu and in the legend."""
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
    """Return a statistic as it is written where there is little room."""
    return {"zero_fraction": "zeros", "nan_count": "NaN", "inf_count": "Inf"}.get(
        statistic, statistic
    )
