"""A grid with a chart in it, and charts for it."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import norms_chart
from bertviewer.plots.heatmap import Heatmap
from tests.charts.runs import make_run


def square(values: Sequence[Sequence[float]], is_signed: bool = False) -> GridChart:
    """Return tokens × tokens."""
    names = tuple(f"t{n}" for n in range(len(values)))
    places = tuple(SelectionKey(token=n) for n in range(len(values)))
    return GridChart(
        np.array(values, dtype=np.float32),
        names,
        names,
        places,
        places,
        is_signed=is_signed,
        is_top_down=True,
    )


def grid_in(window: QWidget) -> Heatmap:
    """Show a grid with the token norms of a run in a window."""
    plot = Heatmap(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_chart(norms_chart(make_run()))
    return plot
