"""Count formulas that derive themselves: every tensor's shape and every module's count in letters.

No family is known here. The model is built again on the meta device with one number of its
configuration changed at a time; a dimension that moves with the number is written with its letter,
and modules that multiply with it are that many times one template. What comes out is then proven:
each formula is evaluated for the real model, and for models freshly built at values that no fit
has seen. A formula that is wrong once is dropped, and the plain number stands in its place.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

from bertviewer.core.counting.counts import Count
from bertviewer.core.counting.dimensions import Blueprint, Build, Laboratory, owners
from bertviewer.core.counting.experiments import observe
from bertviewer.core.counting.fitting import fit, moving_letters
from bertviewer.core.counting.fresh_models import Fresh, Wishes, fresh_models, partly_fresh_models
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.polynomials import Polynomial
from bertviewer.core.counting.proving import (
    PROOFS,
    TENSOR,
    Facts,
    Formulas,
    Trial,
    Verdict,
    holds,
    judge,
    undisputed,
)
from bertviewer.core.counting.templates import (
    Shape,
    count_modules,
    like_path,
    resemblance,
    template_path,
)
from bertviewer.core.evaluation import letters_of
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.symbols import LABELS_KEY, Symbol, is_standard, symbols_of

__all__ = [
    "PROOFS",
    "Build",
    "Derivation",
    "Facts",
    "Formulas",
    "derive",
    "fit_repeats",
    "fit_shapes",
    "holds",
    "undisputed",
]


@dataclass(frozen=True, slots=True)
class Derivation:
    """What was derived for one model.

    Attributes:
        symbols: the letters of the formulas, and the family's standard ones.
        shapes: each tensor's dimensions, as ``("V", "D")``, ``("3*D", "D")``, ``("L + 2", "D")``;
            plain numbers where there is no proof.
        counts: each module's number of elements, a tied tensor counted at its first name, as an
            expression of ``evaluation`` with the letters as integers; the plain number where there
            is no proof.
        unproven: the modules whose count is a plain number for want of a proof, and why.
    """

    symbols: tuple[Symbol, ...]
    shapes: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, str]
    unproven: Mapping[str, str]


def derive(config: Mapping[str, Any], build: Build, progress: Progress = no_progress) -> Derivation:
    """Derive and prove the symbolic shapes and counts of a model.

    Args:
        config: the configuration as a plain dict.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises comes through.

    Returns:
        A formula for everything that has one; plain numbers for the rest.

    Raises:
        Exception: whatever ``build`` raises for ``config`` itself.
    """
    symbols = symbols_of(config)
    # The real model, the start, about two changes for each number, and the proofs.
    lab = Laboratory(config, symbols, build, Blueprint.of, progress, 2 + 2 * len(symbols) + PROOFS)
    real = lab.real()
    observed = observe(lab, real, every_kind=True)
    found = _with_letters_for_layers(lab, observed, real)
    if found.reasons and real.lengths:
        found = _joined(found, _with_plain_layers(lab, observed, real))
    known = {n: found.proven.get(n, tuple(map(str, fact))) for n, fact in _facts(real).items()}
    symbols = tuple(replace(s, variable=observed.variable_of(s.letter)) for s in symbols)
    return Derivation(
        _shown(symbols, known.values()),
        {name: known[TENSOR + name] for name in real.shapes},
        {path: known[path][0] for path in real.sizes},
        {path: found.reasons[path] for path in real.sizes if path in found.reasons},
    )


def _with_letters_for_layers(lab: Laboratory, observed: Observations, real: Blueprint) -> Verdict:
    """Explain blocks as a letter times their template."""
    repeats = fit_repeats(observed)
    lengths = {path: observed.base.lengths[path] for path in repeats}
    shapes = fit_shapes(observed)
    counts = count_modules(observed.base, shapes, repeats)
    return _proven(lab, observed, real, (shapes, counts), lambda name: template_path(name, lengths))


def _with_plain_layers(lab: Laboratory, observed: Observations, real: Blueprint) -> Verdict:
    """Explain blocks of several kinds, in plain numbers of each: the depth stays as it is."""
    values = {symbol.letter: symbol.value for symbol in lab.symbols}
    observed = replace(observed.without_counting(), values=values)
    likeness = resemblance(real, observed.base) or {}
    shapes = fit_shapes(observed)
    counts = count_modules(observed.base, shapes, {}, likeness)
    return _proven(
        lab, observed, real, (shapes, counts), lambda name: like_path(name, likeness), exactly=True
    )


def _proven(
    lab: Laboratory,
    observed: Observations,
    real: Blueprint,
    fitted: tuple[Mapping[str, Shape], Mapping[str, Count]],
    template: Callable[[str], str],
    *,
    exactly: bool = False,
) -> Verdict:
    """Judge formulas, and name them as the real model does.

    Args:
        lab: builds the fresh models.
        observed: what the formulas were fitted to.
        real: the model to explain.
        fitted: shapes and counts by the names of the model with few layers.
        template: gives such a name for the name in any other model.
        exactly: whether fresh models must have the real model's tensors, other sizes apart.
    """
    shapes, counts = fitted
    formulas = {
        **{TENSOR + name: tuple(map(str, shape)) for name, shape in shapes.items()},
        **{path: (str(count),) for path, count in counts.items()},
    }
    wishes = _wishes(shapes.values(), frozenset(real.shapes) if exactly else None)
    fresh = fresh_models(lab, observed, PROOFS, wishes)
    trials = [_trial(observed, one, template) for one in fresh]
    verdict = judge(formulas, trials)
    if verdict.is_open():
        for one in partly_fresh_models(lab, observed, wishes):
            trials.append(_trial(observed, one, template))
            verdict = judge(formulas, trials)
            if not verdict.is_open():
                break
    reasons = {**_unfitted(observed, shapes), **verdict.reasons}
    values = {symbol.letter: symbol.value for symbol in lab.symbols}
    proven: dict[str, tuple[str, ...]] = {}
    missing: dict[str, str] = {}
    for name, fact in _facts(real).items():
        like = _template_of(name, template)
        if like not in verdict.proven:
            missing[name] = reasons.get(like, "a part of it has no formula")
        elif not holds(verdict.proven[like], fact, values):
            missing[name] = "its formula is wrong for the real model"
        else:
            proven[name] = verdict.proven[like]
    return Verdict(proven, missing)


def _wishes(shapes: Iterable[Shape], names: frozenset[str] | None) -> Wishes:
    """Return what fresh models must be like for divisions in the shapes to come out even."""
    steps: dict[str, int] = {}
    powers: dict[str, int] = {}
    for shape in shapes:
        for dimension in shape:
            for letters, coefficient in dimension.terms.items():
                for letter, power in letters:
                    steps[letter] = lcm(steps.get(letter, 1), coefficient.denominator)
                    powers[letter] = max(powers.get(letter, 1), -power)
    return Wishes(steps, powers, names)


def _template_of(name: str, template: Callable[[str], str]) -> str:
    if name.startswith(TENSOR):
        return TENSOR + template(name.removeprefix(TENSOR))
    return template(name)


def _trial(observed: Observations, fresh: Fresh, template: Callable[[str], str]) -> Trial:
    model, values = fresh
    facts: dict[str, set[tuple[int, ...]]] = {}
    for name, fact in _facts(model).items():
        facts.setdefault(_template_of(name, template), set()).add(fact)
    moved = {letter for letter, value in values.items() if value != observed.values[letter]}
    return Trial({k: frozenset(v) for k, v in facts.items()}, values, frozenset(moved))


def _facts(model: Blueprint) -> dict[str, tuple[int, ...]]:
    return {
        **{TENSOR + name: shape for name, shape in model.shapes.items()},
        **{path: (size,) for path, size in model.sizes.items()},
    }


def _unfitted(observed: Observations, shapes: Mapping[str, Shape]) -> dict[str, str]:
    """Say why what has no formula has none: the first tensor below that could not be fitted."""
    reasons: dict[str, str] = {}
    for name, shape in observed.base.shapes.items():
        if name in shapes:
            continue
        axes = range(len(shape))
        axis = next(axis for axis in axes if _fit_dimension(observed, name, axis, {}) is None)
        moving = ", ".join(moving_letters(shape[axis], observed.sizes(name, axis)))
        reason = f"no formula goes through dimension {axis} of {name}, which moves with {moving}"
        for key in (TENSOR + name, *owners(name)):
            reasons.setdefault(key, reason)
    return reasons


def _joined(first: Verdict, second: Verdict) -> Verdict:
    """Return what either has proven, the first one's formula where both have one."""
    proven = {**second.proven, **first.proven}
    reasons = {**first.reasons, **second.reasons}
    return Verdict(proven, {name: why for name, why in reasons.items() if name not in proven})


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


def _shown(symbols: Iterable[Symbol], formulas: Iterable[tuple[str, ...]]) -> tuple[Symbol, ...]:
    """Return the symbols in formulas and the standard ones, the labels only where they count.

    The number of heads changes no count, and belongs to the picture all the same.
    """
    used = {letter for formula in formulas for text in formula for letter in letters_of(text)}
    return tuple(
        symbol
        for symbol in symbols
        if symbol.letter in used or (is_standard(symbol) and symbol.key != LABELS_KEY)
    )
