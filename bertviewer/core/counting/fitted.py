"""Fits of a whole model: its tensors' shapes, and its repeated blocks, in letters."""

from collections.abc import Mapping

from bertviewer.core.counting.fitting import fit, moving_letters
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import TENSOR
from bertviewer.core.counting.templates import Shape
from bertviewer.core.counting.variants import owners
from bertviewer.core.expressions.polynomials import Polynomial


def fit_repeats(observed: Observations) -> dict[str, Polynomial]:
    """Find the lists of blocks whose length moves with a letter, and how."""
    repeats = {}
    for path, length in observed.base.lengths.items():
        seen = {
            letter: tuple((value, model.lengths.get(path, 0)) for value, model in points)
            for letter, points in observed.seen.items()
        }
        times = fit(length, observed.values, seen)
        if times is not None and times.letters:
            repeats[path] = times
    return repeats


def fit_shapes(observed: Observations) -> dict[str, Shape]:
    """Find the shapes whose every dimension follows from the letters."""
    shapes = {}
    fitted: dict[object, Polynomial | None] = {}
    for name, shape in observed.base.shapes.items():
        dimensions = [_fit_dimension(observed, name, axis, fitted) for axis in range(len(shape))]
        known = tuple(dimension for dimension in dimensions if dimension is not None)
        if len(known) == len(shape):
            shapes[name] = known
    return shapes


def _fit_dimension(
    observed: Observations, name: str, axis: int, fitted: dict[object, Polynomial | None]
) -> Polynomial | None:
    """Fit one dimension, or look it up: layer after layer moves in the same way."""
    size = observed.base.shapes[name][axis]
    sizes = observed.sizes(name, axis)
    pairs = {
        two: (one, other, model.shapes[name][axis])
        for two, (one, other, model) in observed.pairs.items()
    }
    key = size, tuple(sizes.items()), tuple(pairs.items())
    if key not in fitted:
        fitted[key] = fit(size, observed.values, sizes, pairs)
    return fitted[key]


def unfitted(observed: Observations, shapes: Mapping[str, Shape]) -> dict[str, tuple[str, ...]]:
    """Return the letters that move what could not be fitted, by the names of tensors."""
    moving = {}
    for name, shape in observed.base.shapes.items():
        if name not in shapes:
            axis = _unfitted_axis(observed, name)
            moving[name] = moving_letters(shape[axis], observed.sizes(name, axis))
    return moving


def unfitted_reasons(observed: Observations, shapes: Mapping[str, Shape]) -> dict[str, str]:
    """Say why what has no formula has none: the first tensor below that could not be fitted."""
    reasons: dict[str, str] = {}
    for name, letters in unfitted(observed, shapes).items():
        axis, moving = _unfitted_axis(observed, name), ", ".join(letters)
        reason = f"no formula fits dimension {axis} of {name}, which varies with {moving}"
        for key in (TENSOR + name, *owners(name)):
            reasons.setdefault(key, reason)
    return reasons


def _unfitted_axis(observed: Observations, name: str) -> int:
    axes = range(len(observed.base.shapes[name]))
    return next(axis for axis in axes if _fit_dimension(observed, name, axis, {}) is None)
