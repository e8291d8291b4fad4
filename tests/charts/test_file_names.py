"""Names of the files of plots."""

import re

import numpy as np
import pytest

from bertviewer.charts.chart import Bars, Chart, GridChart, HistogramChart, Line, LineChart
from bertviewer.charts.file_names import MAX_LENGTH, file_name


def lines(*labels: str, title: str = "std", x_title: str = "Layer") -> LineChart:
    return LineChart(tuple(Line(label, (1.0,)) for label in labels), x_title, title, ("0",))


def grid(value_title: str, subject: str = "") -> GridChart:
    return GridChart(np.zeros((1, 1)), ("r",), ("c",), value_title=value_title, subject=subject)


def bars(*labels: str) -> HistogramChart:
    return HistogramChart((0.0, 1.0), tuple(Bars(label, (1,)) for label in labels))


@pytest.mark.parametrize(
    ("chart", "title", "name"),
    [
        (lines("encoder.layer: output"), "Layer output", "std-encoder-layer-output.png"),
        (
            lines("encoder.layer: output"),
            "std of each layer's output",
            "std-of-each-layer-output-encoder.png",
        ),
        (lines("x: output", "x: attn"), "Layer output, attn", "layer-output-attn-std.png"),
        (lines("[CLS]"), "Layer output · NaN or Inf in layer 3", "layer-output-std-cls.png"),
        (lines("bank (2)", title="Norm"), "Norm ‖h‖", "norm-h-bank-2.png"),
        (lines("B · bank (2)", "A · bank (2)", title="Norm"), "Norm ‖h‖", "norm-h-bank-2-b-a.png"),
        (lines("a – b", title="Cosine"), "", "cosine-layer-a-b.png"),
        (lines("café", title="rms, B − A"), "", "rms-b-minus-a-layer-cafe.png"),
        (lines("x", title="mean ± std"), "x", "mean-std-x.png"),
        (grid("Attention", "layer 3, head 4"), "Head 4: 1.2 nats", "attention-layer-3-head-4.png"),
        (grid("Attention", "layer 3, head 3"), "Head 3", "attention-layer-3-head-3.png"),
        (lines("the (8) – the (19)"), "", "std-layer-the-8-the-19.png"),
        (lines("a (4, A 3)", title="Norm, B − A"), "Norm ‖h‖", "norm-h-b-minus-a-a-4-a-3.png"),
        (grid("feature 5"), "Feature 5 of each token", "feature-5-of-each-token.png"),
        (grid("Norm"), "Token norms ‖h‖", "token-norms-h.png"),
        (grid("A · Norm"), "Token norms ‖h‖", "token-norms-h-a.png"),
        (grid("Cosine", "layer 5"), "Cosine at", "cosine-at-layer-5.png"),
        (grid("Attention, B − A"), "Heads, B − A", "heads-b-minus-a-attention.png"),
        (grid(""), "", "plot.png"),
        (bars("Elements"), "Output of layer.3", "output-of-layer-3-histogram.png"),
        (bars("B", "A"), "Output of layer.3", "output-of-layer-3-histogram-b-a.png"),
        (bars("B − A"), "Output of x", "output-of-x-histogram-b-minus-a.png"),
    ],
)
def test_a_name_has_the_content_of_the_plot(chart: Chart, title: str, name: str) -> None:
    assert file_name(chart, title, ".png") == name


def test_a_title_in_another_script_is_replaced() -> None:
    assert file_name(lines("层", title="标准差", x_title="层"), "输出", ".csv", "layer Plot") == (
        "layer-plot.csv"
    )
    assert file_name(grid("注意"), "注意", ".csv") == "plot.csv"


@pytest.mark.parametrize("word", ["word", "a", "x" * 90, "../etc", 'a"b|c?', "سلام", "\0\n"])
@pytest.mark.parametrize("count", [1, 12, 40])
def test_a_name_is_short_and_plain(word: str, count: int) -> None:
    title = " ".join(f"{word}{number}" for number in range(count))
    name = file_name(grid("Norm"), title, ".png")
    assert len(name) <= MAX_LENGTH
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.png", name)


def test_a_long_name_ends_with_a_whole_word() -> None:
    title = "several words of a title that goes on and on to no end"
    assert file_name(grid("x"), title, ".png") == f"{title.replace(' ', '-')}-x.png"
    assert file_name(grid("norm"), title, ".png") == f"{title.replace(' ', '-')}.png"
