"""Sums of rows are those of a plain loop, compiled or not."""

import math
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from bertviewer.core.statistics import row_statistics
from bertviewer.core.statistics.row_statistics import is_compiled, measure_rows, sums_at

Rows = NDArray[np.float32]

needs_c = pytest.mark.skipif(not is_compiled(), reason="installed without a C compiler")


def sums_of(row: Rows) -> tuple[float, ...]:
    elements = [float(x) for x in row]
    finite = [x for x in elements if math.isfinite(x)]
    mean = math.fsum(finite) / len(finite) if finite else 0.0
    return (
        sum(map(math.isnan, elements)),
        sum(map(math.isinf, elements)),
        elements.count(0.0),
        math.fsum(finite),
        math.fsum((x - mean) ** 2 for x in finite),
        min(finite, default=math.inf),
        max(finite, default=-math.inf),
        math.sqrt(math.fsum(x * x for x in finite)),
    )


@settings(max_examples=100)
@given(
    arrays.arrays(
        np.float32,
        arrays.array_shapes(min_dims=1, max_dims=3, max_side=12),
        elements=st.floats(width=32) | st.sampled_from((0.0, -0.0, 1.0)),
        fill=st.floats(width=32),
    )
)
@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_c), False])
def test_any_rows(compiled: bool, values: Rows) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(row_statistics, "compiled", None)
        before = values.copy()
        statistics, rows = measure_rows(values)
    np.testing.assert_array_equal(values, before)
    wanted = np.array([sums_of(row) for row in values.reshape(-1, values.shape[-1])]).T
    # What has cancelled has no more digits than this.
    scale = 1e-12 * wanted[-1]
    exact = [0, 1, 2, 5, 6]
    np.testing.assert_array_equal(rows.sums[exact], wanted[exact])
    for field, most in ((3, scale), (4, scale * wanted[-1]), (7, scale)):
        assert (np.abs(rows.sums[field] - wanted[field]) <= most).all()
    together = rows.of(range(len(rows)))
    counts = ("count", "nan_count", "inf_count", "zero_count", "min", "max")
    assert [getattr(statistics, name) for name in counts] == [
        getattr(together, name) for name in counts
    ]
    norm = float(np.linalg.norm(wanted[-1]))
    assert abs(statistics.total - together.total) <= 1e-11 * norm
    assert abs(statistics.deviations - together.deviations) <= 1e-11 * norm**2


@pytest.mark.parametrize("offset", [1.0, 1e4, -1e7])
@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_c), False])
def test_what_is_nearly_equal_keeps_its_digits(
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


def test_equal_elements_do_not_deviate() -> None:
    values = np.full((3, 100), 0.1, np.float32)
    assert measure_rows(values)[0].std == pytest.approx(0.0, abs=1e-17)


def test_no_rows_and_no_columns() -> None:
    assert len(measure_rows(np.empty((0, 5), np.float32))[1]) == 0
    statistics, rows = measure_rows(np.empty((3, 0), np.float32))
    assert statistics.mean is rows.of((0, 1)).mean is None


@pytest.mark.parametrize("layout", ["turned", "every second", "backwards"])
def test_any_layout(layout: str) -> None:
    values = np.random.default_rng(0).normal(size=(6, 20)).astype(np.float32)
    view: NDArray[Any] = {
        "turned": values.T,
        "every second": values[:, ::2],
        "backwards": values[::-1],
    }[layout]
    _, rows = measure_rows(view)
    np.testing.assert_allclose(rows.norms, np.linalg.norm(view.astype(np.float64), axis=1))


@needs_c
@pytest.mark.parametrize(
    ("address", "rows", "width"), [(0, 1, 1), (8, -1, 1), (8, 1, 0), (8, 1, -1)]
)
def test_c_refuses_what_is_no_rows(address: int, rows: int, width: int) -> None:
    with pytest.raises(ValueError, match="no such rows"):
        sums_at(address, rows, width)


@needs_c
def test_c_refuses_other_arguments() -> None:
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
