"""A plot of each kind, and texts that are in it."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Bars, GridChart, HeadsChart, HistogramChart, Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot, SpectrumPlot
from bertviewer.plots.region_heatmap import RegionHeatmap
from bertviewer.plots.token_matrix import TokenMatrix

LARGEST = 1.7976931348623157e308
RANGES = [
    (-LARGEST, LARGEST),
    (1e-300, 1.7e308),
    (-3.4e38, 3.4e38),
    (1e-45, 3e-45),
    (1e-320, 2e-320),
    (-1e-320, 1e-320),
]
"""Values near the largest and the smallest doubles."""
WIDTH, HEIGHT = 560, 340
TOKENS = (
    "[CLS]",
    "play",
    "##ing",
    "->",
    "中文",
    "שלום",
    "a שלום b",
    "e\u0301t",
    "عالم (12)",
    "x" * 40,
)
VALUES = np.random.default_rng(0).random((10, 10)).astype(np.float32)
LINE = Line("layer: output", (0.1, 2.0, None, 1.0), low=(0.0,) * 4, high=(3.0,) * 4, max=(4.0,) * 4)
LINES = LineChart(
    (
        replace(LINE, keys=tuple(SelectionKey(f"a.{x}") for x in range(4))),
        Line("layer: self-attention · first sentence", (-1.0, 0.5, 0.0, 2.0), style="dashed"),
    ),
    "Layer",
    "std",
    ("0", "1", "2", "3"),
)
GRID = GridChart(VALUES, TOKENS, TOKENS, x_title="Token", y_title="Layer", value_title="norm")
HEAD = replace(GRID, is_top_down=True, masked=np.triu(np.ones((10, 10), dtype=np.bool_), 1))
HEADS = HeadsChart(
    np.tile(VALUES, (12, 1, 1)),
    ("0.25",) * 12,
    TOKENS,
    TOKENS,
    value_title="Attention",
    masked=np.tile(np.triu(np.ones((10, 10), dtype=np.bool_), 1), (12, 1, 1)),
)
LARGE = GridChart(
    np.sin(np.arange(300)[:, None] / 40) * np.cos(np.arange(300)[None, :] / 30),
    tuple(map(str, range(300))),
    tuple(map(str, range(300))),
    is_signed=True,
)
BARS = HistogramChart(
    tuple(1 + 1e-3 * x for x in range(9)),
    (
        Bars("A", (3, 4, 9, 1, 0, 2, 3, 5), nan_count=2, mean=1.004, std=1e-3),
        Bars("B", (1, 2, 3, 4, 5, 6, 7, 8)),
    ),
    "Value",
    "Count",
)

Show = Callable[[QWidget], CanvasPlot]


def lines(window: QWidget) -> CanvasPlot:
    plot = LinePlot(window)
    plot.show_chart(LINES)
    plot.mark(SelectionKey("a.1"))
    return plot


def spectrum(window: QWidget) -> CanvasPlot:
    plot = SpectrumPlot(window)
    values = tuple(10.0**-x for x in range(120))
    plot.show_chart(LineChart((Line("", values),), "Place", "singular value", ("",) * 120))
    return plot


def bars(window: QWidget) -> CanvasPlot:
    plot = HistogramPlot(window)
    plot.show_chart(BARS)
    return plot


def grid_of(kind: Callable[[QWidget], Heatmap], chart: GridChart) -> Show:
    def show(window: QWidget) -> CanvasPlot:
        plot = kind(window)
        plot.show_chart(chart)
        plot.mark(SelectionKey(token=1))
        return plot

    return show


def matrix(window: QWidget) -> CanvasPlot:
    plot = TokenMatrix(window)
    plot.show_chart(HEAD)
    return plot


def arcs(window: QWidget) -> CanvasPlot:
    plot = ArcPlot(window)
    plot.show_chart(replace(GRID, is_top_down=True))
    return plot


def heads(window: QWidget) -> CanvasPlot:
    plot = HeadGrid(window)
    plot.show_chart(HEADS)
    plot.mark(SelectionKey(head=3))
    return plot


KINDS: dict[str, tuple[Show, Sequence[str]]] = {
    "lines": (lines, ("layer: output", "Layer", "std", "3")),
    "spectrum": (spectrum, ("singular value",)),
    "bars": (bars, ("Value", "Count", "A", "A: NaN: 2")),
    "grid": (grid_of(Heatmap, GRID), (*TOKENS[:9], "Token", "Layer", "norm")),
    "pairs": (grid_of(partial(Heatmap, selects_pairs=True), GRID), TOKENS[:9]),
    "large": (grid_of(RegionHeatmap, LARGE), ("0", "280")),
    "matrix": (matrix, (*TOKENS[:9], "masked")),
    "arcs": (arcs, (*TOKENS[:4], "中", "文", *TOKENS[5:9], "Only weights ≥ 0.005 are shown.")),
    "heads": (heads, ("head 0", "head 11", "0.25", "masked")),
}
