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


def test_a_matrix_is_the_whole_tensor_or_a_slice_of_it() -> None:
    values = np.arange(60.0).reshape(10, 6)
    whole = matrix(values)
    assert whole.shape == (10, 6)
    assert whole.is_whole
    assert_array_equal(whole.block((2, 5)), values[2:5])
    part = Matrix(in_memory(values), rows=(4, 8), columns=(1, 3))
    assert part.shape == (4, 2)
    assert not part.is_whole
    assert_array_equal(part.block((0, 4)), values[4:8, 1:3])
    assert_array_equal(part.block((1, 3), (1, 2)), values[5:7, 2:3])
    assert part.index(1, 1) == (5, 2)


def test_more_than_two_dimensions_need_leading_indices() -> None:
    values = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    part = Matrix(in_memory(values), leading=(1, 2))
    assert_array_equal(part.block((0, 4)), values[1, 2])
    assert part.index(3, 4) == (1, 2, 3, 4)
    assert not part.is_whole
    with pytest.raises(ValueError, match="does not select a matrix"):
        Matrix(in_memory(values), leading=(1,))


def test_vectors_and_scalars_are_columns_and_cells() -> None:
    vector = matrix(np.arange(7.0))
    assert vector.shape == (7, 1)
    assert vector.index(3, 0) == (3,)
    assert vector.is_whole
    scalar = matrix(np.float64(2.5))
    assert scalar.shape == (1, 1)
    assert scalar.index(0, 0) == ()
    assert scalar.block((0, 1)).tolist() == [[2.5]]


@pytest.mark.parametrize("shape", [(10, 6), (3, 50), (1, 1), (0, 5), (70, 1)])
def test_tiles_cover_everything_once(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TILE", 16)
    seen = np.zeros(shape, dtype=int)
    for rows, columns in matrix(np.zeros(shape)).tiles():
        part = seen[slice(*rows), slice(*columns)]
        assert 0 < part.size <= 16
        part += 1
    assert (seen == 1).all()


def test_values_in_memory_are_decoded_like_those_of_files() -> None:
    numbers = torch.randn(4, 3).bfloat16()
    bits = numbers.view(torch.int16).numpy()
    values = memory_values("w", (4, 3), "bfloat16", Origin("drawn"), bits, "BF16")
    assert_array_equal(values.block((1, 3), (0, 2)), numbers[1:3, :2].float().numpy())


def test_a_copy_is_given_and_not_the_model_itself() -> None:
    own = np.zeros((2, 2))
    in_memory(own).block((0, 2), (0, 2))[:] = 1
    assert not own.any()


def test_where_nothing_leads_to_a_matrix_there_is_none() -> None:
    nothing = Matrix(in_memory(np.zeros((0, 3, 4))), leading=(0,))
    assert nothing.shape == (0, 4)
    assert nothing.is_whole
    assert nothing.block((0, 0)).shape == (0, 4)
    assert list(nothing.tiles()) == []


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
    assert part.cell(2, 5) == part.position(2, 5) == (2, 5)


def test_a_single_row_is_a_column() -> None:
    part = TensorPart(Matrix(in_memory(VALUES), (0,), rows=(2, 3)), TOKENS, FEATURES)
    assert part.is_transposed
    assert read(part) == [[value] for value in VALUES[0, 2]]
    assert part.column_title(0) == "2 bank"
    assert (part.down, part.line_name(1)) == (FEATURES, "")
    assert part.cell(4, 0) == (0, 4)
    assert part.position(0, 4) == (4, 0)
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
        assert part.position(0, 4) == (4, 0)
    else:
        assert part.shape == (4, 18)
        assert read(part)[1][:6] == [6.0, 106.0, 206.0, 7.0, 107.0, 207.0]
        assert part.column_title(4) == "1 recomputed"
        assert part.cell(3, 17) == (3, 5)
        assert part.position(3, 5) == (3, 15)
    # A piece may begin and end in the midst of an element.
    height, width = part.shape
    whole = part.block((0, height), (0, width))
    for start in range(width):
        for stop in range(start + 1, width + 1):
            np.testing.assert_array_equal(part.block((1, 3), (start, stop)), whole[1:3, start:stop])
