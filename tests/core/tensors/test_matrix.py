"""Slices of tensors, as stored and as displayed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bertviewer.core.building.backend import torch
from bertviewer.core.tensors import matrix as module
from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from bertviewer.core.tensors.values import Origin, memory_values
from tests.core.tensors.made_up import in_memory, matrix


def test_a_slice_of_a_matrix() -> None:
    values = np.arange(60.0).reshape(10, 6)
    whole = matrix(values)
    assert (whole.shape, whole.is_whole) == ((10, 6), True)
    assert_array_equal(whole.block((2, 5)), values[2:5])
    part = Matrix(in_memory(values), rows=(4, 8), columns=(1, 3))
    assert (part.shape, part.is_whole) == ((4, 2), False)
    assert_array_equal(part.block((0, 4)), values[4:8, 1:3])
    assert_array_equal(part.block((1, 3), (1, 2)), values[5:7, 2:3])
    assert part.index(1, 1) == (5, 2)
    for rows in ((-1, 2), (3, 11), (5, 4)):
        with pytest.raises(ValueError, match="is not within 10"):
            Matrix(in_memory(values), rows=rows)


def test_leading_indices_select_a_matrix() -> None:
    values = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    part = Matrix(in_memory(values), leading=(1, 2))
    assert_array_equal(part.block((0, 4)), values[1, 2])
    assert part.index(3, 4) == (1, 2, 3, 4)
    assert not part.is_whole
    with pytest.raises(ValueError, match="does not select a matrix"):
        Matrix(in_memory(values), leading=(1,))
    empty = Matrix(in_memory(np.zeros((0, 3, 4))), leading=(0,))
    assert (empty.shape, empty.is_whole) == ((0, 4), True)
    assert empty.block((0, 0)).shape == (0, 4)
    assert list(empty.tiles()) == []


def test_a_vector_is_one_column_and_a_scalar_one_cell() -> None:
    vector, scalar = matrix(np.arange(7.0)), matrix(np.float64(2.5))
    assert (vector.shape, vector.index(3, 0), vector.is_whole) == ((7, 1), (3,), True)
    assert (scalar.shape, scalar.index(0, 0)) == ((1, 1), ())
    assert scalar.block((0, 1)).tolist() == [[2.5]]


@pytest.mark.parametrize("shape", [(10, 6), (3, 50), (1, 1), (0, 5), (70, 1)])
def test_tiles_cover_each_element_once(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TILE", 16)
    seen = np.zeros(shape, dtype=int)
    for rows, columns in matrix(np.zeros(shape)).tiles():
        part = seen[slice(*rows), slice(*columns)]
        assert 0 < part.size <= 16
        part += 1
    assert (seen == 1).all()


def test_values_in_memory_are_decoded_copies() -> None:
    numbers = torch.randn(4, 3).bfloat16()
    bits = numbers.view(torch.int16).numpy()
    values = memory_values("w", (4, 3), "bfloat16", Origin("drawn"), bits, "BF16")
    assert_array_equal(values.block((1, 3), (0, 2)), numbers[1:3, :2].float().numpy())
    own = np.zeros((2, 2))
    in_memory(own).block((0, 2), (0, 2))[:] = 1
    assert not own.any()


VALUES = np.arange(24.0).reshape(1, 4, 6)
TOKENS = Axis(TokenIndex(["[CLS]", "the", "bank", "[SEP]"]), "token", (0, 1, 2, 3))
FEATURES = Axis(kind="feature")


def displayed(part: TensorPart) -> list[list[float]]:
    height, width = part.shape
    found: list[list[float]] = part.block((0, height), (0, width)).tolist()
    return found


def test_rows_are_displayed_as_lines() -> None:
    part = TensorPart(Matrix(in_memory(VALUES), (0,)), TOKENS, FEATURES)
    assert displayed(part) == VALUES[0].tolist()
    assert (part.line_name(2), part.column_title(5)) == ("bank", "5")
    assert part.cell(2, 5) == part.position(2, 5) == (2, 5)


def test_a_single_row_is_displayed_as_a_column() -> None:
    part = TensorPart(Matrix(in_memory(VALUES), (0,), rows=(2, 3)), TOKENS, FEATURES)
    assert part.is_transposed
    assert displayed(part) == [[value] for value in VALUES[0, 2]]
    assert part.column_title(0) == "2 bank"
    assert (part.down, part.line_name(1)) == (FEATURES, "")
    assert part.cell(4, 0) == (0, 4)
    assert part.position(0, 4) == (4, 0)
    some = TensorPart(Matrix(in_memory(VALUES), (0,), rows=(2, 3), columns=(3, 6)))
    assert (some.first_line, displayed(some)) == (3, [[15.0], [16.0], [17.0]])


def test_columns_of_several_tensors_are_interleaved() -> None:
    tensors = {
        title: in_memory(VALUES + shift)
        for title, shift in (("given", 0.0), ("recomputed", 100.0), ("difference", 200.0))
    }
    for rows in (None, (2, 3)):
        matrices = {title: Matrix(values, (0,), rows) for title, values in tensors.items()}
        part = TensorPart(matrices["difference"], TOKENS, FEATURES, matrices)
        if rows is None:
            assert part.shape == (4, 18)
            assert displayed(part)[1][:6] == [6.0, 106.0, 206.0, 7.0, 107.0, 207.0]
            assert part.column_title(4) == "1 recomputed"
            assert part.cell(3, 17) == (3, 5)
            assert part.position(3, 5) == (3, 15)
        else:
            assert part.shape == (6, 3)
            assert displayed(part)[1] == [13.0, 113.0, 213.0]
            assert [part.column_title(n) for n in range(3)] == list(matrices)
            assert part.cell(4, 2) == (0, 4)
            assert part.position(0, 4) == (4, 0)
        # A block may begin and end within an element.
        height, width = part.shape
        whole = part.block((0, height), (0, width))
        for start in range(width):
            for stop in range(start + 1, width + 1):
                assert_array_equal(part.block((1, 3), (start, stop)), whole[1:3, start:stop])
