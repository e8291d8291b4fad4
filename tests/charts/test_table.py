"""The data of a chart as CSV."""

import csv
import io

import numpy as np

from bertviewer.charts.chart import Bars, Chart, GridChart, HistogramChart, Line, LineChart
from bertviewer.charts.table import csv_text

HISTOGRAM = HistogramChart((0.0, 1.0, 2.0), (Bars("B", (3, 4), nan_count=2),), "Value")


def rows_of(chart: Chart) -> list[list[str]]:
    return list(csv.reader(io.StringIO(csv_text(chart), newline="")))


def test_csv_has_every_digit() -> None:
    value = 0.1 + 0.2
    single = np.array([[1 / 3]], dtype=np.float32)
    assert rows_of(LineChart((Line("x", (value, None)),), "Layer", "std", ("0", "1"))) == [
        ["Layer", "x, std"],
        ["0", "0.30000000000000004"],
        ["1", ""],
    ]
    (_, (_, text)) = rows_of(GridChart(single, ("r",), ("c",)))
    assert float(text) == float(single[0, 0])


def test_csv_of_what_is_no_number() -> None:
    chart = GridChart(np.array([[np.nan, np.inf, -np.inf]]), ("r",), ("a", "b", "c"))
    assert rows_of(chart)[1] == ["r", "nan", "inf", "-inf"]


def test_csv_keeps_texts_as_they_are() -> None:
    texts = ("=1+1", "+a", "-", "@x", 'say "hi"', "a,b", "two\r\nlines", " blank ", "注意", "")
    chart = GridChart(np.zeros((1, len(texts))), ("r",), texts, y_title="Layer")
    assert tuple(rows_of(chart)[0]) == ("Layer", *texts)
    text = csv_text(chart)
    assert '"say ""hi"""' in text
    assert '"two\r\nlines"' in text
    assert text.endswith("\r\n")


def test_csv_of_counts() -> None:
    assert rows_of(HISTOGRAM) == [
        ["Value, from", "Value, to", "B"],
        ["0.0", "1.0", "3"],
        ["1.0", "2.0", "4"],
        ["NaN", "", "2"],
    ]
