"""Statistics of a tensor by plain loops over Python numbers, as a reference."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from torch import Tensor

# Tolerances relative to the root mean square: of sums of float32 that cancel, and of the
# standard deviation of equal elements, which is computed in float64.
OF_RMS, OF_RMS_IN_FLOAT64 = 1e-6, 1e-13
SMALLEST = 5e-324
"""The smallest subnormal number."""


def figures_of(tensor: Tensor) -> dict[str, Any]:
    """Compute in two passes, in units of the largest element, so that no square overflows."""
    values = [float(value) for value in tensor.flatten().tolist()]
    finite = [value for value in values if math.isfinite(value)]
    figures: dict[str, Any] = {
        "zero_fraction": sum(value == 0 for value in values) / len(values) if values else None,
        "nan_count": sum(math.isnan(value) for value in values),
        "inf_count": sum(math.isinf(value) for value in values),
    }
    if not finite:
        return figures | dict.fromkeys(("mean", "std", "min", "max", "rms"))
    exponent = math.frexp(max(map(abs, finite)))[1] - 1
    scaled = [math.ldexp(value, -exponent) for value in finite]
    mean = math.fsum(scaled) / len(finite)
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in scaled) / len(finite))
    return figures | {
        "mean": math.ldexp(mean, exponent),
        "std": math.ldexp(std, exponent),
        "min": sorted(finite)[0],
        "max": sorted(finite)[-1],
        "rms": math.ldexp(math.hypot(*scaled) / math.sqrt(len(finite)), exponent),
    }


def assert_figures(got: object, tensor: Tensor, label: str = "", extremes: float = 0.0) -> None:
    """Compare statistics, or a mapping of them, with the figures of a tensor.

    ``extremes`` is the relative tolerance of the minimum and the maximum.
    """
    wanted = figures_of(tensor)
    rel = {"min": extremes, "max": extremes, "std": 1e-5, "rms": 1e-5}
    for name, value in wanted.items():
        figure = got[name] if isinstance(got, Mapping) else getattr(got, name)
        if value is None:
            assert figure is None, (label, name)
            continue
        part = {"mean": OF_RMS, "std": OF_RMS_IN_FLOAT64}.get(name, 0.0)
        close = pytest.approx(
            value, rel=rel.get(name, 0.0), abs=part * (wanted["rms"] or 0.0) + SMALLEST
        )
        assert figure == close, (label, name)
