"""A part is read in lines and columns: a single row downwards, several tensors side by side."""

import numpy as np
import pytest

from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from tests.core.tensors.made_up import in_memory

VALUES = np.arange(24.0).reshape(1, 4, 6)
TOKENS = Axis(TokenIndex(["[CLS]", "the", "bank", "[SEP]"]), "token", (0, 1, 2, 3))
FEATURES = Axis(kind="feature")


def read(part: TensorPart) -> list[list[float]]:
    height, width = part.shape
    found: list[list[float]] = part.block((0, height), (0, width)).tolist()
    return found


def test_rows_are_lines() -> None:
    part = TensorPart(Matrix(in_memory(VALUES), (0,)), TOKENS, FEATURES)
    assert read(part) == VALUES[0].tolist()
    assert (part.line_name(2), part.column_title(5)) == ("bank", "5")
    assert part.cell(2, 5) == part.place(2, 5) == (2, 5)


def test_a_single_row_is_a_column() -> None:
    part = TensorPart(Matrix(in_memory(VALUES), (0,), rows=(2, 3)), TOKENS, FEATURES)
    assert part.is_turned
    assert read(part) == [[value] for value in VALUES[0, 2]]
    assert part.column_title(0) == "2 bank"
    assert (part.down, part.line_name(1)) == (FEATURES, "")
    assert part.cell(4, 0) == (0, 4)
    assert part.place(0, 4) == (4, 0)
    some = TensorPart(Matrix(in_memory(VALUES), (0,), rows=(2, 3), columns=(3, 6)))
    assert (some.first_line, read(some)) == (3, [[15.0], [16.0], [17.0]])


@pytest.mark.parametrize("is_turned", [False, True])
def test_several_tensors_stand_element_by_element(is_turned: bool) -> None:
    rows = (2, 3) if is_turned else None
    beside = {
        title: Matrix(in_memory(VALUES + shift), (0,), rows)
        for title, shift in (("given", 0.0), ("recomputed", 100.0), ("difference", 200.0))
    }
    part = TensorPart(beside["difference"], TOKENS, FEATURES, beside)
    if is_turned:
        assert part.shape == (6, 3)
        assert read(part)[1] == [13.0, 113.0, 213.0]
        assert [part.column_title(n) for n in range(3)] == list(beside)
        assert part.cell(4, 2) == (0, 4)
        assert part.place(0, 4) == (4, 0)
    else:
        assert part.shape == (4, 18)
        assert read(part)[1][:6] == [6.0, 106.0, 206.0, 7.0, 107.0, 207.0]
        assert part.column_title(4) == "1 recomputed"
        assert part.cell(3, 17) == (3, 5)
        assert part.place(3, 5) == (3, 15)
    # A piece may begin and end in the midst of an element.
    height, width = part.shape
    whole = part.block((0, height), (0, width))
    for start in range(width):
        for stop in range(start + 1, width + 1):
            np.testing.assert_array_equal(part.block((1, 3), (start, stop)), whole[1:3, start:stop])
