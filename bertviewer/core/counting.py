"""Count formulas that derive themselves: every tensor's shape and every module's count in letters.

No family is known here. The model is built again on the meta device with one number of its
configuration changed at a time; a dimension that moves with the number is written with its letter,
and modules that multiply with it are that many times one template. What comes out is then proven:
Python evaluates each formula for the real model, and for models freshly built at values that no
fit has seen. A formula that is wrong once is dropped, and the plain number stands in its place.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from bertviewer.core.dimensions import Blueprint, Build, Laboratory, Read, Values
from bertviewer.core.experiments import Observations, fresh_models, observe
from bertviewer.core.polynomials import Polynomial, fit
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.symbols import LABELS_KEY, Symbol, is_standard, symbols_of
from bertviewer.core.templates import Shape, count_modules, template_path

__all__ = ["Build", "Derivation", "derive"]

PROOFS = 3
"""A formula must hold for the real model and for so many fresh ones."""

Formulas = Mapping[str, tuple[str, ...]]
"""Expressions by the name of what they describe: a tensor's dimensions, or a module's one count."""

Facts = Mapping[str, tuple[int, ...]]
"""What formulas have to give in one model, by the same names."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """What was derived for one model.

    Attributes:
        symbols: the letters of the formulas, and the family's standard ones.
        shapes: each tensor's dimensions, as ``("V", "D")``, ``("3*D", "D")``, ``("L + 2", "D")``;
            plain numbers where there is no proof.
        counts: each module's number of elements, a tied tensor counted at its first name, as an
            expression that Python evaluates with the letters as integers (``**`` powers, ``//``
            exact division); the plain number where there is no proof.
    """

    symbols: tuple[Symbol, ...]
    shapes: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, str]


def derive(
    config: Mapping[str, Any],
    build: Build,
    progress: Progress = no_progress,
    *,
    read: Read = Blueprint.of,
    inputs: tuple[Symbol, ...] = (),
) -> Derivation:
    """Derive and prove the symbolic shapes and counts of a model.

    Args:
        config: the configuration as a plain dict.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises comes through.
        read: gives the shapes and sizes to explain; those of the tensors if nothing else is said.
        inputs: letters without a configuration key that ``read`` minds, as the number of tokens.

    Returns:
        A formula for everything that has one; plain numbers for the rest.

    Raises:
        Exception: whatever ``build`` raises for ``config`` itself.
    """
    symbols = (*inputs, *symbols_of(config))
    # The real model, the start, about two changes for each number, and the proofs.
    lab = Laboratory(config, symbols, build, read, progress, 2 + 2 * len(symbols) + PROOFS)
    real = lab.real()
    observed = observe(lab, real)
    repeats = _fit_repeats(observed)
    lengths = {path: observed.base.lengths[path] for path in repeats}
    shapes = _fit_shapes(observed)
    shape_texts: Formulas = {name: tuple(map(str, shape)) for name, shape in shapes.items()}
    counts = count_modules(observed.base, shapes, repeats)
    count_texts: Formulas = {path: (str(count),) for path, count in counts.items()}
    fresh = fresh_models(lab, observed, PROOFS)
    if len(fresh) < PROOFS:
        shape_texts, count_texts = {}, {}
    for model, values in fresh:
        shape_texts = _undisputed(shape_texts, model.shapes, lengths, values)
        count_texts = _undisputed(count_texts, _count_facts(model), lengths, values)
    values = {symbol.letter: symbol.value for symbol in symbols}
    proven_shapes = _proven(shape_texts, real.shapes, lengths, values)
    proven_counts = _proven(count_texts, _count_facts(real), lengths, values)
    return Derivation(
        _shown(symbols, [*proven_shapes.values(), *proven_counts.values()]),
        proven_shapes,
        {path: formula for path, (formula,) in proven_counts.items()},
    )


def evaluate(formula: str, values: Values) -> int:
    """Return what Python makes of a formula with the letters at these values."""
    # Formulas are made of our own operators and of letters that are checked identifiers.
    return int(eval(_compiled(formula), {"__builtins__": {}}, dict(values)))


@lru_cache(maxsize=4096)
def _compiled(formula: str) -> CodeType:
    return compile(formula, "<formula>", "eval")


def _fit_repeats(observed: Observations) -> dict[str, Polynomial]:
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


def _fit_shapes(observed: Observations) -> dict[str, Shape]:
    """Find the shapes whose every dimension follows from the letters."""
    shapes = {}
    for name, shape in observed.base.shapes.items():
        dimensions = [_fit_dimension(observed, name, axis) for axis in range(len(shape))]
        known = tuple(dimension for dimension in dimensions if dimension is not None)
        if len(known) == len(shape):
            shapes[name] = known
    return shapes


def _fit_dimension(observed: Observations, name: str, axis: int) -> Polynomial | None:
    size = observed.base.shapes[name][axis]
    seen = {
        letter: tuple((value, model.shapes[name][axis]) for value, model in points)
        for letter, points in observed.seen.items()
    }
    return fit(size, observed.values, seen)


def _count_facts(model: Blueprint) -> dict[str, tuple[int, ...]]:
    return {path: (size,) for path, size in model.sizes.items()}


def _undisputed(
    formulas: Formulas, facts: Facts, lengths: Mapping[str, int], values: Values
) -> dict[str, tuple[str, ...]]:
    """Return the formulas that no fact of a fresh model contradicts."""
    wrong = {
        template
        for name, fact in facts.items()
        if not _holds(formulas.get(template := template_path(name, lengths)), fact, values)
    }
    return {name: formula for name, formula in formulas.items() if name not in wrong}


def _proven(
    formulas: Formulas, facts: Facts, lengths: Mapping[str, int], values: Values
) -> dict[str, tuple[str, ...]]:
    """Return a formula for each fact of the real model, or the plain numbers where it fails."""
    proven = {}
    for name, fact in facts.items():
        formula = formulas.get(template_path(name, lengths))
        plain = tuple(map(str, fact))
        proven[name] = formula if formula and _holds(formula, fact, values) else plain
    return proven


def _holds(formula: tuple[str, ...] | None, fact: tuple[int, ...], values: Values) -> bool:
    return formula is not None and tuple(evaluate(part, values) for part in formula) == fact


def _shown(symbols: Iterable[Symbol], formulas: Iterable[tuple[str, ...]]) -> tuple[Symbol, ...]:
    """Return the symbols in formulas and the standard ones, the labels only where they count.

    The number of heads changes no count, and belongs to the picture all the same.
    """
    texts = {text for formula in formulas for text in formula}
    used = {letter for text in texts for letter in re.findall(r"[^\W\d]\w*", text)}
    return tuple(
        symbol
        for symbol in symbols
        if symbol.letter in used or (is_standard(symbol) and symbol.key != LABELS_KEY)
    )
