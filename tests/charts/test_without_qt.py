"""Figures are made where neither Qt nor torch can be imported."""

import json
import sys
from pathlib import Path

import numpy as np

from tests.tools.subprocesses import output_of

FOLDER = Path(__file__).parents[2]
CODE = """
import json
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("PySide6", "shiboken6", "torch", "transformers"):
            raise ImportError(f"{name} is not to be had")

sys.meta_path.insert(0, Without())
from tests.charts import test_without_qt
print(json.dumps(test_without_qt.every_kind()))
"""
KINDS = {"LineChart", "GridChart", "HeadsChart", "HistogramChart", "DataTable", "SVG", "DOT"}


def every_kind() -> dict[str, float]:
    """Return of each kind of figure a number that stands in it."""
    from bertviewer.charts.attention import heads_chart
    from bertviewer.charts.classification import class_table
    from bertviewer.charts.graph.dot import dot_of
    from bertviewer.charts.graph.layout import draw
    from bertviewer.charts.graph.svg import svg_of
    from bertviewer.charts.statistics import histogram_chart
    from bertviewer.charts.table import Tabular, csv_text
    from bertviewer.charts.token_charts import TracedToken, norms_chart, path_charts
    from bertviewer.core.analysis.predictions import ClassScores
    from bertviewer.core.schema.statistics import Statistics
    from bertviewer.core.statistics.histograms import histogram
    from tests.charts.graph import made_flows as made
    from tests.charts.graph.checks import measure
    from tests.charts.runs import attended, made_up

    run = made_up("the bank by the river")
    scores = ClassScores("text", ("bad", "good"), np.array([[1.0, 2.0]]), np.array([[0.25, 0.75]]))
    counted = histogram(np.array([0.5, 1.0, 2.0]), 4)
    statistics = Statistics(3, 0, 0, 0, 3.5, 5.25, 0.5, 2.0)
    figures: list[Tabular] = [
        path_charts(run, [TracedToken(1, "the", 0)]).norms,
        norms_chart(run),
        heads_chart(attended((0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5))),
        histogram_chart(counted, statistics),
        class_table(scores),
    ]
    last = {type(one).__name__: csv_text(one).splitlines()[-1].split(",")[-1] for one in figures}
    layer = made.bert_layer()
    drawn = {"SVG": svg_of(draw(layer, measure)).count("<path"), "DOT": dot_of(layer).count("->")}
    return {name: float(number) for name, number in last.items()} | drawn


def test_a_figure_of_each_kind() -> None:
    printed = output_of([sys.executable, "-c", CODE], FOLDER)
    found = json.loads(printed)
    assert set(found) == KINDS
    assert all(number > 0 for number in found.values()), found
