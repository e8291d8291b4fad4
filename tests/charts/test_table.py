"""Tables: exact values in exports, rounded on display."""

import csv
import io

import numpy as np
import pytest

from bertviewer.charts.chart import Bars, Chart, GridChart, HistogramChart, Line, LineChart
from bertviewer.charts.table import (
    EMPTY,
    DataTable,
    TableCell,
    TableColumn,
    csv_text,
    difference_cell,
    logit_cell,
    number_cell,
    probability_cell,
    text_cell,
)

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


def test_csv_of_nan_and_infinity() -> None:
    chart = GridChart(np.array([[np.nan, np.inf, -np.inf]]), ("r",), ("a", "b", "c"))
    assert rows_of(chart)[1] == ["r", "nan", "inf", "-inf"]


def test_csv_keeps_texts() -> None:
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


THIRD = 1 / 3
TABLE = DataTable(
    (TableColumn("Token"), TableColumn("P", "bar"), TableColumn("Logit", "number")),
    (
        (text_cell("<s>", is_bold=True), probability_cell(THIRD), logit_cell(-2.0625)),
        (text_cell("a\tb"), probability_cell(None), logit_cell(10.0)),
    ),
)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (number_cell(0.123456789), "0.1234568"),
        (number_cell(-1234567), "−1,234,567"),
        (number_cell(None), "–"),
        (number_cell(-0.00012345, digits=3), "−0.000123"),
        (logit_cell(-2.0625), "−2.062"),
        (probability_cell(0.98765432), "0.9877"),
        (probability_cell(0.0), "0.0000"),
        (probability_cell(0.000949), "9.5e−04"),
        (probability_cell(float("nan")), "nan"),
        (difference_cell(0.5, 0.25), "+0.2500"),
        (difference_cell(0.25, 0.5), "−0.2500"),
        (difference_cell(0.5, 0.5), "0"),
        (difference_cell(1e-6, 2e-6), "−1.0e−06"),
        (difference_cell(None, 0.5), "–"),
    ],
)
def test_texts_of_cells(cell: TableCell, text: str) -> None:
    assert cell.text == text


def test_values_keep_all_digits() -> None:
    header, rows = TABLE.table()
    assert header == ("Token", "P", "Logit")
    assert rows == [("<s>", THIRD, -2.0625), ("a\tb", None, 10.0)]
    assert probability_cell(THIRD).tip == repr(THIRD)
    assert difference_cell(0.3, 0.1).value == 0.3 - 0.1
    assert EMPTY.value is None
