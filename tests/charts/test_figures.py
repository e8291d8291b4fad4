"""Tables of figures: exact in what is copied, short in what is shown."""

import pytest

from bertviewer.charts.figures import (
    NOTHING,
    Figure,
    FigureColumn,
    FigureTable,
    difference,
    number,
    probability,
    score,
    words,
)

THIRD = 1 / 3
TABLE = FigureTable(
    (FigureColumn("Token"), FigureColumn("P", "bar"), FigureColumn("Logit", "number")),
    (
        (words("<s>", is_bold=True), probability(THIRD), score(-2.0625)),
        (words("a\tb"), probability(None), score(10.0)),
    ),
)


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (number(0.123456789), "0.1234568"),
        (number(-1234567), "−1,234,567"),
        (number(None), "–"),
        (number(-0.00012345, digits=3), "−0.000123"),
        (score(-2.0625), "−2.062"),
        (probability(0.98765432), "0.9877"),
        (probability(0.0), "0.0000"),
        (probability(0.000949), "9.5e−04"),
        (probability(float("nan")), "nan"),
        (difference(0.5, 0.25), "+0.2500"),
        (difference(0.25, 0.5), "−0.2500"),
        (difference(0.5, 0.5), "0"),
        (difference(1e-6, 2e-6), "−1.0e−06"),
        (difference(None, 0.5), "–"),
    ],
)
def test_texts(figure: Figure, text: str) -> None:
    assert figure.text == text


def test_values_keep_all_digits() -> None:
    header, rows = TABLE.table()
    assert header == ("Token", "P", "Logit")
    assert rows == [("<s>", THIRD, -2.0625), ("a\tb", None, 10.0)]
    assert probability(THIRD).tip == repr(THIRD)
    assert difference(0.3, 0.1).value == 0.3 - 0.1
    assert NOTHING.value is None
