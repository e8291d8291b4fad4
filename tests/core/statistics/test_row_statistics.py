"""Sums of rows, by the C module and by NumPy, are those of a plain loop."""

import shutil
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bertviewer.core.statistics import row_statistics
from bertviewer.core.statistics.row_statistics import is_compiled, measure_rows, sums_at

Rows = NDArray[np.float32]

needs_c = pytest.mark.skipif(not is_compiled(), reason="installed without a C compiler")


@pytest.mark.parametrize("offset", [1.0, 1e4, -1e7])
@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_c), False])
def test_nearly_equal_elements_keep_their_digits(
    compiled: bool, offset: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(row_statistics, "compiled", None)
    drawn = np.random.default_rng(0).normal(0.0, abs(offset) * 1e-6, (5, 777))
    values = (offset + drawn).astype(np.float32)
    statistics, rows = measure_rows(values)
    exact = values.astype(np.float64)
    assert statistics.std == pytest.approx(float(exact.std()), rel=1e-9)
    assert rows.of((2,)).std == pytest.approx(float(exact[2].std()), rel=1e-9)


def test_equal_elements_and_none() -> None:
    values = np.full((3, 100), 0.1, np.float32)
    assert measure_rows(values)[0].std == pytest.approx(0.0, abs=1e-17)
    assert len(measure_rows(np.empty((0, 5), np.float32))[1]) == 0
    statistics, rows = measure_rows(np.empty((3, 0), np.float32))
    assert statistics.mean is rows.of((0, 1)).mean is None


def test_any_layout() -> None:
    values = np.random.default_rng(0).normal(size=(6, 20)).astype(np.float32)
    for view in (values.T, values[:, ::2], values[::-1]):
        _, rows = measure_rows(view)
        np.testing.assert_allclose(rows.norms, np.linalg.norm(view.astype(np.float64), axis=1))


@needs_c
def test_c_refuses_impossible_arguments() -> None:
    for address, rows, width in ((0, 1, 1), (8, -1, 1), (8, 1, 0), (8, 1, -1)):
        with pytest.raises(ValueError, match="no such rows"):
            sums_at(address, rows, width)
    with pytest.raises(TypeError):
        sums_at("8", 1, 1)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        sums_at(8, 2**80, 1)


@pytest.mark.skipif(
    shutil.which("cc") is None or not Path(sysconfig.get_path("include"), "Python.h").exists(),
    reason="there is no C compiler, or no Python.h for it",
)
def test_where_there_is_a_compiler_the_module_was_compiled() -> None:
    assert is_compiled()
