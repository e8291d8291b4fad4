"""How lively the window stays while it runs a sentence, and what stays behind in memory."""

import random
import statistics
import time

import numpy as np
from PySide6.QtWidgets import QApplication

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.shell.main_window import MainWindow
from tests.benchmarks.lively import gap, opened_window, run, turn, wait
from tests.tools.resident_memory import resident_memory

CANCELS = 40
RUNS = 50
SHORT, LONG = Sentence("bank " * 126), Sentence("bank " * 510)


def window(runs: int = RUNS, cancels: int = CANCELS) -> dict[str, float]:
    """Run sentences in the window on bert-base with random weights.

    Returns:
        Seconds: the longest time between two turns of the event loop during a run of 128 and one
        of 512 tokens, from the click until everything is drawn; the 95th percentile from Cancel
        to its end at 512 tokens; the median of redrawing plots of 512 tokens and 24 layers. In
        MB: by how much the resident memory grows over many runs.
    """
    with opened_window() as (application, shown):
        for sentence in (SHORT, LONG, SHORT):
            run(application, shown, sentence)
        figures = {
            "gap, 128 tokens": gap(application, lambda: run(application, shown, SHORT)).wall,
            "gap, 512 tokens": gap(application, lambda: run(application, shown, LONG)).wall,
            "cancel, p95": _cancel(application, shown, cancels),
        }
        before = resident_memory()
        for _ in range(runs):
            run(application, shown, SHORT)
        grown = (resident_memory() - before) / 1e6
    return {**figures, **_redraw(), f"memory grown over {runs} runs": grown}


def _cancel(application: QApplication, shown: MainWindow, times: int) -> float:
    workspace = shown.workspace
    start = time.perf_counter()
    run(application, shown, LONG)
    length = time.perf_counter() - start
    chance = random.Random(1)
    seconds: list[float] = []
    ended: list[str] = []
    workspace.jobs.cancelled.connect(ended.append)
    while len(seconds) < times:
        ended.clear()
        workspace.run_sentence(LONG, random_weights=True)
        turn(application, chance.random() * length * 0.9)
        start = time.perf_counter()
        workspace.jobs.cancel()
        wait(application, lambda: not workspace.jobs.activity)
        if ended:
            seconds.append(time.perf_counter() - start)
    return float(np.percentile(seconds, 95))


def _redraw(rounds: int = 15) -> dict[str, float]:
    """Draw what a run of 512 tokens on 24 layers shows."""
    chance = np.random.default_rng(1)
    layers, tokens = 25, 512
    labels = tuple(map(str, range(tokens)))
    line_values = chance.normal(size=(5, layers)).tolist()
    lines = LineChart(
        tuple(
            Line(str(n), tuple(v), low=tuple(v), high=tuple(v)) for n, v in enumerate(line_values)
        ),
        "Layer",
        "std",
        labels[:layers],
    )
    norms = GridChart(chance.normal(size=(layers, tokens)), labels[:layers], labels)
    square = GridChart(chance.normal(size=(tokens, tokens)), labels, labels)
    figures = {}
    for name, plot, chart in (
        ("redraw 5 lines, 24 layers", LinePlot(), lines),
        ("redraw 512 tokens x 25 states", Heatmap(), norms),
        ("redraw 512 x 512 tokens", Heatmap(), square),
    ):
        plot.resize(700, 320)
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            plot.show_chart(chart)  # type: ignore[arg-type]
            plot.grab()
            seconds.append(time.perf_counter() - start)
        figures[name] = statistics.median(seconds)
        plot.close()
    return figures
