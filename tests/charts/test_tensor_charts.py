"""Charts of a tensor."""

import numpy as np

from bertviewer.charts.tensor_charts import map_chart
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.reduction import tensor_map
from tests.core.tensors.made_up import in_memory, matrix

VALUES = np.random.default_rng(2).normal(size=(40, 30))


def test_rows_and_columns_have_the_indices_of_the_tensor() -> None:
    part = Matrix(in_memory(VALUES), rows=(10, 30), columns=(5, 25))
    exact = map_chart(tensor_map(part, (2, 6), (0, 3)), part, "mean")
    assert exact.rows == ("12", "13", "14", "15")
    assert exact.columns == ("5", "6", "7")
    assert exact.text(1, 2) == f"row 13, column 7: {VALUES[13, 7]:.7g}".replace("-", "−")
    assert exact.is_signed
    assert exact.is_top_down
    blocks = map_chart(tensor_map(part, (0, 20), (0, 20), most=5), part, "extreme")
    assert blocks.rows == ("10", "14", "18", "22", "26")
    block = VALUES[14:18, 21:25].ravel()
    value = block[np.abs(block).argmax()]
    assert blocks.text(1, 4) == f"row 14–17, column 21–24: {value:.7g}".replace(" -", " −")
    assert blocks.value_title == "extreme"


def test_an_outlier_leaves_the_colours_to_the_others() -> None:
    values = VALUES.copy()
    values[0, 0] = 1e6
    whole = matrix(values)
    chart = map_chart(tensor_map(whole, (0, 40), (0, 30)), whole, "mean")
    assert chart.levels is not None
    low, high = chart.levels
    assert low == -high
    assert high < 1000


def test_values_that_are_never_negative_have_sequential_colours() -> None:
    positive = matrix(np.abs(VALUES))
    chart = map_chart(tensor_map(positive, (0, 40), (0, 30)), positive, "mean")
    assert not chart.is_signed
    for value, levels in ((0.0, (-0.5, 0.5)), (np.nan, None)):
        odd = matrix(np.full((3, 3), value))
        assert map_chart(tensor_map(odd, (0, 3), (0, 3)), odd, "mean").levels == levels
