"""Tables of figures: exact in what is copied, short in what is shown."""

import pytest

from bertviewer.charts.table import (
    EMPTY,
    DataTable,
    TableCell,
    TableColumn,
    difference_cell,
    logit_cell,
    number_cell,
    probability_cell,
    text_cell,
)

THIRD = 1 / 3
TABLE = DataTable(
    (TableColumn("Token"), TableColumn("P", "bar"), TableColumn("Logit", "number")),
    (
        (text_cell("<s>", is_bold=True), probability_cell(THIRD), logit_cell(-2.0625)),
        (text_cell("a\tb"), probability_cell(None), logit_cell(10.0)),
    ),
)


@pytest.mark.parametrize(
    ("figure", "text"),
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
def test_texts(figure: TableCell, text: str) -> None:
    assert figure.text == text


def test_values_keep_all_digits() -> None:
    header, rows = TABLE.table()
    assert header == ("Token", "P", "Logit")
    assert rows == [("<s>", THIRD, -2.0625), ("a\tb", None, 10.0)]
    assert probability_cell(THIRD).tip == repr(THIRD)
    assert difference_cell(0.3, 0.1).value == 0.3 - 0.1
    assert EMPTY.value is None
